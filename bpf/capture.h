/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF programs share with userspace/engine/bpf*.c beyond abi.h: how they are set up. */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

#include "blklat/abi.h"
#include "blklat/slow.h"

/*
 * One watched thing that an IO points to: a request queue or gendisk (whole device) or a block_device
 * (partition). The table of these is a hash without collisions: userspace picks cfg_hash_factor so
 * that each key has a bucket of its own, so that one look tells any IO's device. For more than some
 * hundreds there is no such factor; then a key stands in one of two buckets, by either of two factors.
 */
struct target {
	__u64 key;			/* address in the kernel; 0: an empty bucket, or the device went away */
	__u32 watch[BLKLAT_STAGES];	/* number of the watch + 1; 0: stage not watched */
	/* Slots of the device: see blklat_slots in abi.h. */
	__u32 first_slot;		/* of stage device; those of stage queue follow, if watched */
	__u32 queues;
	__u32 stride;			/* slots a hardware queue */
	__u32 tags;			/* driver tags; the scheduler's follow */
	__u32 pad;
	/*
	 * When a request of it was last issued or ended, to within a ms; 0: not known. The programs write
	 * it, and only while pauses are looked for (pauses.bpf.h).
	 */
	__u64 seen_ns;
	__u64 fill[2];
};
_Static_assert(sizeof(struct target) == 64, "one cache line");
_Static_assert(BLKLAT_STAGE_DEVICE == 0 && BLKLAT_STAGE_QUEUE == 1, "the slots' stages come first, in this order");

/*
 * What to do at an event. Each mode has its own code, and the verifier removes all but one: asking whether a single thing
 * is wanted takes two instructions, even if the verifier knows the answer.
 */
enum mode {
	MODE_DEVICE,		/* only stage device of whole devices, and block_rq_issue has only the request */
	MODE_DEVICE_PAUSES,	/* the same, looking for pauses */
	MODE_DISKS,		/* any stage, of whole devices */
	MODE_PARTITIONS,	/* any stage, of these and of partitions */
	MODE_PARTS,		/* the same, and watches have parts */
};

/* A watch's IOs in flight, by enum blklat_kind - 1. */
struct in_flight {
	__u64 of_kind[8];
};

#define BLKLAT_TARGET_BITS 14		/* largest hash with one look: 1 MiB */

/*
 * The tracepoints that a capture may have programs on, in the order in which these are attached. Each has a first
 * program and up to BPF_STANDBYS that stand by for it, see counters.bpf.h.
 */
enum bpf_event {
	BPF_RQ_COMPLETE,
	BPF_RQ_REQUEUE,
	BPF_BIO_COMPLETE,
	BPF_RQ_ISSUE,
	BPF_RQ_MERGE,
	BPF_RQ_INSERT,
	BPF_BIO_QUEUE,
	BPF_EVENTS,
};
#define BPF_FIRST_START BPF_RQ_ISSUE	/* IOs end at the events before it, and start there and at those behind */

#define BPF_STANDBYS 3

/* A bio between queue and completion. */
struct bio_start {
	__u64 ns;			/* 0: none; perhaps with BLKLAT_SLOT_SEEN */
	__u32 bytes;
	__u8 op;
	__u8 after_idle[2];		/* for each of the two: queued after a pause */
	__u8 held;			/* a limit may hold it back, and block_bio_queue has yet to come */
	__u32 watch[2];			/* number + 1 of the whole device's and the partition's watch, or of its part */
};

/*
 * The table of bios: cells in buckets. A bio's address gives two buckets; it is in the first of their cells that was free.
 * Whoever changes the key of a cell from 0 by compare-and-exchange owns it. ns is written last, and taken back first at
 * the end. Half of the cells are for max_bios, the others are there to stay free.
 */
struct bio_cell {
	__u64 key;			/* stands for the bio's address; 0: free */
	struct bio_start start;
};

#define BIO_BUCKET 8
struct bio_bucket {
	struct bio_cell cell[BIO_BUCKET];
};
_Static_assert(sizeof(struct bio_bucket) == 4 * 64, "a bucket is four whole cache lines");

/* Who sent a bio, and what is known of it; see slow.bpf.h. */
struct note {
	__u64 bio;			/* its number; 0: nobody's, or it is being written */
	__u64 sector;
	__u64 cgroup;
	__u64 queue_ns;			/* what its request took in the stages, as they end */
	__u64 device_ns;
	__u32 submitter;
	__u16 cpu;
	__u8 known;
	__u8 pad;
	char comm[BLKLAT_COMM];
};
_Static_assert(sizeof(struct note) == 64, "one cache line");

#endif
