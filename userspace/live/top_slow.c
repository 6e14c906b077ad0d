// SPDX-License-Identifier: GPL-2.0-only
#include "live/top_slow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_end(const void *of_a, const void *of_b)
{
	const struct slow_io *const *a = of_a, *const *b = of_b;

	return ((*a)->end_ns > (*b)->end_ns) - ((*a)->end_ns < (*b)->end_ns);
}

static int put(struct top_slow *s, const struct slow_io *io, u64 sample)
{
	struct top_slow_io *to = &s->io[s->taken % TOP_SLOW];
	char *cgroup = io->cgroup ? strdup(io->cgroup) : NULL;

	if (io->cgroup && !cgroup)
		return -ENOMEM;
	free(to->io.cgroup);
	*to = (struct top_slow_io){ sample, *io };
	to->io.cgroup = cgroup;
	s->taken++;
	return 0;
}

int top_slow_take(struct top_slow **s, const struct slow_ios *slow, const struct slow_of *of, u64 sample)
{
	const struct slow_io **list;
	int err = 0;

	if (!of->found)
		return 0;
	*s = *s ?: calloc(1, sizeof(**s));
	list = calloc(of->n + 1, sizeof(*list));
	if (!*s || !list) {
		free(list);
		return -ENOMEM;
	}
	for (u32 i = 0; i < of->n; i++)
		list[i] = &slow->io[of->first + i];
	qsort(list, of->n, sizeof(*list), by_end);
	for (u32 i = of->n > TOP_SLOW ? of->n - TOP_SLOW : 0; !err && i < of->n; i++)
		err = put(*s, list[i], sample);
	(*s)->found += of->found;
	free(list);
	return err;
}

void top_slow_free(struct top_slow *s)
{
	for (u32 i = 0; s && i < TOP_SLOW; i++)
		free(s->io[i].io.cgroup);
	free(s);
}

const struct slow_io *top_slow_before(const struct top_slow *s, u64 shown, u32 op, u64 *at)
{
	while (*at && *at + TOP_SLOW > s->taken) {
		const struct top_slow_io *one = &s->io[--*at % TOP_SLOW];

		if (one->sample < shown && (op == BLKLAT_OPS || one->io.told.op == op))
			return &one->io;
	}
	return NULL;
}
