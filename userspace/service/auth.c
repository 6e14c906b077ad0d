// SPDX-License-Identifier: GPL-2.0-only
#include "service/auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#define PASSWORD_MAX 1024

int auth_init(struct auth *a)
{
	return gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key)) ? -EIO : 0;
}

void auth_keep(struct web_config *now, const struct web_config *before)
{
	for (u32 i = 0; i < now->n_users; i++)
		for (u32 old = 0; old < before->n_users; old++) {
			struct web_user *to = &now->users[i];
			const struct web_user *from = &before->users[old];

			if (!from->known || strcmp(from->hash, to->hash))
				continue;
			to->known = true;
			memcpy(to->digest, from->digest, sizeof(to->digest));
		}
}

/* In constant time. */
static bool same_digest(const unsigned char a[WEB_DIGEST_BYTES], const unsigned char b[WEB_DIGEST_BYTES])
{
	return !gnutls_memcmp(a, b, WEB_DIGEST_BYTES);
}

static bool digest(const struct auth *a, const char *text, unsigned char ret[WEB_DIGEST_BYTES])
{
	return !gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), text, strlen(text), ret);
}

/* The user whose hash is checked for an unknown name; always the same one for the same name. */
static struct web_user *substitute(const struct auth *a, const struct web_config *web, const char *name)
{
	unsigned char key[WEB_DIGEST_BYTES];

	return &web->users[digest(a, name, key) ? key[0] % web->n_users : 0];
}

enum auth_answer auth_look(const struct auth *a, const struct web_config *web, const char *name, const char *password,
			   struct auth_claim *ret)
{
	if (!web->n_users)
		return AUTH_YES;
	if (!name || !password || strlen(password) > PASSWORD_MAX || !digest(a, password, ret->digest))
		return AUTH_NO;
	ret->nobody = true;
	ret->user = substitute(a, web, name);
	for (u32 i = 0; i < web->n_users; i++) {
		if (strcmp(web->users[i].name, name))
			continue;
		ret->nobody = false;
		ret->user = &web->users[i];
	}
	return !ret->nobody && ret->user->known && same_digest(ret->user->digest, ret->digest) ? AUTH_YES : AUTH_CHECK;
}

bool auth_matches(const char *password, const char *hash, struct crypt_data *work)
{
	const char *made = crypt_r(password, hash, work);
	bool right = made && strlen(made) == strlen(hash) && !gnutls_memcmp(made, hash, strlen(hash));

	explicit_bzero(work, sizeof(*work));
	return right;
}

bool auth_learn(const struct auth_claim *claim, bool matches)
{
	if (!matches || claim->nobody)
		return false;
	memcpy(claim->user->digest, claim->digest, sizeof(claim->digest));
	return claim->user->known = true;
}

bool auth_same_claim(const struct auth_claim *a, const struct auth_claim *b)
{
	return a->user == b->user && a->nobody == b->nobody && same_digest(a->digest, b->digest);
}
