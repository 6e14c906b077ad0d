/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One of the captures that a service has open at a time, with what was read of it last. Those that
 * are open measure different devices, so that none is disturbed when another begins or ends.
 */
#ifndef SERVICE_MEMBER_H
#define SERVICE_MEMBER_H

#include "core/intervals.h"

struct member {
	struct member *next;		/* for the lists of whoever has it */
	struct device_table devices;	/* that the watches are of; owned */
	struct capture *capture;
	struct intervals intervals;
	u32 present;			/* watches whose device is still there */
	u32 turn;			/* member_outgrown()'s */
};

/*
 * Opens a capture of @cfg->watches, whose devices are in @devices, which it takes over (also when it
 * fails). Nothing is read yet: a live engine has counted from 0 since the moment of opening, and the first
 * interval begins there. Returns 0, or what the engine says.
 */
int member_open(const struct capture_ops *engine, struct capture_config *cfg, struct device_table *devices,
		struct member **ret, struct problem *p);

/* Reads; frames are then those of the interval since the read before. Returns what the engine says. */
int member_read(struct member *m, const struct percentiles *ps, struct problem *p);

/*
 * A device that has more tags than it has slots for, or NULL. Looks where the last interval lost IOs for it, and at one
 * more pair of device and stage in turn.
 */
const struct device *member_outgrown(struct member *m);

void member_close(struct member *m);	/* takes NULL */

#endif
