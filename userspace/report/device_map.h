/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which device of the baseline is compared with which one of the other runs, if their names differ:
 * --map nullb0=md0. Pure.
 */
#ifndef REPORT_DEVICE_MAP_H
#define REPORT_DEVICE_MAP_H

#include "report/run.h"
#include "util/problem.h"

#define DEVICE_MAPS_MAX 64

struct device_maps {
	u32 n;
	struct {
		char base[DEVICE_NAME_MAX], other[DEVICE_NAME_MAX];
	} m[DEVICE_MAPS_MAX];
};

/* Adds the pairs of "nullb0=md0,sda=md1". Returns 0, or -EINVAL and a sentence: no device may be in two pairs. */
int device_maps_take(struct device_maps *m, const char *value, struct problem *p);

/*
 * Checks that each pair has a device in the baseline and one in the others, with a stage in common.
 * Returns 0, or -EINVAL and a sentence.
 */
int device_maps_check(const struct device_maps *m, const struct run *base, const struct run *others, u32 n, struct problem *p);

/* The name of the device that is paired with a device of the baseline; NULL: none is. */
const char *device_maps_other(const struct device_maps *m, const char *base);

/* Whether a device of the others is in a pair. */
bool device_maps_has_other(const struct device_maps *m, const char *other);

#endif
