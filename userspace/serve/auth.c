// SPDX-License-Identifier: GPL-2.0-only
#include "serve/auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_BYTES 32		/* SHA-256 */
#define PASSWORD_MAX 1024

struct auth {
	const struct web_config *c;
	unsigned char key[DIGEST_BYTES];
	struct crypt_data crypt;	/* large */
	struct remembered {
		bool set;
		unsigned char digest[DIGEST_BYTES];
	} *remembered;			/* of each user the password that was right last */
};

int auth_new(const struct web_config *c, struct auth **ret)
{
	struct auth *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->c = c;
	a->remembered = calloc(c->n_users + 1, sizeof(*a->remembered));
	if (!a->remembered || gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key))) {
		auth_free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	free(a->remembered);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

bool auth_needed(const struct auth *a)
{
	return a->c->n_users;
}

/* Whatever they hold, it takes as long. */
static bool same(const void *va, const void *vb, size_t len)
{
	const unsigned char *a = va, *b = vb;
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

static bool digest(const struct auth *a, const char *password, unsigned char ret[DIGEST_BYTES])
{
	return !gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), password, strlen(password), ret);
}

static bool matches(struct auth *a, const char *password, const char *hash)
{
	const char *made = crypt_r(password, hash, &a->crypt);
	bool right = made && strlen(made) == strlen(hash) && same(made, hash, strlen(hash));

	explicit_bzero(&a->crypt, sizeof(a->crypt));
	return right;
}

/* What a name that there is not is checked against: costs what one costs that there is, the same each time. */
static const char *hash_of_nobody(const struct auth *a, const char *name)
{
	unsigned char key[DIGEST_BYTES];

	return a->c->users[digest(a, name, key) ? key[0] % a->c->n_users : 0].hash;
}

bool auth_allows(struct auth *a, const char *name, const char *password)
{
	unsigned char now[DIGEST_BYTES];
	u32 user = a->c->n_users;
	struct remembered *r;

	if (!auth_needed(a))
		return true;
	if (!name || !password || strlen(password) > PASSWORD_MAX || !digest(a, password, now))
		return false;
	for (u32 i = 0; i < a->c->n_users; i++)
		if (!strcmp(a->c->users[i].name, name))
			user = i;
	if (user == a->c->n_users) {
		matches(a, password, hash_of_nobody(a, name));
		return false;
	}
	r = &a->remembered[user];
	if (r->set && same(r->digest, now, sizeof(now)))
		return true;
	if (!matches(a, password, a->c->users[user].hash))
		return false;
	memcpy(r->digest, now, sizeof(now));
	r->set = true;
	return true;
}
