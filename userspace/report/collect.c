// SPDX-License-Identifier: GPL-2.0-only
#include "report/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

struct collect {
	struct sink sink;
	struct run *run;
};

static int collect_interval(struct sink *s, const struct frames *interval)
{
	struct run *r = ((struct collect *)s)->run;

	return run_add(r, interval) ?: run_add_slow(r, interval);
}

static int collect_summary(struct sink *s, const struct frames *run)
{
	(void)run;
	run_finish(((struct collect *)s)->run);
	return 0;
}

static void collect_close(struct sink *s)
{
	free(s);
}

static const struct sink_ops collect_ops = {
	.interval = collect_interval,
	.summary = collect_summary,
	.close = collect_close,
};

int collect_open(const struct run_info *info, const struct asked_window *asked, u64 max_bytes, struct run *into,
		 struct sink **ret)
{
	struct collect *c CLEANUP(cleanup_free) = calloc(1, sizeof(*c));
	const struct run_source from = {
		.origin = info->origin,
		.devices = info->devices,
		.watches = info->watches,
		.n_watches = info->n_watches,
		.engine = info->engine,
		.scale = info->scale,
		.interval_s = info->interval_s,
		.max_bytes = max_bytes,
		.slow = info->slow_most,
		.asked = *asked,
	};

	if (!c || run_init(into, &from))
		return -ENOMEM;
	c->sink.ops = &collect_ops;
	c->run = into;
	*ret = &TAKE(c)->sink;
	return 0;
}
