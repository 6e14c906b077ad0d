// SPDX-License-Identifier: GPL-2.0-only
#include "util/realtime.h"

#include <errno.h>
#include <sched.h>

#define WINDOW_NS (4 * NSEC_PER_SEC)
#define EXCESS_PERCENT 25

int realtime_begin(void)
{
	const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least) ? -errno : 0;
}

/* The flag stays, since removing it would need a privilege. */
int realtime_end(void)
{
	const struct sched_param none = { 0 };

	return sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) ? -errno : 0;
}

u32 realtime_share_excess(struct realtime_share *s, u64 now_ns, u64 cpu_ns)
{
	u64 length_ns = now_ns - s->begin_ns;
	u32 percent;

	if (s->begin_ns && length_ns < WINDOW_NS)
		return 0;
	percent = s->begin_ns ? 100 * (cpu_ns - s->cpu_begin_ns) / length_ns : 0;
	*s = (struct realtime_share){ now_ns, cpu_ns };
	return percent > EXCESS_PERCENT ? percent : 0;
}
