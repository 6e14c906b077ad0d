// SPDX-License-Identifier: GPL-2.0-only
#include "report/slow_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MOST 1023		/* limit of a cgroup's path, which bounds the memory that a damaged recording takes */

u32 slow_run_most(u32 n_wholes)
{
	u32 most = SLOW_RUN_MOST / (n_wholes ?: 1);

	return most < SLOW_RUN_LEAST ? SLOW_RUN_LEAST : most;
}

/*
 * An IO's wall clock time is related to the interval's end, which has both clocks. So a wall clock that
 * was set between intervals does not displace it.
 */
static u64 since_start(const struct slow_io *io, const struct snapshot *now, u64 start_mono_ns)
{
	s64 ns = (s64)(now->mono_ns - start_mono_ns) - (now->wall_ns - io->end_ns);

	return ns > 0 ? ns : 0;
}

int slow_run_add(struct slow_ios *to, const struct frames *interval, u64 start_mono_ns)
{
	const struct slow_ios *slow = interval->slow;
	int err = 0;

	for (u32 i = 0; i < slow->n; i++) {
		const char *cgroup = slow->io[i].cgroup;
		struct slow_io io = slow->io[i];

		io.told.end_ns = since_start(&io, interval->now, start_mono_ns);
		io.cgroup = cgroup ? strndup(cgroup, PATH_MOST) : NULL;
		if (cgroup && !io.cgroup)
			err = -ENOMEM;
		err = slow_ios_add(to, &io) ?: err;
	}
	for (u32 i = 0; i < slow->n_watches; i++)
		to->of[i].found += slow->of[i].found - slow->of[i].n;
	return err;
}

u64 slow_run_bytes(const struct slow_ios *s)
{
	return s->room * (sizeof(*s->io) + PATH_MOST + 1ULL);
}
