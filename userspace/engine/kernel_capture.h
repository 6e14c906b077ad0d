/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engines that watch this machine's kernel share: their counters are a region (abi.h), the
 * bios in flight are counted separately, and the kernel's own statistics are read as well.
 */
#ifndef ENGINE_KERNEL_CAPTURE_H
#define ENGINE_KERNEL_CAPTURE_H

#include "core/capture.h"
#include "engine/geometry.h"
#include "engine/region.h"

/*
 * The bios in flight of one watch at stage total, where there are no slots. The engine counts those of
 * a part only for the part.
 */
struct bio_counts {
	u64 in_flight;
	u64 earliest_ns;	/* start of the oldest; UINT64_MAX if there is none */
	u64 starts_ns;		/* starts of all, summed modulo 2^64 */
	u64 started;		/* starts before the count; set by kernel_capture_read() */
};

/* The kernel's own count of IOs: when the capture began, and at the last read. */
struct kernel_ios {
	u64 base;
	u64 last;
	bool unsure;		/* IOs ended while the base was read: it is taken anew when the device is at rest */
};

/* By how much the account of a watch fails to close although nothing moves. */
struct gap {
	s64 ios;			/* accounting_gap(); 0: it closes */
	u64 since_ns;			/* when it was first seen */
	bool lost;			/* it has lasted long enough to be a loss */
};

/* What the looks between reads have found, see halts.h. */
struct halts {
	u64 sums;			/* grows with each IO that ends */
	u64 looked_ns, before_ns;	/* the last two looks; 0: there was none */
	u64 from_ns;			/* of the halt that goes on; 0: none does */
	/* IOs ended since the read before the last, or were in flight at the last: only then are the slots looked at */
	bool used;
	bool moved;			/* some of these ended since the last read */
	u32 n;
	struct halt done[HALTS_MOST];
};

/* What is known of a watch beside what it counts; used only for wholes. */
struct watch_state {
	bool gone;			/* its device went away, see gone.h: */
	bool told;			/* the last read has reported it; else it went away since then */
	bool removed;			/* nothing starts there any more */
	bool left;			/* and nothing is being counted: another device may take its place */
	bool replaced;			/* see watch_counts */
	struct snapshot frozen;		/* the last counts of this watch and its parts; empty while it is not gone */
	struct device_files files;	/* open for the first of a device's watches, which are next to each other */
	struct kernel_ios ios;
	struct gap gap;			/* as of the last read without movement */
	struct halts halts;
	u64 told_tag_range;		/* see room_move_outgrown() */
	u64 slow_counted;		/* how many of the slow IOs that were dropped reads have counted */
};

/* The cgroup that has a number, as a capture sees it: see cgroups_leave(). */
struct owner {
	u64 id;			/* 0: none */
	u64 counted;		/* grows whenever something is counted for it */
	u32 step;		/* enum blklat_step */
	u32 quiet;		/* consecutive reads since then with nothing in flight and nothing counted */
};

struct kernel_capture;

/* What an engine does for the code that all engines share. */
struct kernel_hooks {
	/* Fills k->bios with the bios in flight. Returns 0 or a negative errno. */
	int (*count_bios)(struct kernel_capture *k);
	/*
	 * From now on IOs of the @n watches from @at on are counted; these have their ranges of slots. Returns as
	 * live_ops.add does; then nothing is counted there.
	 */
	int (*add)(struct kernel_capture *k, u32 at, u32 n, struct problem *p);
	/* Nothing starts any more at a whole. After k->wait() nothing is counted there, except for bios in flight. */
	void (*remove)(struct kernel_capture *k, u32 whole);
	/*
	 * The @n watches from @at on are all those of a device. Requests that start from now on are in slots @s from
	 * @first on, those of the queue stage behind those of the device stage; or, meanwhile, are counted in
	 * BLKLAT_TAG_RANGE. When it returns, the slots that they had are not used any more. Returns 0, or -ENOSPC if
	 * it can't.
	 */
	int (*move)(struct kernel_capture *k, u32 at, u32 n, const struct slots *s, u32 first);
	/*
	 * After a read of the counters into @s: has slow_take() take what was reported since the last one. Only called
	 * if slow IOs are wanted.
	 */
	int (*read_slow)(struct kernel_capture *k, const struct snapshot *s);
	/* Lists the owners of parts, see cgroups_name(), and lets them go, see cgroups_leave(). */
	int (*list_cgroups)(struct kernel_capture *k, struct blklat_cgroup *list);
	int (*let_go)(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n);
};

/* Engines embed it at the start of their own state, and set up its region. */
struct kernel_capture {
	struct capture capture;
	const struct kernel_hooks *hooks;	/* set by the engine */
	struct region region;
	struct slots *slots;		/* of each watch's device */
	struct watch_state *state;	/* of each watch */
	u32 turn;			/* the whole whose device's queues are looked at next */
	u32 spare;			/* series that CPUs may have for themselves */
	void (*wait)(void *k);		/* see owns_settle(); set by the engine */
	enum blklat_by by;		/* what each watch is divided by */
	u32 parts;			/* number of parts of each whole, which follow it */
	u32 cgroups;			/* number of those parts that are for cgroups */
	struct bio_counts *bios;	/* of each watch; filled by the engine */
	struct owner *owners;		/* [cgroups] */
	u64 idle_gap_ns;		/* 0: pauses are not looked for */
	struct slow_wanted slow;
	struct slow_ios slow_ios;	/* of the last read */
	s64 wall_less_mono_ns;		/* CLOCK_REALTIME less CLOCK_MONOTONIC, as of the last read */
	volatile u64 *slow_from;	/* [watch][op]: the kernel side's limits; set by the engine; NULL: not wanted */
	const volatile u64 *slow_untold;	/* [watch]: slow IOs dropped as the ring was full; set by the engine */
};

/* The whole after whole @i; the whole of a watch. */
static inline u32 next_whole(const struct kernel_capture *k, u32 i)
{
	return i + 1 + k->parts;
}

static inline u32 whole_of(const struct kernel_capture *k, u32 i)
{
	return i - i % (1 + k->parts);
}

/* The kernel has not enough memory for what kernel_capture_init() computed: says so. Returns -ENOMEM. */
int kernel_capture_no_memory(const struct capture *c, struct problem *p);

/*
 * Initializes an engine's state, which is all 0, for @cfg's watches with @rows of accounts: finds how
 * much memory there is, and copies the watches. @is has what only the engine knows: its ops, its live_ops, the CPUs.
 * Returns 0, or a negative errno and a sentence; in both cases kernel_capture_uninit() frees it.
 */
int kernel_capture_init(struct kernel_capture *k, const struct capture *is, const struct capture_config *cfg, u32 rows,
			struct problem *p);
void kernel_capture_uninit(struct kernel_capture *k);

/* True if one of the watches is at @stage. */
bool capture_has_stage(const struct capture *c, enum blklat_stage stage);

/* The engines' live_ops.set_slow. */
void kernel_capture_set_slow(struct capture *c, const u64 *from_ns);

/* Notes the kernel's statistics of @n watches from @at on: to be called when ends are seen and starts not yet. */
void kernel_capture_note_statistics(struct kernel_capture *k, u32 at, u32 n);

/* To be called when starts are seen, if ends were not seen before either: notes whether IOs ended meanwhile. */
void kernel_capture_check_statistics(struct kernel_capture *k, u32 at, u32 n);

/*
 * capture_ops.read, with s->skipped as where nothing is skipped. Then devices that are gone have been reported, and one
 * that has outgrown its slots is given more.
 *
 * If the account of a device at rest does not close, because a CPU is held up in the middle of an end,
 * the device is read again, for up to 21 ms. A virtual CPU can be away for longer. So such reads are
 * marked (see watch_counts.unsettled), and later reads try again for a second. Whatever is still
 * missing then is lost, and no longer waited for.
 */
int kernel_capture_read(struct capture *c, struct snapshot *s, struct problem *p);

/* The bios in flight of a whole and its parts, as last counted, go into @w; their ages are those at @now_ns. */
void kernel_capture_take_bios(const struct kernel_capture *k, u32 whole, u64 now_ns, struct watch_counts *w);

#endif
