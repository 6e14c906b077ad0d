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

struct capture_config {
	/*
	 * Borrowed for the capture's life; a replay does not use it. An engine may find out more of them when it is opened
	 * (shared_tags).
	 */
	struct device_table *devices;
	/*
	 * What to watch: a device's watches in a row, each whole followed by its parts; copied. A replay uses neither
	 * these nor by.
	 */
	struct watch *watches;
	u32 n_watches;
	enum blklat_by by;
	u32 cgroups;			/* by cgroup: the number of those with a part of their own; else 0 */
	int scale;			/* 0..6, or -1: the finest */
	u64 max_memory;			/* bytes; 0: the default, see capture_default_memory() */
	u32 max_bios;			/* room for bios in flight (stage total) */
	bool follow;			/* devices may be added later: there is to be room for some, see live_ops.add */
	u32 doubled;			/* how many times that room, and the one for devices that get more tags, is doubled */
	u64 idle_gap_ns;		/* shortest pause after which an IO counts in after_idle; 0: do not look for pauses */
	struct slow_wanted slow;	/* which IOs to report as slow; a replay does not use it */
	const char *replay_file;	/* replay only */
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
	 * Of the last read: the device that had outgrown its slots, since its user or driver gave it more tags or queues; NULL:
	 * none had. It has been given more slots, and only its IOs in flight at that moment are told as lost (tag_range); or,
	 * with a negative errno, there is no room for that in this capture, only in a new one.
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
	const char *node;		/* the device node that it opens for writing; NULL: none */
	bool sees_pauses;		/* counts IOs after a pause, see capture_config.idle_gap_ns */
	/* Starts the capture, whole or not at all. Returns 0, or a negative errno and a sentence; -ENODEV if a device went away. */
	int (*open)(const struct capture_config *cfg, struct capture **ret, struct problem *p);
	/*
	 * Fills @s, made by snapshot_init() for the capture's watches and scale. Returns 0, or
	 * -ENODATA (a replay is at its end), or another negative errno and a sentence.
	 */
	int (*read)(struct capture *c, struct snapshot *s, struct problem *p);
	/* Ends the capture and leaves nothing behind. Takes NULL. */
	void (*close)(struct capture *c);
};

/*
 * The next early look at a capture that began at @began_ns, after @now_ns; UINT64_MAX: there is no more. A load that is there
 * from the beginning would count in series that all CPUs share until the first read.
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
	 * The kernel has announced a change of devices, or it is time for an early look. IOs of a device that went away are not
	 * counted from here on, since its address may be reused; the next read reports it as gone. CPUs that count most are
	 * given series of their own.
	 */
	void (*look)(struct capture *c);
	/*
	 * Looks, cheaply, whether IOs of each whole are in flight and none has ended since the last look or read: halts, which
	 * the next read reports. A load that catches up within the interval would hide them.
	 */
	void (*glance)(struct capture *c);
	/*
	 * From now on, IOs of whole w and op o are slow if they took @from_ns[w * BLKLAT_OPS + o] or
	 * more. Before the first call only failed IOs are reported. Only called if slow IOs are wanted.
	 */
	void (*set_slow)(struct capture *c, const u64 *from_ns);
	/*
	 * Watches a device that has come, too: @w are its @n watches in a row, copied; its device is in capture.devices. They
	 * become those from *@ret on: at the end of the list, or in place of watches that the last read has reported as gone.
	 * All their counts begin at 0. No other device is touched. Returns 0, or a negative errno and a sentence: -ENODEV if the
	 * device went away, -ENOSPC if there is no room, or only a new capture could watch it.
	 */
	int (*add)(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p);
};

/* An engine of this machine that the user can choose. */
struct capture_engine {
	const struct capture_ops *ops;
	const char *about;		/* a few words for 'check' */
	/* Can it run here and now? Returns 0, or a negative errno and why not and what to do. */
	int (*probe)(struct problem *p);
};

extern const struct capture_ops capture_bpf;
extern const struct capture_ops capture_kmod;
extern const struct capture_ops capture_replay;
extern const struct capture_engine engine_bpf;
extern const struct capture_engine engine_kmod;

/* The engines of this machine in order of preference, ended by NULL. */
extern const struct capture_engine *const capture_engines[];

/* The memory that the counters take. */
struct capture_memory {
	u32 scale;
	u32 spare;		/* series that CPUs may have for themselves: as many as can be used, or as the limit leaves room for */
	u64 limit_bytes;
	u64 fixed_bytes;	/* without those */
	u64 bytes;
};

/*
 * The memory for @cfg's watches on @cpus, with @rows of accounts. Returns 0, or -E2BIG and a sentence that says how much is
 * needed, if what is fixed takes more than the limit; *@ret is set in both cases.
 */
int capture_memory(const struct capture_config *cfg, u32 cpus, u32 rows, struct capture_memory *ret, struct problem *p);

/*
 * Memory the counters may take unless the user says otherwise: 64 MiB, or 0.1 % of RAM, or twice the @fixed bytes that they need
 * but no more than 1 % of RAM; the largest of these.
 */
u64 capture_default_memory(u64 fixed);

#endif
