/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Basic authentication against bcrypt hashes. Checking a password is as slow as its hash asks for, which slows down
 * guessing. Users who were let in are remembered by a keyed digest, so a scrape is fast. The time of an answer does not
 * tell whether a name exists. Single-threaded, except for auth_matches().
 */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include "service/web_config.h"
#include "util/types.h"

#define AUTH_DIGEST_BYTES 32	/* SHA-256 */

struct auth;
struct crypt_data;

enum auth_answer {
	AUTH_YES,
	AUTH_NO,
	AUTH_CHECK,	/* only a check can tell */
};

/* Stands for a name and a password without holding either. Two equal claims need only one check. */
struct auth_claim {
	u32 user;	/* the user whose hash it is checked against */
	bool nobody;	/* there is no user of this name; another one's hash is taken, for equal timing */
	unsigned char digest[AUTH_DIGEST_BYTES];
};

/* Makes one without users. Returns 0 or a negative errno. */
int auth_new(struct auth **ret);
void auth_free(struct auth *a);	/* takes NULL */

/*
 * Sets the users to those of @c, which is borrowed; without any, everybody is let in. A password that
 * was right before stays known if its hash is unchanged. Returns 0 or a negative errno.
 */
int auth_use(struct auth *a, const struct web_config *c);

/*
 * Answers what is known without checking a password. @name and @password may be any text; NULL: not
 * given. *@ret is set only for AUTH_CHECK.
 */
enum auth_answer auth_look(const struct auth *a, const char *name, const char *password, struct auth_claim *ret);

/* The hash to check the password of @claim against. */
const char *auth_hash(const struct auth *a, const struct auth_claim *claim);

/*
 * Whether @password matches @hash, which takes long. @work is 32 KiB of scratch space and is left
 * without secrets. May be called by any thread.
 */
bool auth_matches(const char *password, const char *hash, struct crypt_data *work);

/* Takes the result of a check. Returns whether the user is let in, and if so remembers it. */
bool auth_learn(struct auth *a, const struct auth_claim *claim, bool matches);

bool auth_same_claim(const struct auth_claim *a, const struct auth_claim *b);

/* --- checker.c: the check of a password, by a thread of its own --- */

struct checker;

/* Begins one. Both texts are copied. NULL: there is no memory, or no thread. */
struct checker *checker_begin(const char *password, const char *hash);

/* Becomes readable when it is done. */
int checker_fd(const struct checker *c);
bool checker_done(const struct checker *c, bool *ret_matches);

/* Returns at once; a check in progress ends by itself. Takes NULL. */
void checker_free(struct checker *c);

#endif
