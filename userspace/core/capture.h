/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A capture engine: where snapshots come from. Every hook is required. Engines do not print: a failure is a negative
 * errno and a sentence for the user.
 */
#ifndef CORE_CAPTURE_H
#define CORE_CAPTURE_H

#include "core/origin.h"
#include "core/slow.h"
#include "core/snapshot.h"
#include "util/budget.h"
#include "util/problem.h"

#define CAPTURE_MAX_BIOS 65536	/* unless the user says otherwise */

struct capture_config {
	/* Borrowed for the capture's life; unused by a replay. Opening an engine may fill in shared_tags. */
	struct device_table *devices;
	/*
	 * What to watch: a device's watches in a row, each whole followed by its parts; copied. A replay uses neither
	 * these nor by.
	 */
	struct watch *watches;
	u32 n_watches;
	enum blklat_by by;
	u32 cgroups;			/* by cgroup or process: the number of those with a part of their own; else 0 */
	int scale;			/* 0..6, or -1: the finest */
	u64 max_memory;			/* bytes; 0: the default, see capture_default_memory() */
	u32 max_bios;			/* room for bios in flight (stage total) */
	bool follow;			/* devices may be added later, so reserve room; see live_ops.add */
	u32 doubled;			/* how often to double that room, and that for more tags */
	u64 idle_gap_ns;		/* shortest pause after which an IO counts in after_idle; 0: off */
	struct slow_wanted slow;	/* which IOs to report as slow; unused by a replay */
	const char *replay_file;	/* replay only, likewise: */
	const void *replay_bytes;	/* what would be in the file; borrowed; NULL: read it */
	u64 replay_len;
	struct budget *budget;		/* of memory, instead of max_memory, until it is closed; NULL: its own */
};

/* An open capture. Engines embed it at the start of their own state. */
struct capture {
	const struct capture_ops *ops;
	struct watch *watches;		/* owned by the engine; see live_ops.add */
	u32 n_watches;
	u32 room;			/* the most that there can be */
	u32 scale;
	u32 cpus;			/* slack of the accounting, see accounting_make() */
	u64 memory_bytes;		/* size of the counters */
	struct slow_wanted slow_wanted;
	struct slow_ios *slow;		/* slow IOs of the last read, owned by the engine; NULL: not wanted */
	/*
	 * Of the last read: the device that had outgrown its slots because its user or driver gave it more tags or
	 * queues; NULL: none. It has been given more slots, and only its IOs in flight at that moment are lost
	 * (tag_range); or, if outgrown_err is a negative errno, only a new capture has room for it.
	 */
	const struct device *outgrown;
	int outgrown_err;
	bool sees_held;			/* stage total includes the wait for limits of cgroups */
	bool glanced;			/* halts are looked for, see live_ops.glance */
	const struct live_ops *live;	/* NULL: a replay, where each read is a stored interval and takes no time */
	const char *engine;		/* name to show; of a replay, the engine that captured */
	const struct device_table *devices;	/* has the watches' devices and those below them */
	const struct origin *origin;	/* of a replay; else NULL */
};

struct capture_ops {
	const char *name;
	/* Of an engine of this machine that the user can choose, not of a replay: a few words for 'check'; and: */
	const char *about;
	/* Can it run here and now? Returns 0, or a negative errno and why not and what to do. */
	int (*probe)(struct problem *p);
	const char *node;		/* the device node that it opens for writing; NULL: none */
	bool sees_pauses;		/* counts IOs after a pause, see capture_config.idle_gap_ns */
	/*
	 * Starts the capture, completely or not at all. Returns 0, or a negative errno and a sentence; -ENODEV: a
	 * device went away.
	 */
	int (*open)(const struct capture_config *cfg, struct capture **ret, struct problem *p);
	/*
	 * Fills @s, made by snapshot_init() for the capture's watches and scale. Returns 0, or
	 * -ENODATA (a replay is at its end), or another negative errno and a sentence.
	 */
	int (*read)(struct capture *c, struct snapshot *s, struct problem *p);
	/* Ends the capture and releases everything. Takes NULL. */
	void (*close)(struct capture *c);
};

/*
 * When to look early at a capture that began at @began_ns, after @now_ns; UINT64_MAX: not any more. Until the first
 * look, CPUs share all series: a load that is there from the beginning would be counted that way up to the first
 * read.
 */
static inline u64 capture_early_look(u64 began_ns, u64 now_ns)
{
	static const u64 after_ns[] = { 10000000, 30000000, 100000000 };

	for (u32 i = 0; i < ARRAY_SIZE(after_ns); i++)
		if (began_ns + after_ns[i] > now_ns)
			return began_ns + after_ns[i];
	return UINT64_MAX;
}

/* What only a live capture of this machine does, not a replay. */
struct live_ops {
	/*
	 * Called when the kernel has announced a change of devices, and for early looks. IOs of a device that went
	 * away are not counted from here on, as its address may be reused; the next read reports it as gone. The CPUs
	 * that count most get series of their own.
	 */
	void (*look)(struct capture *c);
	/*
	 * Checks, cheaply, which wholes have IOs in flight of which none has completed since the last look or read.
	 * The next read reports these halts, which a load that catches up within the interval would hide.
	 */
	void (*glance)(struct capture *c);
	/*
	 * From now on, IOs of whole w and op o are slow if they took @from_ns[w * BLKLAT_OPS + o] or more. Until the
	 * first call only failed IOs are reported. Only called if slow IOs are wanted.
	 */
	void (*set_slow)(struct capture *c, const u64 *from_ns);
	/*
	 * Adds a device's @n watches @w, which are copied; the device is in capture.devices. They become those from
	 * *@ret on: at the end of the list, or in place of watches that the last read reported as gone. Their counts
	 * begin at 0; no other device is touched. Returns 0, or a negative errno and a sentence: -ENODEV if the
	 * device went away, -ENOSPC if only a new capture could watch it.
	 */
	int (*add)(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p);
};

extern const struct capture_ops capture_bpf;
extern const struct capture_ops capture_kmod;
extern const struct capture_ops capture_replay;

/* The engines of this machine in order of preference, ended by NULL. */
extern const struct capture_ops *const capture_engines[];

/* The memory that the counters take. */
struct capture_memory {
	u32 scale;
	u32 spare;		/* series for single CPUs: as many as are useful, or as fit */
	u64 limit_bytes;
	u64 fixed_bytes;	/* without those */
	u64 bytes;
};

/*
 * The memory for @cfg's watches on @cpus, with @rows of accounts. Returns 0, or -E2BIG and a sentence that says how
 * much is needed, if the fixed part exceeds the limit; *@ret is set in both cases.
 */
int capture_memory(const struct capture_config *cfg, u32 cpus, u32 rows, struct capture_memory *ret, struct problem *p);

/*
 * The default limit for the counters' memory: 64 MiB, or 0.1 % of RAM, or twice the @fixed bytes that they need, but
 * then at most 1 % of RAM; whichever is largest.
 */
u64 capture_default_memory(u64 fixed);

#endif
