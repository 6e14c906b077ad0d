/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF programs share with userspace/engine/bpf*.c beyond abi.h: how they are set up. */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

#include "blklat/abi.h"
#include "blklat/slow.h"

/*
 * Something watched that an IO points to: a request queue or gendisk (whole device) or a block_device
 * (partition). The table of targets is a hash without collisions: userspace picks cfg_hash_factor so
 * that each key has its own bucket, and a single lookup finds any IO's device. For more than a few
 * hundred keys there is no such factor. Then each key is in one of two buckets, given by two factors.
 */
struct target {
	__u64 key;			/* address in the kernel; 0: an empty bucket, or the device went away */
	__u32 watch[BLKLAT_STAGES];	/* number of the watch + 1; 0: stage not watched */
	/* Slots of the device: see blklat_slots in abi.h. */
	__u32 first_slot;
	__u32 queues;
	__u32 stride;			/* slots of a hardware queue */
	__u32 distance;			/* from them to the next one's: stride; 0: shared tags, all have the same */
	/*
	 * When a request of it was last issued or ended, to within a ms; 0: not known. The programs write
	 * it, and only while pauses are looked for (pauses.bpf.h).
	 */
	__u64 seen_ns;
	__u32 fill[4];
};
_Static_assert(sizeof(struct target) == 64, "one cache line");

/*
 * Which code an event runs. Each mode has its own copy of the code, and the verifier removes all copies
 * but one. Testing for a feature takes two instructions, even where the verifier knows the result. The
 * first two modes have no such test.
 */
enum mode {
	MODE_DEVICE,		/* only stage device of whole devices; block_rq_issue has only the request */
	MODE_DEVICE_SLOW,	/* the same, with slow IOs */
	MODE_DEVICE_MORE,	/* the same, with pauses or parts, and perhaps slow IOs */
	MODE_DISKS,		/* any stage, whole devices only */
	MODE_PARTITIONS,	/* any stage, whole devices and partitions */
	MODE_PARTS,		/* the same, divided into parts */
};

/* A watch's IOs in flight; the index is enum blklat_kind - 1. */
struct in_flight {
	__u64 of_kind[7];	/* unused if they are of one kind */
	__u64 all;
};

#define BLKLAT_TARGET_BITS 14		/* largest hash with a single lookup: 1 MiB */

/*
 * The tracepoints that a capture may have programs on, in the order in which the programs are attached.
 * Each tracepoint has a first program and up to BPF_STANDBYS standbys, see counters.bpf.h.
 */
enum bpf_event {
	BPF_RQ_COMPLETE,
	BPF_RQ_REQUEUE,
	BPF_BIO_COMPLETE,
	BPF_RQ_ISSUE,
	BPF_RQ_MERGE,
	BPF_RQ_INSERT,
	BPF_BIO_GETRQ,
	BPF_BIO_BACKMERGE,
	BPF_BIO_FRONTMERGE,
	BPF_BIO_SPLIT,
	BPF_BIO_REMAP,
	BPF_BIO_QUEUE,
	BPF_EVENTS,
};
/* IOs end at the events before it, and start, or get a request, at it and those after it */
#define BPF_FIRST_START BPF_RQ_ISSUE

#define BPF_STANDBYS 3

/*
 * A bio between queue and completion, or a piece that was split off such a bio: see bio_cells.bpf.h. A piece has no
 * watch, and the key of its bio as the time.
 */
struct bio_start {
	__u64 ns;			/* 0: none; perhaps with BLKLAT_SLOT_SEEN */
	__u32 bytes;
	union {
		struct {
			__u8 op : 3;
			__u8 after_idle : 2;	/* bit i: in the i-th of the two watches, queued after a pause */
			__u8 held : 1;		/* a limit may hold it back, and block_bio_queue has yet to come */
			__u8 waits : 2;		/* bit i: of the i-th of the two watches, stage wait has not ended */
			__s8 error;		/* of a piece that failed: a blk_status_t or a negative errno */
			__u16 pieces;		/* that have not ended; a piece has 1 here. The top bit: BIO_ITSELF */
		};
		__u32 state;		/* all of these, for atomic additions to the pieces */
	};
	__u32 watch[2];			/* number + 1 of the whole device's and the partition's watch, or of its part */
};
_Static_assert(sizeof(struct bio_start) == 24, "as small as before pieces were counted");

#define BIO_PIECE (1U << 16)		/* in state: one piece */
#define BIO_ITSELF (1U << 31)		/* in state: what remained of the bio has ended, some pieces have not */
#define BIO_PIECES_MAX 0x7fff

/*
 * The table of bios: cells in buckets. A bio's address gives two buckets; the bio is in the first free one of the first
 * bucket's usual cells, else of the second one's, else of the first one's. So few buckets are ever full: with max_bios
 * in flight, for which half of the cells are, at most 0.004 % of bios find no room (unit test as_many_as_promised: bios
 * of 192 bytes and more in slabs at random addresses, each used up). A program owns a cell when it has changed its key
 * from 0 by compare-and-exchange. ns is written last, and cleared first when the bio ends.
 */
struct bio_cell {
	__u64 key;			/* stands for the bio's address; 0: free */
	struct bio_start start;
};

#define BIO_BUCKET 8
#define BIO_USUAL 6
/*
 * Of @mask + 1, for the lower half of a key. First buckets are in the order of the bios' addresses, so that bios which
 * an allocator gives and takes one after the other, those of a few slabs, use a few pages of the table, whose
 * translations stay in the caches. One bucket stands for 207 bytes, not 256: bios at any power of two from each other
 * use all buckets. Second buckets are anywhere. 2^15 and 2^32 / golden ratio: Knuth's multiplicative hashing. (A mask,
 * as BPF's shifts by what is only known when the program is loaded take several instructions of x86.)
 */
#define BIO_BUCKET_NUMBER(low, choice, mask) ((__u32)((low) * ((choice) ? 0x9e3779b1ull : 20251ull) >> 22) & (mask))
struct bio_bucket {
	struct bio_cell cell[BIO_BUCKET];
};
_Static_assert(sizeof(struct bio_bucket) == 4 * 64, "a bucket is four whole cache lines");

#define NOTE_CLAIMED 1			/* no bio's number: those are multiples of 4 */

/* What is known of a bio and its sender; see slow.bpf.h. */
struct note {
	__u64 bio;			/* number of the bio; 0: unused; NOTE_CLAIMED: being written */
	__u64 sector;
	__u64 cgroup;
	__u64 queue_ns;			/* time of its request in each stage, written when the stage ends */
	__u64 device_ns;
	__u32 submitter;
	__u16 cpu;
	__u8 known;
	__u8 flags;			/* enum blklat_flags_part */
	char comm[BLKLAT_COMM];
};
_Static_assert(sizeof(struct note) == 64, "one cache line");

/*
 * The company of a bio (parts.h) in each of its two watches: the lower half. The upper half is the lower one
 * of the bio's number, so each value says whose it is.
 */
struct bio_company {
	__u64 of[2];
};

#endif
