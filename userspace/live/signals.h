/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a run, taken one by one while waiting, and the clock that deadlines are of. */
#ifndef LIVE_SIGNALS_H
#define LIVE_SIGNALS_H

#include <signal.h>

#include "util/types.h"

/*
 * Blocks SIGINT, SIGTERM and SIGHUP, which become ends of the run, and SIGCHLD, by which a command tells
 * that it ended; and SIGIO, by which a descriptor tells that there is news. A SIGHUP that was ignored, as under nohup, stays so. SIGPIPE is to be ignored (main.c).
 */
void signals_block(void);

/* Those of them that end a run. */
void signals_of_end(sigset_t *ret);

/* Takes one of these that comes before @deadline_ns. Returns its number, or 0 when none did. */
int signals_wait(u64 deadline_ns, siginfo_t *ret);

#endif
