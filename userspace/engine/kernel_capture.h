/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engines that watch this machine's kernel share: their counters are a region (abi.h), bios
 * in flight are counted apart, and the kernel's own statistics are read as well.
 */
#ifndef ENGINE_KERNEL_CAPTURE_H
#define ENGINE_KERNEL_CAPTURE_H

#include "core/capture.h"
#include "engine/region.h"

/* The bios in flight of one watch, stage total: what the slots are to requests. The engine counts those of a part there alone. */
struct bio_counts {
	u64 in_flight;
	u64 earliest_ns;	/* start of the oldest; UINT64_MAX when there is none */
	u64 starts_ns;		/* starts of all, summed modulo 2^64 */
	u64 started;		/* starts before the count; kernel_capture_read()'s */
};

/* The kernel's own count of IOs: when the capture began, and as it was read last. */
struct kernel_ios {
	u64 base;
	u64 last;
};

/* A watch whose device went away. */
struct gone_watch {
	bool gone;
	bool told;		/* by the last read; else it was seen to go since */
	bool replaced;		/* see watch_counts */
	struct snapshot frozen;	/* of this watch and its parts alone: what there was then; empty while it is not gone */
};

/* By how much a watch does not add up though nothing moves. */
struct gap {
	s64 ios;			/* accounting_gap(); 0: it does */
	u64 since_ns;			/* when it was seen first */
	bool lost;			/* it has been so for long enough */
};

/* The cgroup that has a number, as a capture has seen it: see cgroups_leave(). */
struct owner {
	u64 id;			/* 0: nobody */
	u64 counted;		/* what grows whenever something of it is counted */
	u32 step;		/* enum blklat_step */
	u32 quiet;		/* reads since then that found nothing in flight, nor anything counted, in a row */
};

/* Engines embed it at the start of their own state, and set up its region. */
struct kernel_capture {
	struct capture capture;
	struct region region;
	enum blklat_by by;		/* what each watch is divided by */
	u32 parts;			/* into so many, which follow it */
	u32 cgroups;			/* of these, those that cgroups have */
	struct snapshot carry;		/* to be added to what is read, see capture_join(); or empty */
	struct bio_counts *bios;	/* of each watch; the engine's to fill */
	struct owner *owners;		/* [cgroups] */
	u64 idle_gap_ns;		/* 0: pauses are not looked for */
	struct slow_wanted slow;
	struct slow_ios slow_ios;	/* of the last read */
	s64 wall_less_mono_ns;		/* in that, CLOCK_REALTIME less CLOCK_MONOTONIC */
	volatile u64 *slow_from;	/* [watch][op]: what the kernel side takes for slow, see live_ops.set_slow; the engine's to set */
	const volatile u64 *slow_untold;	/* [watch]: those that found its ring full; the engine's to set */
	u64 *slow_counted;		/* [watch]: of these, those that were counted by a read */
	/* Of each watch, used where it is a whole: */
	struct kernel_ios *ios;
	struct gone_watch *gone;
	struct device_files *files;	/* open at the first of those of a device, which stand together */
	struct gap *gaps;		/* when it was still last */
	u64 *rested_at;			/* see region_read() */
};

/* The whole behind whole @i, and from a watch to its whole. */
static inline u32 next_whole(const struct kernel_capture *k, u32 i)
{
	return i + 1 + k->parts;
}

static inline u32 whole_of(const struct kernel_capture *k, u32 i)
{
	return i - i % (1 + k->parts);
}

/*
 * Begins an engine's state, zeroed before, for @cfg's watches with @rows of counters: chooses the scale, copies
 * the watches. @is has what the engine knows: its ops, what is live of it, the CPUs. Returns 0, or a negative
 * errno and a sentence; kernel_capture_uninit() frees what there is either way.
 */
int kernel_capture_init(struct kernel_capture *k, const struct capture *is, const struct capture_config *cfg, u32 rows,
			struct problem *p);
void kernel_capture_uninit(struct kernel_capture *k);

/* True when one of the watches is at @stage. */
bool capture_has_stage(const struct capture *c, enum blklat_stage stage);

/* The engines' live_ops.set_slow. */
void kernel_capture_set_slow(struct capture *c, const u64 *from_ns);

/* Notes what the kernel's statistics say: to be called once ends are seen, before starts are. */
void kernel_capture_note_statistics(struct kernel_capture *k);

/*
 * Reads everything into @s but s->skipped. @count_bios fills k->bios with the bios in flight; it
 * returns 0 or a negative errno, which is returned with a sentence. A device at rest that does not add up, since
 * a CPU was held up in the middle of an end, is read again, for up to 21 ms. A virtual CPU can be away for longer, so reads are
 * marked (see watch_counts.unsettled) and tried again for a second; what is missing then is lost, and not waited for any more.
 */
int kernel_capture_read(struct kernel_capture *k, struct snapshot *s, int (*count_bios)(struct kernel_capture *k),
			struct problem *p);

/*
 * For an engine's look: notes which devices went away since the last look or read, and waits up to 20 ms for what they have
 * in flight, as nothing takes their place before that ends. Returns whether there are any. If so, the engine stops counting
 * them, as far as it can, and calls kernel_capture_freeze(), after which their figures stay.
 */
bool kernel_capture_find_gone(struct kernel_capture *k);
void kernel_capture_freeze(struct kernel_capture *k, int (*count_bios)(struct kernel_capture *k));

/* Ends a read: what has gone is told now. */
void kernel_capture_end(struct kernel_capture *k);

#endif
