/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a run, received one by one while waiting. */
#ifndef LIVE_SIGNALS_H
#define LIVE_SIGNALS_H

#include <signal.h>

#include "util/types.h"

/*
 * Blocks the signals that are waited for: SIGINT, SIGTERM and SIGHUP, which end the run; SIGCHLD, by
 * which we learn that a command ended; and SIGIO, by which we learn that a descriptor has news. If
 * SIGHUP was ignored, as under nohup, it stays so. SIGPIPE is to be ignored (main.c).
 */
void signals_block(void);

/* The signals among them that end a run. */
void signals_of_end(sigset_t *ret);

/* Waits until @deadline_ns for one of these signals. Returns its number, or 0 if none came. */
int signals_wait(u64 deadline_ns, siginfo_t *ret);

#endif
