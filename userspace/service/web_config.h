/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS and passwords, as the web.yml of Prometheus' exporters says it (exporter-toolkit,
 * docs/web-configuration.md): tls_server_config with cert_file, key_file (paths relative to web.yml) and
 * min_version (TLS12, TLS13); basic_auth_users, names with bcrypt hashes. What else it may hold elsewhere is
 * refused by name: a setting that is not followed must not seem to be.
 */
#ifndef SERVICE_WEB_CONFIG_H
#define SERVICE_WEB_CONFIG_H

#include "util/problem.h"
#include "util/types.h"

struct web_user {
	char *name;
	char *hash;
};

/* Texts are NULL when not given. */
struct web_config {
	char *cert;		/* PEM, the files' contents */
	char *key;
	bool only_tls13;
	u32 n_users;
	struct web_user *users;
};

/* Reads @file and those that it names. Returns 0, or a negative errno and a sentence with file and line. */
int web_config_read(struct web_config *c, const char *file, struct problem *p);
void web_config_free(struct web_config *c);

/* The same of a text of @len bytes; the files it names stay unread, *cert and *key are their names. */
int web_config_parse(struct web_config *c, const char *file, const char *text, size_t len, struct problem *p);

#endif
