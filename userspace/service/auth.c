// SPDX-License-Identifier: GPL-2.0-only
#include "service/auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#define PASSWORD_MAX 1024

/* The last correct password of each user. */
struct remembered {
	bool set;
	unsigned char digest[AUTH_DIGEST_BYTES];
	char *hash;			/* a copy, which outlives the configuration */
};

struct auth {
	const struct web_config *c;
	unsigned char key[AUTH_DIGEST_BYTES];
	u32 n;
	struct remembered *remembered;
};

int auth_new(struct auth **ret)
{
	struct auth *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	if (gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key))) {
		auth_free(a);
		return -EIO;
	}
	*ret = a;
	return 0;
}

static void forget(struct remembered *list, u32 n)
{
	for (u32 i = 0; i < n; i++)
		free(list[i].hash);
	free(list);
}

int auth_use(struct auth *a, const struct web_config *c)
{
	struct remembered *list = calloc(c->n_users + 1, sizeof(*list));

	for (u32 i = 0; list && i < c->n_users; i++) {
		for (u32 old = 0; old < a->n; old++)
			if (!strcmp(a->remembered[old].hash, c->users[i].hash))
				list[i] = a->remembered[old];
		list[i].hash = strdup(c->users[i].hash);
		if (!list[i].hash) {
			forget(list, i);
			list = NULL;
		}
	}
	if (!list)
		return -ENOMEM;
	forget(a->remembered, a->n);
	a->remembered = list;
	a->n = c->n_users;
	a->c = c;
	return 0;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	forget(a->remembered, a->n);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

/* Compares in constant time. */
static bool same(const void *va, const void *vb, size_t len)
{
	const unsigned char *a = va, *b = vb;
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

static bool digest(const struct auth *a, const char *password, unsigned char ret[AUTH_DIGEST_BYTES])
{
	return !gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), password, strlen(password), ret);
}

/* The user whose hash is checked for an unknown name; always the same one for the same name. */
static u32 substitute(const struct auth *a, const char *name)
{
	unsigned char key[AUTH_DIGEST_BYTES];

	return digest(a, name, key) ? key[0] % a->c->n_users : 0;
}

enum auth_answer auth_look(const struct auth *a, const char *name, const char *password, struct auth_claim *ret)
{
	const struct remembered *r;

	if (!a->c->n_users)
		return AUTH_YES;
	if (!name || !password || strlen(password) > PASSWORD_MAX || !digest(a, password, ret->digest))
		return AUTH_NO;
	ret->nobody = true;
	ret->user = substitute(a, name);
	for (u32 i = 0; i < a->c->n_users; i++) {
		if (strcmp(a->c->users[i].name, name))
			continue;
		ret->nobody = false;
		ret->user = i;
	}
	r = &a->remembered[ret->user];
	return !ret->nobody && r->set && same(r->digest, ret->digest, sizeof(r->digest)) ? AUTH_YES : AUTH_CHECK;
}

const char *auth_hash(const struct auth *a, const struct auth_claim *claim)
{
	return a->c->users[claim->user].hash;
}

bool auth_matches(const char *password, const char *hash, struct crypt_data *work)
{
	const char *made = crypt_r(password, hash, work);
	bool right = made && strlen(made) == strlen(hash) && same(made, hash, strlen(hash));

	explicit_bzero(work, sizeof(*work));
	return right;
}

bool auth_learn(struct auth *a, const struct auth_claim *claim, bool matches)
{
	struct remembered *r = &a->remembered[claim->user];

	if (!matches || claim->nobody)
		return false;
	memcpy(r->digest, claim->digest, sizeof(r->digest));
	r->set = true;
	return true;
}

bool auth_same_claim(const struct auth_claim *a, const struct auth_claim *b)
{
	return a->user == b->user && a->nobody == b->nobody && same(a->digest, b->digest, sizeof(a->digest));
}
