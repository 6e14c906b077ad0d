/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A capture engine: where snapshots come from. Every hook is required. Engines do not print: a
 * failure is a negative errno and a sentence for the user.
 */
#ifndef CORE_CAPTURE_H
#define CORE_CAPTURE_H

#include "core/origin.h"
#include "core/slow.h"
#include "core/snapshot.h"
#include "util/problem.h"

#define CAPTURE_MAX_BIOS 65536	/* unless the user says otherwise */

#define CAPTURE_SLOW_TOLD_NS 20000	/* a slow IO is told well within it */

struct capture_config {
	const struct device_table *devices;	/* borrowed for the capture's life; unused by replay */
	/* What to watch, a device's together, each whole followed by its parts; copied. Unused by replay, as is by. */
	const struct watch *watches;
	u32 n_watches;
	enum blklat_by by;
	u32 cgroups;			/* by cgroup: how many have a part of their own; else 0 */
	int scale;			/* 0..6, or -1: the finest that fits max_memory */
	u64 max_memory;			/* bytes; 0: the default, see capture_default_memory() */
	u32 max_bios;			/* room for bios in flight (stage total) */
	u64 idle_gap_ns;		/* least pause that makes an IO one of after_idle; 0: do not look for them */
	struct slow_wanted slow;	/* IOs to be told of by themselves; unused by replay */
	const char *replay_file;	/* replay only */
};

/* An open capture. Engines embed it at the start of their own state. */
struct capture {
	const struct capture_ops *ops;
	struct watch *watches;		/* what is watched; owned by the engine */
	u32 n_watches;
	u32 scale;
	u32 cpus;			/* slack of the accounting, see accounting_make() */
	u64 memory_bytes;		/* that the counters take */
	struct slow_wanted slow_wanted;
	struct slow_ios *slow;		/* those told since the read before the last; the engine's. NULL: not wanted */
	u64 slow_ns;			/* CLOCK_MONOTONIC when the engine began to take these: all that ended CAPTURE_SLOW_TOLD_NS before are there */
	bool sees_held;			/* stage total has what waits for the limits of cgroups */
	const struct live_ops *live;	/* time passes by itself; NULL: a replay, of which each read is a stored interval */
	const char *engine;		/* name to show; a replay gives the one that captured */
	const struct device_table *devices;	/* that the watches' devices are in, with those below them */
	const struct origin *origin;	/* of a replay; else NULL */
};

struct capture_ops {
	const char *name;
	const char *node;		/* the device node that it opens for writing; NULL: none */
	bool sees_pauses;		/* counts IOs after a pause, see capture_config.idle_gap_ns */
	/* Starts the capture, whole or not at all. Returns 0, or a negative errno and a sentence. */
	int (*open)(const struct capture_config *cfg, struct capture **ret, struct problem *p);
	/*
	 * Fills @s, made by snapshot_init() for the capture's watches and scale. Returns 0, or
	 * -ENODATA (a replay is at its end), or another negative errno and a sentence.
	 */
	int (*read)(struct capture *c, struct snapshot *s, struct problem *p);
	/* Ends the capture and leaves nothing behind. Takes NULL. */
	void (*close)(struct capture *c);
};

/* What a capture of this machine does besides, and a replay has no use for. */
struct live_ops {
	/*
	 * The kernel has news of devices: IOs of one that went away are not counted from here on, since its address may
	 * come to stand for another. The next read tells that it is gone.
	 */
	void (*look)(struct capture *c);
	/*
	 * From now on IOs of watch w and op o are slow that took @from_ns[w * BLKLAT_OPS + o] and more; of wholes. At first none is, but
	 * those that fail are told all the same. Only where slow IOs are wanted.
	 */
	void (*set_slow)(struct capture *c, const u64 *from_ns);
};

/* An engine of this machine, for the user to choose. */
struct capture_engine {
	const struct capture_ops *ops;
	const char *about;		/* a few words for 'check' */
	/* Can it run here and now? Returns 0, or a negative errno and why not and what to do. */
	int (*probe)(struct problem *p);
};

/* What became of opening a capture anew; see capture_open(). */
struct capture_renewal {
	const struct device *device;	/* that had outgrown its slots, the first of them */
	int err;			/* 0, or why it failed: see the problem. It is tried again in a while */
	struct problem problem;
	u64 gap_ns;			/* IOs that ended within it may be lost; 0: none is */
};

/*
 * Opens a capture with @engine, as its open does. A live one stays right when a device's user, or its driver, gives it
 * more tags or queues than there are slots for: then one with more room is opened beside it and takes over, in a
 * later read if IOs are in flight of which it has not seen the start. All counts go on, none begins again. @renewed
 * is called in that read. The new one leaves out devices that are gone.
 */
int capture_open(const struct capture_ops *engine, const struct capture_config *cfg,
		 void (*renewed)(const struct capture_renewal *r), struct capture **ret, struct problem *p);

/* A capture that is to end, and what was read of it last. */
struct capture_end {
	const struct capture *capture;
	const struct snapshot *read;
};

/*
 * From here on @heir counts in place of the @n captures @from: live ones of the same engine at the same scale, still open,
 * that may be closed then. No count begins again and no IO is missed: @begin is filled with what @heir would have read when the
 * others were read last. @read is of @heir, just before those, since its extremes are from there on; a watch that none of them
 * has begins there. *@ret_gap_ns: IOs that ended within it may be lost; 0: none is. Returns 0, or -ENOMEM with nothing done.
 */
int capture_join(struct capture *heir, const struct snapshot *read, const struct capture_end *from, u32 n,
		 struct snapshot *begin, u64 *ret_gap_ns);

/*
 * Are there still slots for all tags that requests of watch @i's device can carry? Looks into sysfs; yes if it can't
 * be told.
 */
bool capture_fits(const struct capture *c, u32 i);

extern const struct capture_ops capture_bpf;
extern const struct capture_ops capture_kmod;
extern const struct capture_ops capture_replay;
extern const struct capture_engine engine_bpf;
extern const struct capture_engine engine_kmod;

/* The engines of this machine in order of preference, ended by NULL. */
extern const struct capture_engine *const capture_engines[];

/*
 * Bytes that the counters of @cfg's watches take on @cpus at @scale, whatever scale it asks for: @rows of series
 * and accounts, start slots, where a watch has stage total the table of max_bios, and where pauses are looked
 * for the series of IOs after one.
 */
u64 capture_memory_bytes(const struct capture_config *cfg, u32 cpus, u32 rows, u32 scale);

/*
 * The scale to use: @cfg->scale if it fits the memory limit, the finest that fits if it is -1.
 * Returns it, or -E2BIG and a sentence that says how much would be needed.
 */
int capture_choose_scale(const struct capture_config *cfg, u32 cpus, u32 rows, struct problem *p);

/*
 * Memory the counters may take unless the user says otherwise: 64 MiB, or 0.1 % of RAM, or 128 KiB for each of the
 * @watches but no more than 1 % of RAM; the largest of these.
 */
u64 capture_default_memory(u32 watches);

#endif
