/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's own state. bpf_setup.c sets it up, bpf.c reads and closes it. */
#ifndef ENGINE_BPF_ENGINE_H
#define ENGINE_BPF_ENGINE_H

#include "../bpf/capture.h"
#include "../bpf/find.h"
#include "core/capture.h"
#include "core/device.h"
#include "engine/bpf_probe.h"
#include "engine/geometry.h"
#include "engine/kernel_capture.h"
#include "engine/region.h"
#include "util/types.h"

/*
 * How many standbys a tracepoint has: each that is attached costs, and each that is not may miss an event when the
 * kernel skips the programs before it (bpf/counters.bpf.h). Pure.
 */

/* What a tracepoint's programs meet. */
struct standby_need {
	bool unguarded;		/* the kernel skips nothing */
	bool preemptible;	/* a task inside a program may be preempted by another one that runs it too */
	bool starts;		/* IOs start there; else they end */
	int asked;		/* the user's number; -1: as needed */
};

struct standbys {
	u32 at_first, at_rest;
	/* when a skip was last seen, or a program attached or detached: see standbys_changed() */
	u64 since_ns, since_ios;
};

void standbys_init(struct standbys *s, const struct standby_need *need);

/* A program was attached or detached at @now_ns of CLOCK_MONOTONIC, when @ios IOs had started in the capture. */
void standbys_changed(struct standbys *s, u64 now_ns, u64 ios);

/*
 * Returns how many of @n standbys there are to be, at most one more or one less: one more where the last program was
 * skipped, before an event is missed; one less after 10 s and a million IOs without a skip. @first_skipped,
 * @last_skipped: since the last change, the first and the last of the programs.
 */
u32 standbys_wanted(struct standbys *s, u32 n, bool first_skipped, bool last_skipped, u64 now_ns, u64 ios);

/* --- the hash of targets in which the BPF programs look up IOs --- */

struct targets {
	u32 n, room;
	struct target *list;	/* its key is 0: not used, or its device went away */
	u32 *bucket;		/* for each in the list, its bucket in the hash */
	u32 bits;		/* the hash has 2^bits buckets */
	u32 factor[2];		/* bucket = (u32)key * factor >> (32 - bits); the second is 0 if one lookup is enough */
	struct target *table;	/* the hash that the programs use; NULL: not mapped yet */
};

/* The watches of a capture that targets are made for, with their slots. Parts have no targets. */
struct targets_of {
	const struct watch *watches;
	const struct slots *slots;
	const struct region_slots *ranges;
};

/*
 * Lists the targets of the first @n watches and gives each a bucket of its own, by the first factor or else by the
 * second. @found[i] has the kernel's pointers for the device of watch i. @room: how many watches there may be; if
 * more than n, there are enough buckets for others to find one. Returns 0, -ENOMEM, or -E2BIG and a sentence.
 */
int targets_make(struct targets *t, const struct targets_of *of, const struct found_device *found, u32 n, u32 room,
		 struct problem *p);
void targets_free(struct targets *t);

/* Fills the table, which the programs do not use yet. */
void targets_fill(struct targets *t);

/*
 * Adds the targets of watches @at to @at + n - 1, of one device, to the list and the table, where programs find them
 * at once. Returns 0, or -ENOSPC if one has no bucket; then none was added.
 */
int targets_add(struct targets *t, const struct targets_of *of, const struct found_device *found, u32 at, u32 n);

/*
 * Programs that start from now on do not find the targets of watch @i. @reuse: others may take their places, as those
 * programs that found them will have ended by then.
 */
void targets_drop(struct targets *t, u32 i, bool reuse);

/*
 * Programs use the slots @s from @first on for the targets of watches @at to @at + n - 1. @wait() returns when all
 * programs that were running have ended; those that run meanwhile find no slot.
 */
void targets_move(struct targets *t, u32 at, u32 n, const struct slots *s, u32 first, void (*wait)(void *arg));

struct blklat;	/* the skeleton */

struct bpf_map;
struct bpf_slow;	/* in bpf_slow.c */

struct mapping {
	void *at;
	size_t bytes;
};

/*
 * Maps an array's elements, n at n * its value's size rounded up to 8. Returns 0 or a negative errno. A mapping that is
 * all 0 can be unmapped.
 */
int mapping_map(struct mapping *m, const struct bpf_map *map);
void mapping_unmap(struct mapping *m);

/* A tracepoint's attached programs, and how many of their runs the kernel skipped. */
struct bpf_chain {
	u32 n;				/* the first program and its standbys */
	u64 base[1 + BPF_STANDBYS];	/* skipped runs of each program when the last one was attached */
	u64 skipped;			/* skipped runs until then for which perhaps no other program stepped in */
	struct standbys standbys;
};

struct bpf_capture {
	struct kernel_capture kernel;
	struct blklat *skel;
	struct kernel_traits traits;
	struct targets targets;
	bool shares_cgroups;	/* it holds the maps of these, see bpf_cgroups.c */
	int table_fd;		/* the map in which the programs look up targets; -1: not made yet */
	bool hides_splits;	/* see bpf_hides_splits() */
	struct bpf_finder *finder;	/* in bpf_find.c; NULL: no devices are added */
	struct device_table *devices;	/* borrowed, to note what is found out about them */
	struct mapping table, series, own, accounts, slots, idle, bios;
	struct bpf_slow *slow;	/* NULL: slow IOs are not wanted */
	struct bpf_chain chains[BPF_EVENTS];
};

/*
 * Loads the programs for the capture's watches and maps their counters; nothing is attached yet.
 * Returns 0, or a negative errno and a sentence. The engine's close undoes it in both cases.
 */
int bpf_setup(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p);

/*
 * Asks the kernel which devices of @n watches, those with several hardware queues, have shared tags (struct device),
 * where that is not known: who may load programs may not be able to read debugfs. Before their slots are computed.
 * Returns 0, or a negative errno and a sentence.
 */
int bpf_learn_shared_tags(struct bpf_capture *b, const struct watch *w, u32 n, struct problem *p);

/* Whether stage total of such a device is watched: see device_hides_splits(). */
bool bpf_hides_splits(const struct capture *c);

/* See struct kernel_hooks. */
int bpf_add(struct kernel_capture *k, u32 at, u32 n, struct problem *p);

/* --- the BPF engine's table of bios in flight, stages total and wait: cells or, on kernels before 5.12, a hash --- */

/* Counts the bios in the cells for each of @n watches. A whole and its parts are @each of them. */
void bios_count_cells(const struct bio_bucket *buckets, u32 n_buckets, struct bio_counts *counts, u32 n, u32 each);

/* Counts the hash's bios for each of @n watches. Returns 0 or a negative errno. */
int bios_count_hash(int map_fd, struct bio_counts *counts, u32 n, u32 each);

/*
 * The programs of the BPF engine: which of them a capture uses, when they are attached, and how often the kernel
 * skipped them. A tracepoint has a first program and, on kernels that skip runs, standbys for it.
 */

/* Before the skeleton is loaded: leaves out programs that this capture or this kernel does not need. */
void bpf_choose_programs(struct bpf_capture *b);

/*
 * After that: leaves out the barriers of a CPU that is not x86 if the kernel does not take what they are made of
 * (arm64 before 5.18, 1902472b4fa9). Without them a read may see an IO too early, see bpf/slots.bpf.h. Returns 0 or a
 * negative errno.
 */
int bpf_fit_programs(struct bpf_capture *b);

/*
 * Attach the programs that see IOs end, then those that see them start, so that an IO that is seen to start is seen to
 * end. Those of ends have a standby at first; where tracepoints can be preempted, all have two. Return 0, or a negative
 * errno and a sentence; what was attached is detached when the skeleton is destroyed.
 */
int bpf_attach_ends(struct bpf_capture *b, struct problem *p);
int bpf_attach_starts(struct bpf_capture *b, struct problem *p);

/* Whether bpf_wait_for_programs() can wait: not if some CPUs must not be disturbed (nohz_full). */
bool bpf_can_wait(void);

/*
 * Waits until all programs that are running now have ended. In tracepoints they are RCU readers. @unused: see
 * owns_settle().
 */
void bpf_wait_for_programs(void *unused);

/*
 * Returns the number of events that all programs of a tracepoint may have missed: the kernel skipped
 * each of them at least that often. Attaches and detaches standbys, see standbys_wanted(). @ios: how many IOs have
 * started in this capture, on all devices.
 */
u64 bpf_skipped_runs(struct bpf_capture *b, u64 ios);

/* --- the maps of cgroups and their parts, shared by all captures of this process that divide by cgroup --- */

/* Before the programs are loaded: sizes the maps, or reuses the existing ones. Returns 0 or a negative errno. */
int bpf_cgroups_share(struct bpf_capture *b);

/*
 * After loading: keeps the maps that the first capture made until the last capture is closed. Returns 0 or a negative
 * errno.
 */
int bpf_cgroups_hold(struct bpf_capture *b);
void bpf_cgroups_release(struct bpf_capture *b);

/* See struct kernel_hooks. */
int bpf_cgroups_list(struct kernel_capture *k, struct blklat_cgroup *list);
int bpf_cgroups_let_go(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n);

/* --- the kernel's pointers for devices, see bpf/find.bpf.c --- */

/* Finds devices as often as it is needed. */
struct bpf_finder;

/* @before_5_11 as in struct kernel_traits. Returns 0, or a negative errno and a sentence. */
int bpf_finder_open(struct bpf_finder **ret, bool before_5_11, struct problem *p);
void bpf_finder_close(struct bpf_finder *f);	/* takes NULL */

/*
 * Fills ret[i] for each of the @n devices (fd is set to i). Opens only their directories in sysfs.
 * Returns 0, or a negative errno and a sentence (-ENODEV: one of them is gone).
 */
int bpf_find_devices(struct bpf_finder *f, const struct device *const *devices, u32 n, struct found_device *ret,
		     struct problem *p);

/* --- the ring in which the BPF programs report slow IOs --- */

/* Before the programs are loaded: configures them, and sizes their maps for @room. */
void bpf_slow_size(struct bpf_capture *b, const struct slow_room *room);

/*
 * After loading: maps the ring; no IO is slow yet, see live_ops.set_slow. Both functions do nothing if
 * slow IOs are not wanted. Returns 0 or a negative errno.
 */
int bpf_slow_map(struct bpf_capture *b);
void bpf_slow_unmap(struct bpf_capture *b);

/* live_ops.set_slow */
void bpf_slow_set(struct capture *c, const u64 *from_ns);

/* See kernel_hooks.read_slow. */
int bpf_slow_read(struct kernel_capture *k, const struct snapshot *s);

#endif
