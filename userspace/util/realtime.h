/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real-time priority for a thread that must be on time even on an overloaded machine. Niceness does not help there: it
 * only counts within one group of threads (a control group, or a session: see autogroup in sched(7)), and a thread that
 * wakes up waits for the time slices of all groups. A thread with the lowest real-time priority runs before all of
 * them. It is meant for a thread that sleeps nearly always and works briefly, at set times.
 */
#ifndef UTIL_REALTIME_H
#define UTIL_REALTIME_H

#include "util/types.h"

/*
 * Gives the calling thread this priority; threads that it starts from now on are ordinary. Needs
 * CAP_SYS_NICE or RLIMIT_RTPRIO of at least 1. Returns 0, or a negative errno and changes nothing.
 */
int realtime_begin(void);

/* Makes the calling thread an ordinary one again; needs no privilege. Returns 0, or a negative errno. */
int realtime_end(void);

/* Tracks how much of a CPU a thread takes; all 0 at first. */
struct realtime_share {
	u64 begin_ns, cpu_begin_ns;
};

/*
 * Notes that by @now_ns (CLOCK_MONOTONIC) the thread has used @cpu_ns of CPU time (CLOCK_THREAD_CPUTIME_ID). Every four
 * seconds its share of a CPU is computed. If that exceeds a quarter, which is too much for a thread that runs before
 * all others, the share is returned in percent. Otherwise 0.
 */
u32 realtime_share_excess(struct realtime_share *s, u64 now_ns, u64 cpu_ns);

#endif
