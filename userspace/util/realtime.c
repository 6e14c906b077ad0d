// SPDX-License-Identifier: GPL-2.0-only
#include "util/realtime.h"

#include <errno.h>
#include <sched.h>

int realtime_begin(void)
{
	const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least) ? -errno : 0;
}

void realtime_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	/* A kernel may be without (CONFIG_FUTEX_PI). */
	if (pthread_mutex_init(lock, &attr))
		pthread_mutex_init(lock, NULL);
	pthread_mutexattr_destroy(&attr);
}
