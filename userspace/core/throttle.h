/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cgroups that limit the IO of a device (io.max of cgroup v2, blkio.throttle.* of v1). An IO waits for its limit
 * before the block layer traces it (blk_throtl_bio() comes before block_bio_queue), so only stage total may include
 * that wait: see struct capture.sees_held.
 */
#ifndef CORE_THROTTLE_H
#define CORE_THROTTLE_H

#include "core/device.h"

struct throttle {
	u32 device;		/* index in the table */
	char *cgroup;		/* "/system.slice/backup.service"; control characters are '?' */
	const char *file;	/* "io.max", or of version 1 "blkio.throttle" */
	char limits[128];	/* those that are set, in bytes or IOs per second: "rbps=1048576 wiops=100" */
};

struct throttles {
	u32 n;
	u32 room;
	struct throttle *t;	/* by device, then by cgroup */
};

/*
 * Reads the limits that cgroups have on devices of @t; those of a recorded machine if @t is recorded. A file that
 * can't be read counts as no limits. Returns 0, or -ENOMEM without a list.
 */
int throttles_read(const struct device_table *t, struct throttles *ret);
void throttles_uninit(struct throttles *ts);

#endif
