/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that checks passwords against bcrypt hashes, one at a time, so that only clients with a
 * password to check have to wait. After each check it rests for as long as that took, so it takes half
 * of a CPU at most, however many are asked for.
 */
#ifndef SERVICE_CHECKER_H
#define SERVICE_CHECKER_H

#include "util/types.h"

struct checker;

/* Returns 0 or a negative errno. */
int checker_start(struct checker **ret);

/* Returns at once; a check in progress ends by itself. Takes NULL. */
void checker_stop(struct checker *c);

/* Becomes readable when a check is done. */
int checker_fd(const struct checker *c);

/*
 * Asks for a check; both texts are copied. Returns false, and does nothing, while another check is in
 * progress or its result was not taken yet.
 */
bool checker_ask(struct checker *c, const char *password, const char *hash);

/* Returns whether a check was done, and makes checker_fd() unreadable. */
bool checker_take(struct checker *c, bool *ret_matches);

#endif
