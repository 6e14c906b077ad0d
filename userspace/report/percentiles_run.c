// SPDX-License-Identifier: GPL-2.0-only
#include "report/percentiles_run.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

const struct percentiles run_over_time = {
	.n = 4,
	.p = { [RUN_P50] = { 0.5, "p50" }, { 0.9, "p90" }, { 0.99, "p99" }, { 0.999, "p99.9" } },
};

const struct percentiles run_of_total = {
	.n = 7,
	.p = {
		[RUN_P50] = { 0.5, "p50" }, { 0.9, "p90" }, { 0.95, "p95" }, { 0.99, "p99" }, { 0.999, "p99.9" },
		{ 0.9999, "p99.99" }, { 0.99999, "p99.999" },
	},
};

int percentiles_run_grow(struct percentiles_run *p, u32 room)
{
	return array_grow(&p->ns, percentiles_run_bytes(), room);
}

void percentiles_run_uninit(struct percentiles_run *p)
{
	free(p->ns);
	p->ns = NULL;
}

void percentiles_run_clear(struct percentiles_run *p, u32 n)
{
	for (u32 i = 0; i < n * run_over_time.n; i++)
		p->ns[i] = -1;
}

void percentiles_run_put(struct percentiles_run *p, u32 i, const struct op_frame *o)
{
	for (u32 k = 0; k < run_over_time.n; k++)
		p->ns[i * run_over_time.n + k] =
			o && o->ios ? quantile_ns(&o->hist, run_over_time.p[k].q, o->min_ns, o->max_ns) : -1;
}

void percentiles_run_copy(struct percentiles_run *to, const struct percentiles_run *from, u32 i)
{
	memcpy(to->ns + i * run_over_time.n, from->ns + i * run_over_time.n, percentiles_run_bytes());
}

double percentiles_run_ns(const struct percentiles_run *p, u32 i, u32 which)
{
	return p->ns ? p->ns[i * run_over_time.n + which] : -1;
}

struct percentiles_run percentiles_run_from(const struct percentiles_run *p, u32 first)
{
	return (struct percentiles_run){ .ns = p->ns ? p->ns + first * run_over_time.n : NULL };
}

u64 percentiles_run_bytes(void)
{
	return run_over_time.n * sizeof(double);
}
