/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/* A slow IO, or one that failed, as an engine tells it: beside what is counted, which has it as well. */
#ifndef BLKLAT_SLOW_H
#define BLKLAT_SLOW_H

#include "blklat/abi.h"

#define BLKLAT_COMM 16		/* TASK_COMM_LEN */

enum blklat_slow_known {
	BLKLAT_SLOW_SECTOR = 1,		/* it has a place on the device */
	BLKLAT_SLOW_QUEUE = 2,		/* by which hardware queue it went */
	BLKLAT_SLOW_START_CPU = 4,
	BLKLAT_SLOW_SUBMITTER = 8,
	BLKLAT_SLOW_KERNEL_THREAD = 16,	/* and that is one of the kernel's */
};

struct blklat_slow {
	__u64 end_ns;		/* CLOCK_MONOTONIC */
	__u64 latency_ns;	/* of the stage */
	__u64 queue_ns;		/* of the other stages, where they are watched and known; else 0 */
	__u64 device_ns;
	__u64 sector;		/* of 512 bytes, of the whole device */
	__u64 cgroup;		/* the id of who is charged for it, as in struct blklat_cgroup; 0: not known */
	__u32 watch;		/* number of the watch, or of its part */
	__u32 bytes;		/* of a request of which a part has ended before, the rest */
	__s32 error;		/* 0, a blk_status_t, or before Linux 5.16 a negative errno */
	__u32 submitter;	/* process (tgid) that sent it */
	__u16 hw_queue;
	__u16 start_cpu;	/* that it was sent on */
	__u16 end_cpu;
	__u8 op;		/* enum blklat_op */
	__u8 known;		/* bit set of enum blklat_slow_known */
	char comm[BLKLAT_COMM];	/* that process's command */
};
_Static_assert(sizeof(struct blklat_slow) == 88, "no padding");

/*
 * The kernel module's ring. What is told has a number, from 0 on modulo 2^32, and stands at that modulo the places. Any CPU may be
 * the next to tell, so a number is given first, and its place filled then: the reader takes one after the other as long as each is there,
 * and says so; what is not taken yet has its place for itself. If there is none left, that is counted (slow_untold in abi.h).
 */
struct blklat_slow_place {
	struct blklat_slow io;
	__u32 next;		/* its number + 1, written last */
	__u32 pad;
};

struct blklat_slow_ring {
	__u32 taken;		/* number of the first that is not taken; userspace's, the kernel only reads it */
	__u32 pad[31];		/* a pair of cache lines of its own */
	struct blklat_slow_place place[];
};
_Static_assert(sizeof(struct blklat_slow_place) == 96 && sizeof(struct blklat_slow_ring) == 128, "no padding");

#define BLKLAT_SLOW_RING_BYTES(places) (sizeof(struct blklat_slow_ring) + (places) * sizeof(struct blklat_slow_place))

#endif
