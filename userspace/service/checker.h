/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that checks passwords against bcrypt hashes, one at a time, so that nobody waits for it who does not ask
 * for it. After each it rests for as long as that took: whatever is asked of it, it takes half of a CPU at most.
 */
#ifndef SERVICE_CHECKER_H
#define SERVICE_CHECKER_H

#include "util/types.h"

struct checker;

/* Returns 0 or a negative errno. */
int checker_start(struct checker **ret);

/* Returns at once; a check under way ends by itself. Takes NULL. */
void checker_stop(struct checker *c);

/* Becomes readable when a check is done. */
int checker_fd(const struct checker *c);

/* Both are copied. Returns whether it takes it: not while another one is under way or its result not taken. */
bool checker_ask(struct checker *c, const char *password, const char *hash);

/* Returns whether a check was done, and makes checker_fd() unreadable. */
bool checker_take(struct checker *c, bool *ret_matches);

#endif
