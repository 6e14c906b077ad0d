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
	u32 max_parts;		/* by cgroup: how many have a part of their own; 0: nothing was said */
	bool members_at_total;	/* without stages: members of an array that is named beside them get total, too; see watches_make() */
	bool partitions_lack_total;	/* here; so as members they don't get it */
};

/* Takes the value of --by, or of --max-parts. Returns 0, or -EINVAL and a sentence. */
int wanted_take_by(struct wanted *w, const char *value, struct problem *p);
int wanted_take_max_parts(struct wanted *w, const char *value, struct problem *p);

/* Whether these two go together. The same. */
int wanted_check(const struct wanted *w, struct problem *p);

/* Says where by cgroup all will be the top's, of the machine below @root. */
void wanted_tell_uncharged(const struct wanted *w, const char *root);

/* How many cgroups have a part of their own; 0 where they are not what is divided by. */
u32 wanted_cgroups(const struct wanted *w);

/* Watches by device in the order asked for, by stage within, each followed by its parts. */
struct watches {
	u32 n;
	struct watch *w;
	bool partitions_at_total;	/* some have total though nobody gave --stage: this kernel may lack it */
};

/*
 * Makes the watches of @wanted, of devices in @t, which must outlive them. The default stage is
 * device, or total where there are no requests. Only equal stages can be subtracted, so a disk or partition below an
 * array without requests has device and total if both are named: not by 'all' or '*', which would measure
 * each disk of a host with LVM twice.
 * Returns 0, or a negative errno and a sentence: those of device_find(), -EINVAL when a device lacks a
 * stage, those of watches_of().
 */
int watches_make(const struct device_table *t, const struct wanted *wanted, struct watches *ret,
		 struct problem *p);
void watches_free(struct watches *w);

/* The same of @n pairs of device and stage, divided as @wanted. Returns 0, -ENOMEM, or -E2BIG when there are too many, and a sentence. */
int watches_of(const struct watch *wholes, u32 n, const struct wanted *wanted, struct watches *ret, struct problem *p);

/* "device,queue,total": the stages of a bit set, as --stage takes them. */
void stages_text(u32 stages, char *ret, size_t size);

#endif
