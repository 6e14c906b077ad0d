/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all JSON of blklat has in common. Values are json-c objects. NULL stands for null, the value of a figure that
 * is not available.
 */
#ifndef CORE_JSON_PARTS_H
#define CORE_JSON_PARTS_H

#include <stdio.h>

#include "core/frame.h"
#include "core/sink.h"
#include "util/json.h"

/* Arrays of @n figures. */
struct json_object *json_counts(const u64 *counts, u32 n);
struct json_object *json_decimals(const double *values, u32 n, int digits);

/* {"mean":, "min":, "max":, "p99":, ...} in ns. @ps are the percentiles with which @o was made. */
struct json_object *json_latencies(const struct op_frame *o, const struct percentiles *ps);

/* Where the time at stage total goes, see core/shares.h; json_absent for another stage, or if it is not known. */
struct json_object *json_shares(const struct frames *fs, u32 i, u32 op);

/* [[lower exclusive, upper inclusive, count], ...] in ns, of each bin in use; above the grid, upper is null. */
struct json_object *json_bins(const struct hist *h);

/* Describes a device. Those below it are taken from @now, its entry in @t; NULL: none. */
struct json_object *json_device(const struct device *d, const struct device_table *t, const struct device *now);

/* What is known of DEVICE_IDENTITY, a key for each; json_absent if nothing is. */
struct json_object *json_identity(const struct device *d);

/* Which part of a watch: {"by": "size", "label": "4 KiB"}; json_absent for a whole (NULL). */
struct json_object *json_part(const struct part *part);

/* The sums of @f that belong to IOs that have not completed, an object for each op; json_absent if there are none. */
struct json_object *json_partial(const struct frame *f);

/* True, or json_absent. */
struct json_object *json_flag(bool set);

/* A slow IO. Unknown values are null, as are process and cgroup if the user hides them. */
struct json_object *json_slow(const struct slow_io *io);

/* The object "accounting" of JSON lines and documents. */
struct json_object *json_accounting(const struct accounting *a);

/* How an op has its bins. */
enum json_bins {
	JSON_NO_BINS,
	JSON_BINS,		/* bounds and IOs, as json_bins() */
	JSON_CELLS,		/* [cell, IOs, cell, IOs, ...], and sum_ns; for the live page */
};

struct json_interval {
	const struct run_info *run;
	const struct frames *frames;
	enum json_bins bins;
};

/* Adds the keys of an interval of a watch or part, as blklat-live(8) describes them. What is not available is null. */
void json_add_frame(struct json_object *to, const struct json_interval *of, const struct frame *f);

/*
 * Prints the lines of an interval: one object for each device and stage, followed by one for each of its parts that had
 * IOs; @bins: with every bin. Returns 0 or -ENOMEM. For write errors the caller checks @to.
 */
int json_lines_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins);

#endif
