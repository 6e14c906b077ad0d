/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF programs share with userspace/capture/bpf*.c beyond abi.h: how they are set up. */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

#include "blklat/abi.h"

/*
 * One watched thing that an IO points to: a request queue or gendisk (whole device) or a block_device
 * (partition). The table of these is a hash without collisions: userspace picks cfg_hash_factor so
 * that each key has a bucket of its own, so that one look tells any IO's device.
 */
struct target {
	__u64 key;			/* address in the kernel; 0: an empty bucket, or the device went away */
	__u32 watch[BLKLAT_STAGES];	/* number of the watch + 1; 0: stage not watched */
	/* Slots of the device: see blklat_slots in abi.h. */
	__u32 first_slot;		/* of stage device; those of stage queue follow, if watched */
	__u32 queues;
	__u32 stride;			/* slots a hardware queue */
	__u32 tags;			/* driver tags; the scheduler's follow */
	__u32 pad[7];			/* one cache line */
};

#define BLKLAT_TARGET_BITS 14		/* largest hash */

/* A bio between queue and completion. */
struct bio_start {
	__u64 ns;
	__u32 bytes;
	__u32 op;
	__u32 watch[2];			/* number + 1 of the whole device's and the partition's watch */
};

#endif
