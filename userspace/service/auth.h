/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Basic authentication against bcrypt hashes. A check costs what the hash says, so that guessing is slow;
 * who was let in is remembered by a keyed digest, so that a scrape is not. How long it takes does
 * not tell whether the name exists. Of one thread, but for auth_matches().
 */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include "service/web_config.h"

#define AUTH_DIGEST_BYTES 32	/* SHA-256 */

struct auth;
struct crypt_data;

enum auth_answer {
	AUTH_YES,
	AUTH_NO,
	AUTH_CHECK,	/* only a check can tell */
};

/* A name and a password, without either. Two that are equal need one check. */
struct auth_claim {
	u32 user;	/* against whose hash it is checked */
	bool nobody;	/* there is no user of this name; another one's hash is taken, for equal timing */
	unsigned char digest[AUTH_DIGEST_BYTES];
};

/* Without users yet. Returns 0 or a negative errno. */
int auth_new(struct auth **ret);
void auth_free(struct auth *a);	/* takes NULL */

/*
 * From now on the users are those of @c, which is borrowed; without any everybody is let in. A password that was right before
 * is known where the hash is the same. Returns 0 or a negative errno.
 */
int auth_use(struct auth *a, const struct web_config *c);

/* What can be told at once. Takes anything; NULL is no name, no password. Unless it is AUTH_CHECK, *@ret is undefined. */
enum auth_answer auth_look(const struct auth *a, const char *name, const char *password, struct auth_claim *ret);

/* What to check the password of @claim against. */
const char *auth_hash(const struct auth *a, const struct auth_claim *claim);

/* Whether @password is that of @hash, which takes long. @work is 32 KiB; nothing stays in it. Of any thread. */
bool auth_matches(const char *password, const char *hash, struct crypt_data *work);

/* A check said that the password @matches: returns whether its user is let in, and remembers it then. */
bool auth_learn(struct auth *a, const struct auth_claim *claim, bool matches);

bool auth_same_claim(const struct auth_claim *a, const struct auth_claim *b);

#endif
