/* SPDX-License-Identifier: GPL-2.0-only */
/* From what the user asked to watch to pairs of device and stage. */
#ifndef CMD_WATCHES_H
#define CMD_WATCHES_H

#include "core/snapshot.h"

/* What the user named: DEV... and --stage. */
struct wanted {
	u32 n;			/* names in devices */
	const char **devices;	/* room for as many as the command line has words */
	u32 stages;		/* bit set of enum blklat_stage; 0: the default of each device */
	u32 by;			/* enum blklat_by */
	bool members_at_total;	/* without stages: members of an array that is named beside them get total, too; see watches_make() */
};

/* Takes the value of --by. Returns 0, or -EINVAL and a sentence. */
int wanted_take_by(struct wanted *w, const char *value, struct problem *p);

/* Watches by device in the order asked for, by stage within, each followed by its parts. */
struct watches {
	u32 n;
	struct watch *w;
};

/*
 * Makes the watches of @wanted, of devices in @t, which must outlive them. The default stage is
 * device, or total where there are no requests. Only equal stages can be subtracted, so a disk below an
 * array without requests has device and total if both are named: not by 'all' or '*', which would measure
 * each disk of a host with LVM twice, and no partition, which has no total before Linux 5.12.
 * Returns 0, or a negative errno and a sentence: those of device_find(), -EINVAL when a device lacks a
 * stage, those of watches_of().
 */
int watches_make(const struct device_table *t, const struct wanted *wanted, struct watches *ret,
		 struct problem *p);
void watches_free(struct watches *w);

/* The same of @n pairs of device and stage. Returns 0, -ENOMEM, or -E2BIG when there are too many, and a sentence. */
int watches_of(const struct watch *wholes, u32 n, enum blklat_by by, struct watches *ret, struct problem *p);

/* "device,queue,total": the stages of a bit set, as --stage takes them. */
void stages_text(u32 stages, char *ret, size_t size);

#endif
