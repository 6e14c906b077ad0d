/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/* How an engine reports a slow or failed IO. Such an IO is counted as usual as well. */
#ifndef BLKLAT_SLOW_H
#define BLKLAT_SLOW_H

#include "blklat/abi.h"

#define BLKLAT_COMM 16		/* TASK_COMM_LEN */
#define BLKLAT_NAME 44		/* of a file, with the 0 */
#define BLKLAT_NAMES 3

enum blklat_slow_known {
	BLKLAT_SLOW_SECTOR = 1,		/* the sector is known: the IO has a place on the device */
	BLKLAT_SLOW_QUEUE = 2,		/* the hardware queue is known */
	BLKLAT_SLOW_START_CPU = 4,
	BLKLAT_SLOW_SUBMITTER = 8,
	BLKLAT_SLOW_KERNEL_THREAD = 16,	/* the submitter is a kernel thread */
	BLKLAT_SLOW_FILE = 32,		/* the file's name is known */
	BLKLAT_SLOW_DELETED = 64,	/* the file has no name any more; the one that is known is its last */
};

/* What the memory of an IO is, judged by the first page of its first bio. */
enum blklat_pages {
	BLKLAT_PAGES_UNKNOWN,		/* the kernel's own, as of a journal, an encrypted file or a command */
	BLKLAT_PAGES_DIRECT,		/* a process's: direct IO, or swapping */
	BLKLAT_PAGES_FILE,		/* a file's page cache */
	BLKLAT_PAGES_DEVICE,		/* a block device's page cache: a file system's metadata, or IO on the device */
	BLKLAT_PAGES_KINDS
};

struct blklat_slow {
	__u64 end_ns;		/* CLOCK_MONOTONIC */
	__u64 latency_ns;	/* of the stage */
	__u64 queue_ns;		/* of the other stages, if watched and known; else 0 */
	__u64 device_ns;
	__u64 sector;		/* in units of 512 bytes, from the start of the whole device */
	__u64 cgroup;		/* id of the cgroup that is charged for it, as in struct blklat_cgroup; 0: not known */
	__u32 watch;		/* number of the watch, or of its part */
	__u32 bytes;		/* if a part of the request ended earlier: only the rest */
	__s32 error;		/* 0, a blk_status_t, or before Linux 5.16 a negative errno */
	__u32 submitter;	/* process (tgid) that sent it */
	__u16 hw_queue;
	__u16 start_cpu;	/* on which it was sent */
	__u16 end_cpu;
	__u8 op;		/* enum blklat_op */
	__u8 known;		/* bit set of enum blklat_slow_known */
	char comm[BLKLAT_COMM];	/* that process's command */
	/*
	 * Its company (parts.h). Known only where IOs in flight are counted (blklat_counts_in_flight()), whether
	 * they divide the watch by depth or by neighbour.
	 */
	__u32 depth;		/* IOs in the stage when this one began it, including it; 0: not known */
	__u8 beside;		/* enum blklat_kind: the strongest among the others; 0: not known */
	__u8 flags;		/* enum blklat_flags_part: the class of its flags (parts.h); 0: not known */
	__u8 pages;		/* enum blklat_pages */
	__u8 pad;
	__u64 inode;		/* the file's; 0: not known */
	__u32 file_dev;		/* of the file's file system, or the block device: major << 20 | minor; 0: not known */
	/*
	 * With BLKLAT_SLOW_FILE, the last names of its path: its own (one of them, if it has several), its folder's,
	 * that one's folder's. Longer ones are cut. The root's name is "/", and its folder is the root.
	 */
	char names[BLKLAT_NAMES][BLKLAT_NAME];
};
_Static_assert(sizeof(struct blklat_slow) == 240, "no padding");

/*
 * The place, below 2^(32 - @shift), for what an engine notes of a bio; @low: the lower half of its address or number.
 * Two products, as with one alone the difference of two addresses decides: at some distances all bios of two pages
 * would share their places, and a burst loses many notes at once instead of now and then one.
 */
static inline __u32 blklat_note_place(__u32 low, __u32 shift)
{
	low *= 0x9e3779b1;
	low ^= low >> 15;
	return low * 0x85ebca6b >> shift;
}

/*
 * The kernel module's ring. Reports are numbered from 0, modulo 2^32; report n has place n modulo the
 * number of places. Any CPU may report next, so a report first gets its number and then fills its
 * place. The reader takes reports in order, as far as they are filled, and says how far it got; places
 * that it has not yet read are never overwritten. A report that finds no place is dropped and counted
 * (slow_untold in abi.h).
 */
struct blklat_slow_place {
	struct blklat_slow io;
	__u32 next;		/* number of the report + 1, written last */
	__u32 pad;
};

struct blklat_slow_ring {
	__u32 taken;		/* number of the first report not read yet; written by userspace, read by the kernel */
	__u32 pad[31];		/* a pair of cache lines of its own */
	struct blklat_slow_place place[];
};
_Static_assert(sizeof(struct blklat_slow_place) == 248 && sizeof(struct blklat_slow_ring) == 128, "no padding");

#define BLKLAT_SLOW_RING_BYTES(places) (sizeof(struct blklat_slow_ring) + (places) * sizeof(struct blklat_slow_place))

#endif
