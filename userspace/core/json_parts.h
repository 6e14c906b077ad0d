/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every JSON that blklat writes has in common. Values are made as json-c's; NULL stands for null,
 * and is what a figure that cannot be had becomes.
 */
#ifndef CORE_JSON_PARTS_H
#define CORE_JSON_PARTS_H

#include "core/frame.h"
#include "util/json.h"

void json_add_count(struct json_object *to, const char *key, u64 n);

/* With so many @digits behind the point; null when it is not finite. */
struct json_object *json_decimal(double value, int digits);
void json_add_decimal(struct json_object *to, const char *key, double value, int digits);

/* Valid UTF-8 whatever @text holds. */
struct json_object *json_clean_text(const char *text);
void json_add_text(struct json_object *to, const char *key, const char *text);

/* Arrays of @n figures. */
struct json_object *json_counts(const u64 *counts, u32 n);
struct json_object *json_decimals(const double *values, u32 n, int digits);

/* {"mean":, "min":, "max":, "p99":, ...} in ns, of the percentiles @ps that @o was made with. */
struct json_object *json_latencies(const struct op_frame *o, const struct percentiles *ps);

/* [[lower exclusive, upper inclusive, count], ...] in ns of each bin in use; above the grid upper is null. */
struct json_object *json_bins(const struct hist *h);

/* What a device is; @lower, which it takes over, are the names of those that it lies on. */
struct json_object *json_device(const struct device *d, struct json_object *lower);

/* Which part of a watch: {"by": "size", "label": "4 KiB"} */
struct json_object *json_part(const struct part *part);

/* What @f has of IOs that have yet to end, an object for each op; NULL when there is nothing. */
struct json_object *json_partial(const struct frame *f);

/* A slow IO. What is not known of it is null, and its owner's process and cgroup are where nobody wants them told. */
struct json_object *json_slow(const struct slow_io *io);

/* The object "accounting" of JSON lines and documents. */
struct json_object *json_accounting(const struct accounting *a);

#endif
