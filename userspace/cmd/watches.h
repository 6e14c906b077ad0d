/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns what the user asked to watch into pairs of device and stage. */
#ifndef CMD_WATCHES_H
#define CMD_WATCHES_H

#include "core/snapshot.h"

/* What the user named: DEV... and --stage. */
struct wanted {
	u32 n;			/* names in devices */
	const char **devices;	/* see wanted_add() */
	u32 stages;		/* bit set of enum blklat_stage; 0: the default of each device */
	u32 by;			/* enum blklat_by */
	u32 max_parts;		/* by cgroup or process: how many get a part of their own; 0: not given */
	bool members_at_total;	/* without stages: members of a named array get total, too; see watches_make() */
	bool partitions_lack_total;	/* on this kernel; so as members they don't get it */
	/*
	 * Leave out what is not there, or can't be watched as wanted, instead of failing: all of it; and [name] if it
	 * is not there.
	 */
	bool lenient;
	const bool *optional;		/* NULL: none */
};

/*
 * Adds a device, a pattern, 'all', or some of these with commas between them; a path that exists is one device,
 * whatever is in it. Returns 0 or -ENOMEM.
 */
int wanted_add(struct wanted *w, const char *value);
void wanted_uninit(struct wanted *w);

/* Take the value of --by, or of --max-parts, for a struct wanted. Return 0, or -EINVAL and a sentence. */
int wanted_take_by(void *wanted, const char *value, struct problem *p);
int wanted_take_max_parts(void *wanted, const char *value, struct problem *p);

/* Checks that these two fit together. Returns the same. */
int wanted_check(const struct wanted *w, struct problem *p);

/* Warns if IOs are divided by cgroup and all will be counted in the top cgroup, on the machine below @root. */
void wanted_tell_uncharged(const struct wanted *w, const char *root);

/* How many cgroups or processes get a part of their own; 0 unless IOs are divided by one of these. */
u32 wanted_cgroups(const struct wanted *w);

/* Watches ordered by device as asked for, then by stage, each followed by its parts. */
struct watches {
	u32 n;
	struct watch *w;
	bool partitions_at_total;	/* some have total although --stage was not given; this kernel may lack it */
};

/*
 * Makes the watches of @wanted, of devices in @t, which must outlive them. The default stage is device,
 * or total if a device has no requests. Latencies can only be subtracted at the same stage. So a disk
 * or partition below an array without requests gets device and total if both are named; but not by
 * 'all' or '*', which would measure each disk of a host with LVM twice. Returns 0, or a negative errno
 * and a sentence: that of device_find(), -EINVAL if a device lacks a stage, or -E2BIG (too many).
 */
int watches_make(const struct device_table *t, const struct wanted *wanted, struct watches *ret, struct problem *p);
void watches_free(struct watches *w);

/*
 * Makes the watches of @n pairs of device and stage, divided as @wanted says. Returns 0, or -ENOMEM, or
 * -E2BIG (too many), and a sentence.
 */
int watches_of(const struct watch *wholes, u32 n, const struct wanted *wanted, struct watches *ret, struct problem *p);

/* Is this 'all' or a pattern? And does a word that is no option mean devices? A command's name never does. */
bool names_many(const char *name);
bool wanted_many(const struct wanted *w);	/* any of its names is */
bool means_devices(const char *word);

/* "device,queue,total": the stages in a bit set, as --stage takes them. */
void stages_text(u32 stages, char *ret, size_t size);

#endif
