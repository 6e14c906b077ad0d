/* SPDX-License-Identifier: GPL-2.0-only */
/* A run's percentiles interval by interval, of whatever IOs they are given. Pure. */
#ifndef REPORT_PERCENTILES_RUN_H
#define REPORT_PERCENTILES_RUN_H

#include "core/frame.h"

/* The percentiles of each interval: p50 p90 p99 p99.9; those of the whole run have also p95 p99.99 p99.999. */
extern const struct percentiles run_over_time;
extern const struct percentiles run_of_total;
#define RUN_P50 0	/* the median's place in both */

struct percentiles_run {
	double *ns;		/* [interval * run_over_time.n + i]; negative without IO. NULL: not begun */
};

/* Returns 0, or -ENOMEM and changes nothing. */
int percentiles_run_grow(struct percentiles_run *p, u32 room);
void percentiles_run_uninit(struct percentiles_run *p);

/* Makes the first @n intervals ones without IO. */
void percentiles_run_clear(struct percentiles_run *p, u32 n);

/* Sets interval @i, for which there must be room. @o is NULL or has no IO if there was none. */
void percentiles_run_put(struct percentiles_run *p, u32 i, const struct op_frame *o);

/* The same interval of both. */
void percentiles_run_copy(struct percentiles_run *to, const struct percentiles_run *from, u32 i);

/* Percentile @which of run_over_time in interval @i; negative if there was no IO. */
double percentiles_run_ns(const struct percentiles_run *p, u32 i, u32 which);

/* Those from interval @first on; borrowed. */
struct percentiles_run percentiles_run_from(const struct percentiles_run *p, u32 first);

/* The bytes that an interval takes. */
u64 percentiles_run_bytes(void);

#endif
