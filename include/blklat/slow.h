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

#endif
