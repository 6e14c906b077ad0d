/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One of the captures that a service has open at the same time, with what was last read from it. Each
 * measures different devices, so none is disturbed when another begins or ends.
 */
#ifndef SERVICE_MEMBER_H
#define SERVICE_MEMBER_H

#include "core/intervals.h"

struct member {
	struct member *next;		/* for the owner's lists */
	struct device_table devices;	/* the watches' devices; owned */
	struct capture *capture;
	struct intervals intervals;
	u32 present;			/* watches whose device is still there */
	u32 turn;			/* member_outgrown()'s */
};

/*
 * Opens a capture of @cfg->watches. Takes ownership of @devices, which holds their devices, even if it
 * fails. Nothing is read yet: a live engine counts from 0 since it was opened, and the first interval
 * begins there. Returns 0, or the engine's error.
 */
int member_open(const struct capture_ops *engine, struct capture_config *cfg, struct device_table *devices,
		struct member **ret, struct problem *p);

/* Reads the capture; its frames then cover the time since the previous read. Returns the engine's result. */
int member_read(struct member *m, const struct percentiles *ps, struct problem *p);

/*
 * A device that has more tags than slots, or NULL. Checks each device that lost IOs for that reason in
 * the last interval, and one more pair of device and stage in turn.
 */
const struct device *member_outgrown(struct member *m);

void member_close(struct member *m);	/* takes NULL */

#endif
