/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Basic authentication against bcrypt hashes. Checking a password is as slow as its hash asks for, which slows down
 * guessing. The last correct password of each user is remembered as a keyed digest, so a scrape is fast. The time of an
 * answer does not tell whether a name exists.
 */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include "service/web_config.h"
#include "util/types.h"

struct crypt_data;

enum auth_answer {
	AUTH_YES,
	AUTH_NO,
	AUTH_CHECK,	/* only a check can tell */
};

/* The key of the digests. */
struct auth {
	unsigned char key[WEB_DIGEST_BYTES];
};

/* Stands for a name and a password without holding either. Two equal claims need only one check. */
struct auth_claim {
	struct web_user *user;	/* the user whose hash it is checked against */
	bool nobody;		/* there is no user of this name; another one's hash is taken, for equal timing */
	unsigned char digest[WEB_DIGEST_BYTES];
};

/* Makes the key. Returns 0 or -EIO. */
int auth_init(struct auth *a);

/* Passwords that are known in @before stay known in @now, if their hash is the same. */
void auth_keep(struct web_config *now, const struct web_config *before);

/*
 * Answers what is known without checking a password. @name and @password may be any text; NULL: not given. Without
 * users everybody is let in. *@ret is set only for AUTH_CHECK.
 */
enum auth_answer auth_look(const struct auth *a, const struct web_config *web, const char *name, const char *password,
			   struct auth_claim *ret);

/*
 * Whether @password matches @hash, which takes long. @work is 32 KiB of scratch space and is left without secrets.
 * May be called by any thread.
 */
bool auth_matches(const char *password, const char *hash, struct crypt_data *work);

/* Takes the result of a check. Returns whether the user is let in, and if so remembers it. */
bool auth_learn(const struct auth_claim *claim, bool matches);

bool auth_same_claim(const struct auth_claim *a, const struct auth_claim *b);

#endif
