/* SPDX-License-Identifier: GPL-2.0-only */
/* That a command ends by a signal whatever stands still, and what it says when it had to be cut short. */
#ifndef CMD_ENDS_H
#define CMD_ENDS_H

#include <signal.h>
#include <stdbool.h>

#include "util/problem.h"

/*
 * From now on an end that is asked for by @signals, which are blocked, comes: see util/ending.h, also for @again. @who is
 * what messages call the command; it outlives the run. Returns 0, or a negative errno and a sentence.
 */
int ends_begin(const char *who, const sigset_t *signals, bool again, struct problem *p);

#endif
