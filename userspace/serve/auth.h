/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Basic authentication against bcrypt hashes. A check costs what the hash says, so that guessing is slow;
 * who was let in is remembered by a keyed digest, so that a scrape is not. How long it takes does
 * not tell whether the name exists.
 */
#ifndef SERVE_AUTH_H
#define SERVE_AUTH_H

#include "serve/web_config.h"

struct auth;

/* @c is borrowed. Without users everybody is let in. Returns 0 or a negative errno. */
int auth_new(const struct web_config *c, struct auth **ret);
void auth_free(struct auth *a);	/* takes NULL */

bool auth_needed(const struct auth *a);

/* Takes anything; NULL is no name, no password. Of one thread. */
bool auth_allows(struct auth *a, const char *name, const char *password);

#endif
