// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the static program has instead of what loads code while it runs: that would be another system's code, built for
 * another libc.
 *
 * - Users come from /etc/passwd alone, hosts from /etc/hosts and DNS. The host's nsswitch.conf may name modules, which glibc would
 *   load.
 * - There are no PKCS #11 tokens. GnuTLS asks p11-kit for them, which is there to load their modules, and which Debian has
 *   no static library of. GnuTLS takes NULL from it for "no memory" or "no modules". Keys and certificates in files,
 *   all that a web.yml can name, do not take it.
 * - The libraries that other builds load (lazy.h) are linked.
 */
#include <nss.h>

#include "util/lazy.h"

__attribute__((constructor)) static void names_from_files(void)
{
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("hosts", "files dns");
}

int lazy_load(const char *prefix, struct problem *p)
{
	(void)prefix;
	(void)p;
	return 0;
}

#define NONE(function) void *p11_kit_##function(void); void *p11_kit_##function(void) { return 0; }

NONE(config_option) NONE(message) NONE(strerror) NONE(space_strdup) NONE(space_strlen)
NONE(module_finalize) NONE(module_get_flags) NONE(module_get_name) NONE(module_load)
NONE(module_release) NONE(modules_load)
NONE(pin_file_callback) NONE(pin_get_length) NONE(pin_get_value) NONE(pin_new_for_string) NONE(pin_register_callback)
NONE(pin_request) NONE(pin_unref) NONE(pin_unregister_callback)
NONE(uri_format) NONE(uri_free) NONE(uri_get_attribute) NONE(uri_get_attributes) NONE(uri_get_module_info)
NONE(uri_get_pin_source) NONE(uri_get_pin_value) NONE(uri_get_token_info) NONE(uri_match_module_info)
NONE(uri_match_token_info) NONE(uri_new) NONE(uri_parse) NONE(uri_set_attribute)
