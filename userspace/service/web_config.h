/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS and passwords, read from a file like the web.yml of Prometheus' exporters (exporter-toolkit,
 * docs/web-configuration.md): tls_server_config with cert_file, key_file (paths relative to web.yml)
 * and min_version (TLS12, TLS13); and basic_auth_users, names with bcrypt hashes. Any other setting is
 * refused by name, since an ignored setting must not seem to be in effect.
 */
#ifndef SERVICE_WEB_CONFIG_H
#define SERVICE_WEB_CONFIG_H

#include "util/problem.h"
#include "util/types.h"

#define WEB_DIGEST_BYTES 32	/* SHA-256 */

struct web_user {
	char *name;
	char *hash;
	bool known;		/* somebody has been let in, with a password of this digest (access.c) */
	unsigned char digest[WEB_DIGEST_BYTES];
};

/* Texts that are not given are NULL. */
struct web_config {
	char *cert;		/* PEM, the files' contents */
	char *key;
	bool only_tls13;
	u32 n_users;
	struct web_user *users;
};

/* Reads @file and the files that it names. Returns 0, or a negative errno and a sentence with file and line. */
int web_config_read(struct web_config *c, const char *file, struct problem *p);
void web_config_free(struct web_config *c);

/* The same for a text of @len bytes. The files that it names are not read; *cert and *key are their names. */
int web_config_parse(struct web_config *c, const char *file, const char *text, size_t len, struct problem *p);

#endif
