/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Being on time on a machine that has more to do than it can. Niceness does not help there: it counts among
 * the threads of one group alone (a control group, or a session: see autogroup in sched(7)), and who has
 * just woken waits for the slices of all groups. A thread with the least real-time priority goes before
 * them. It is meant for one that sleeps nearly always and works briefly, at set times.
 */
#ifndef UTIL_REALTIME_H
#define UTIL_REALTIME_H

#include <pthread.h>

#include "util/types.h"

/*
 * Makes the calling thread such a one; those that it starts from now on are ordinary. Takes CAP_SYS_NICE or
 * RLIMIT_RTPRIO of 1. Returns 0, or a negative errno; nothing is changed then.
 */
int realtime_begin(void);

/* Makes the calling thread an ordinary one again; takes no privilege. Returns 0, or a negative errno. */
int realtime_end(void);

/* How much of a CPU a thread takes; zeroed at first. */
struct realtime_share {
	u64 begin_ns, cpu_begin_ns;
};

/*
 * At @now_ns (CLOCK_MONOTONIC) the thread has taken @cpu_ns (CLOCK_THREAD_CPUTIME_ID). Once each four seconds it is looked at
 * what percentage of a CPU that was; if it is more than a thread should take that goes before all others, a
 * quarter, it is returned. Otherwise 0.
 */
u32 realtime_share_excess(struct realtime_share *s, u64 now_ns, u64 cpu_ns);

/*
 * A lock that such a thread takes too: who holds it then has the priority of who waits for it, or an ordinary
 * thread that was interrupted while it holds the lock would be waited for until its turn comes.
 */
void realtime_lock_init(pthread_mutex_t *lock);

#endif
