/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/* Which part of a watch (abi.h) an IO belongs to, for both engines. Parts are numbered from 1; 0 is the whole. */
#ifndef BLKLAT_PARTS_H
#define BLKLAT_PARTS_H

#include "blklat/abi.h"
#include "blklat/bins.h"

/*
 * By size: bytes rounded up to a power of two, 4 KiB and less, 8 KiB, ... 512 KiB, 1 MiB and what is more. So a part holds what is
 * up to twice as large as that of the one before, and an IO of just a power of two is the largest of its part. @bytes is at
 * most 2^40.
 */
#define BLKLAT_SIZE_PARTS 9
#define BLKLAT_SIZE_LEAST_SHIFT 12	/* 4 KiB */

static inline __u32 blklat_size_part(__u64 bytes)
{
	__u32 part;

	if (bytes <= 1U << BLKLAT_SIZE_LEAST_SHIFT)
		return 1;
	part = blklat_log2(bytes - 1) - BLKLAT_SIZE_LEAST_SHIFT + 2;
	return part < BLKLAT_SIZE_PARTS ? part : BLKLAT_SIZE_PARTS;
}

/* How many parts a watch is divided into; 0: it is not. */
static inline __u32 blklat_parts(__u32 by)
{
	return by == BLKLAT_BY_SIZE ? BLKLAT_SIZE_PARTS : 0;
}

#endif
