// SPDX-License-Identifier: GPL-2.0-only
#include "service/web_config.h"

#include <crypt.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/array.h"
#include "util/cleanup.h"

#define FILE_MAX (1 << 20)
#define USERS_MAX 256
#define COST_MAX 14		/* each step doubles the time of a check; with 14 it takes a second */

struct reader {
	struct web_config *c;
	const char *file;
	yaml_document_t doc;
	struct problem *p;
};

__attribute__((format(printf, 3, 4)))
static int bad(struct reader *r, const yaml_node_t *at, const char *format, ...)
{
	char text[320];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return problem_set(r->p, -EINVAL, "%s:%zu: %s", r->file, at ? at->start_mark.line + 1 : 1, text);
}

static const char *scalar(const yaml_node_t *n)
{
	return n && n->type == YAML_SCALAR_NODE && strlen((char *)n->data.scalar.value) == n->data.scalar.length ?
	       (const char *)n->data.scalar.value : NULL;
}

static int take_text(struct reader *r, const yaml_node_t *key, const yaml_node_t *value, char **to)
{
	if (!scalar(value) || !*scalar(value))
		return bad(r, value, "%s must be a string", scalar(key));
	if (*to)
		return bad(r, key, "%s is given twice", scalar(key));
	*to = strdup(scalar(value));
	return *to ? 0 : -ENOMEM;
}

typedef int (*take_t)(struct reader *r, const yaml_node_t *key, const yaml_node_t *value);

/* Calls @take for each pair of a mapping. */
static int each(struct reader *r, const yaml_node_t *map, const char *what, take_t take)
{
	int err = 0;

	/* "key:" without a value is an empty mapping, too. */
	if (scalar(map) && !*scalar(map))
		return 0;
	if (map->type != YAML_MAPPING_NODE)
		return bad(r, map, "%s must consist of 'key: value'", what);
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; !err && pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&r->doc, pair->key);
		yaml_node_t *value = yaml_document_get_node(&r->doc, pair->value);

		if (!scalar(key))
			return bad(r, key, "a key must be a string");
		err = take(r, key, value);
	}
	return err;
}

static int take_min_version(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *version = scalar(value);

	if (!version || (strcmp(version, "TLS12") && strcmp(version, "TLS13")))
		return bad(r, value, "%s must be TLS12 or TLS13", scalar(key));
	r->c->only_tls13 = !strcmp(version, "TLS13");
	return 0;
}

static int take_tls(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	if (!strcmp(scalar(key), "cert_file"))
		return take_text(r, key, value, &r->c->cert);
	if (!strcmp(scalar(key), "key_file"))
		return take_text(r, key, value, &r->c->key);
	if (!strcmp(scalar(key), "min_version"))
		return take_min_version(r, key, value);
	return bad(r, key, "unknown key '%.60s' in tls_server_config; it may have cert_file, key_file and min_version",
		   scalar(key));
}

/* "$2y$10$" and 53 characters; a, b and y are the same except for bugs of old programs. */
static bool is_bcrypt(const char *hash, u32 *ret_cost)
{
	if (strlen(hash) != 60 || strncmp(hash, "$2", 2) || !strchr("aby", hash[2]) || hash[3] != '$' || hash[6] != '$' ||
	    hash[4] < '0' || hash[4] > '3' || hash[5] < '0' || hash[5] > '9')
		return false;
	*ret_cost = (hash[4] - '0') * 10 + hash[5] - '0';
	return crypt_checksalt(hash) == CRYPT_SALT_OK;
}

static int take_user(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	struct web_config *c = r->c;
	const char *hash = scalar(value);
	struct web_user *user;
	u32 cost;

	if (!*scalar(key) || strchr(scalar(key), ':'))
		return bad(r, key, "a user name must not be empty or contain a colon");
	if (!hash || !is_bcrypt(hash, &cost))
		return bad(r, value, "the password of '%.60s' must be a bcrypt hash; 'htpasswd -nBC 10 \"\"' makes one",
			   scalar(key));
	if (cost > COST_MAX)
		return bad(r, value, "the hash of '%.60s' has a cost of %u, and a check would take seconds: use up to %d",
			   scalar(key), cost, COST_MAX);
	for (u32 i = 0; i < c->n_users; i++)
		if (!strcmp(c->users[i].name, scalar(key)))
			return bad(r, key, "user '%.60s' is given twice", scalar(key));
	if (c->n_users == USERS_MAX)
		return bad(r, key, "there are more than %d users", USERS_MAX);
	if (array_grow(&c->users, sizeof(*user), c->n_users + 1))
		return -ENOMEM;
	user = &c->users[c->n_users++];
	*user = (struct web_user){ .name = strdup(scalar(key)), .hash = strdup(hash) };
	return user->name && user->hash ? 0 : -ENOMEM;
}

static int take_part(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	if (!strcmp(scalar(key), "tls_server_config"))
		return each(r, value, "tls_server_config", take_tls);
	if (!strcmp(scalar(key), "basic_auth_users"))
		return each(r, value, "basic_auth_users", take_user);
	return bad(r, key, "unknown key '%.60s'; there may be tls_server_config and basic_auth_users", scalar(key));
}

static int take_document(struct reader *r)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	int err = root ? each(r, root, "the file", take_part) : 0;

	if (!err && !r->c->cert != !r->c->key)
		return bad(r, root, "tls_server_config needs both cert_file and key_file");
	if (!err && !r->c->cert && r->c->only_tls13)
		return bad(r, root, "tls_server_config needs cert_file and key_file");
	return err;
}

int web_config_parse(struct web_config *c, const char *file, const char *text, size_t len, struct problem *p)
{
	struct reader r = { .c = c, .file = file, .p = p };
	yaml_parser_t parser;
	int err;

	*c = (struct web_config){ 0 };
	if (!yaml_parser_initialize(&parser))
		return problem_set(p, -ENOMEM, "%s: out of memory", file);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &r.doc)) {
		err = problem_set(p, -EINVAL, "%s:%zu: this is not valid YAML: %s", file, parser.problem_mark.line + 1,
				  parser.problem ?: "unreadable");
	} else {
		err = take_document(&r);
		yaml_document_delete(&r.doc);
	}
	yaml_parser_delete(&parser);
	if (err)
		web_config_free(c);
	return err == -ENOMEM ? problem_set(p, err, "%s: out of memory", file) : err;
}

/* A file as a text. Returns 0, or a negative errno and a sentence. */
static int read_file(const char *file, char **ret, struct problem *p)
{
	FILE *f CLEANUP(cleanup_fclose) = fopen(file, "re");
	char *text CLEANUP(cleanup_free) = f ? malloc(FILE_MAX + 1) : NULL;
	size_t len;

	if (!f || !text)
		return problem_set(p, -errno, "could not read %s: %s", file, strerror(errno));
	len = fread(text, 1, FILE_MAX + 1, f);
	if (ferror(f))
		return problem_set(p, -EIO, "could not read %s: %s", file, strerror(errno));
	if (len > FILE_MAX || memchr(text, '\0', len))
		return problem_set(p, -EINVAL, "%s must be a text file of less than 1 MiB", file);
	text[len] = '\0';
	*ret = TAKE(text);
	return 0;
}

/* Replaces a file's name, relative to @beside, by its contents. */
static int load(char **name, const char *beside, struct problem *p)
{
	const char *slash = strrchr(beside, '/');
	char *path CLEANUP(cleanup_free) = NULL, *text;
	int err;

	if (!*name)
		return 0;
	if (asprintf(&path, "%.*s%s", **name == '/' || !slash ? 0 : (int)(slash + 1 - beside), beside, *name) < 0)
		return -ENOMEM;
	err = read_file(path, &text, p);
	if (err)
		return err;
	free(*name);
	*name = text;
	return 0;
}

int web_config_read(struct web_config *c, const char *file, struct problem *p)
{
	char *text CLEANUP(cleanup_free) = NULL;
	int err = read_file(file, &text, p);

	if (err)
		return err;
	err = web_config_parse(c, file, text, strlen(text), p);
	if (err)
		return err;
	err = load(&c->cert, file, p) ?: load(&c->key, file, p);
	if (err)
		web_config_free(c);
	return err;
}

void web_config_free(struct web_config *c)
{
	for (u32 i = 0; i < c->n_users; i++) {
		free(c->users[i].name);
		free(c->users[i].hash);
	}
	free(c->users);
	free(c->cert);
	free(c->key);
	*c = (struct web_config){ 0 };
}
