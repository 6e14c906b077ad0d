/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes sure that a signal ends a command even if something hangs, and prints why it was cut short. */
#ifndef CMD_ENDS_H
#define CMD_ENDS_H

#include <signal.h>
#include <stdbool.h>

#include "util/problem.h"

/*
 * From now on one of @signals, which are blocked, surely ends the command: see util/ending.h, also for
 * @again. @who is the command's name in messages and must outlive the run. Returns 0, or a negative
 * errno and a sentence.
 */
int ends_begin(const char *who, const sigset_t *signals, bool again, struct problem *p);

#endif
