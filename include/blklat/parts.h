/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/* Which part of a watch (abi.h) an IO belongs to, for both engines. Parts are numbered from 1; 0 is the whole. */
#ifndef BLKLAT_PARTS_H
#define BLKLAT_PARTS_H

#include "blklat/abi.h"
#include "blklat/bins.h"

/* The octave of @n, from 1: the first ends at 2^@first, each of the others at twice the end of the one before. */
static inline __u32 blklat_octave_up_to(__u64 n, __u32 first)
{
	return n <= 1ULL << first ? 1 : blklat_log2(n - 1) - first + 2;
}

/*
 * By size: bytes rounded up to a power of two: up to 4 KiB, 8 KiB, ... 512 KiB, and more than 512 KiB.
 * So an IO whose size is exactly a power of two is the largest of its part. @bytes is at most 2^40.
 */
#define BLKLAT_SIZE_PARTS 9
#define BLKLAT_SIZE_LEAST_SHIFT 12	/* 4 KiB */

static inline __u32 blklat_size_part(__u64 bytes)
{
	__u32 part = blklat_octave_up_to(bytes, BLKLAT_SIZE_LEAST_SHIFT);

	return part < BLKLAT_SIZE_PARTS ? part : BLKLAT_SIZE_PARTS;
}

/*
 * By flags: the first of these that applies to an IO. Sync (something waits for it) is what the kernel's op_is_sync()
 * says: reads, and IOs with REQ_SYNC.
 */
enum blklat_flags_part {
	BLKLAT_FLAGS_FUA = 1,	/* REQ_FUA, REQ_PREFLUSH, or a flush: has to be on the medium */
	BLKLAT_FLAGS_METADATA,	/* REQ_META */
	BLKLAT_FLAGS_READAHEAD,	/* REQ_RAHEAD */
	BLKLAT_FLAGS_SYNC,
	BLKLAT_FLAGS_WRITE_BACK,	/* other writes */
	BLKLAT_FLAGS_OTHER,	/* everything else: discards, zone commands, passthrough */
	BLKLAT_FLAGS_PARTS = BLKLAT_FLAGS_OTHER,
};

/* @op: enum blklat_op. The flags' bits differ between kernels, so the caller decodes them. */
static inline __u32 blklat_flags_part(__u32 op, int fua_or_preflush, int meta, int ahead, int sync)
{
	if (fua_or_preflush || op == BLKLAT_OP_FLUSH)
		return BLKLAT_FLAGS_FUA;
	if (meta)
		return BLKLAT_FLAGS_METADATA;
	if (ahead)
		return BLKLAT_FLAGS_READAHEAD;
	if (sync || op == BLKLAT_OP_READ)
		return BLKLAT_FLAGS_SYNC;
	return op == BLKLAT_OP_WRITE ? BLKLAT_FLAGS_WRITE_BACK : BLKLAT_FLAGS_OTHER;
}

/*
 * By depth: the number of the device's IOs in the stage when an IO begins it, including that IO: 1, 2,
 * 3 to 4, 5 to 8, ... 257 to 512, 513 and more.
 */
#define BLKLAT_DEPTH_PARTS 11

static inline __u32 blklat_depth_part(__u32 depth)
{
	__u32 part = blklat_octave_up_to(depth, 0);

	return part < BLKLAT_DEPTH_PARTS ? part : BLKLAT_DEPTH_PARTS;
}

/*
 * By what is in flight beside an IO: the strongest kind among the device's other IOs in the stage when
 * the IO begins it. The kinds are listed from the strongest to the weakest.
 */
enum blklat_kind {
	BLKLAT_KIND_FLUSH = 1,
	BLKLAT_KIND_DISCARD,
	BLKLAT_KIND_OTHER,	/* BLKLAT_OP_OTHER */
	BLKLAT_KIND_LARGE_WRITE,	/* BLKLAT_LARGE_BYTES or more */
	BLKLAT_KIND_WRITE,
	BLKLAT_KIND_READ,
	BLKLAT_KINDS = BLKLAT_KIND_READ,
	BLKLAT_BESIDE_NOTHING,
	BLKLAT_BESIDE_PARTS = BLKLAT_BESIDE_NOTHING,
};
#define BLKLAT_LARGE_BYTES (128 << 10)

/* @op: enum blklat_op. Returns an enum blklat_kind. */
static inline __u32 blklat_kind(__u32 op, __u64 bytes)
{
	switch (op) {
	case BLKLAT_OP_READ:
		return BLKLAT_KIND_READ;
	case BLKLAT_OP_WRITE:
		return bytes >= BLKLAT_LARGE_BYTES ? BLKLAT_KIND_LARGE_WRITE : BLKLAT_KIND_WRITE;
	case BLKLAT_OP_FLUSH:
		return BLKLAT_KIND_FLUSH;
	case BLKLAT_OP_DISCARD:
		return BLKLAT_KIND_DISCARD;
	default:
		return BLKLAT_KIND_OTHER;
	}
}

/* Whether IOs in flight are counted as well, in a cache line that all CPUs write to. */
static inline int blklat_counts_in_flight(__u32 by)
{
	return by == BLKLAT_BY_DEPTH || by == BLKLAT_BY_BESIDE;
}

/*
 * An IO's company: its depth and the strongest kind beside it, as one number that an engine keeps from the IO's
 * start until its end; 0: not known. A part by depth or by beside follows from it.
 */
#define BLKLAT_COMPANY_KIND_BITS 3
_Static_assert(BLKLAT_BESIDE_PARTS < 1 << BLKLAT_COMPANY_KIND_BITS, "kinds have room");

static inline __u32 blklat_company(__u32 depth, __u32 beside)
{
	return depth << BLKLAT_COMPANY_KIND_BITS | beside;
}

static inline __u32 blklat_company_depth(__u32 company)
{
	return company >> BLKLAT_COMPANY_KIND_BITS;
}

static inline __u32 blklat_company_beside(__u32 company)
{
	return company & ((1 << BLKLAT_COMPANY_KIND_BITS) - 1);
}

static inline __u32 blklat_company_part(__u32 company, __u32 by)
{
	return by == BLKLAT_BY_DEPTH ? blklat_depth_part(blklat_company_depth(company))
				     : blklat_company_beside(company);
}

/*
 * By cgroup: the one that is charged for the IO, or for the first bio of a request. That is the cgroup
 * that owns the data, even if another task writes the data back later. If that cgroup lacks the io
 * controller (blkio in version 1), it is the nearest ancestor that has it.
 */
enum blklat_cgroup_part {
	BLKLAT_CGROUP_NONE = 1,	/* requests without bios, such as a flush issued by the block layer, and passthrough */
	BLKLAT_CGROUP_REST,	/* cgroups that appeared when there was no part left for them */
	BLKLAT_CGROUP_FIRST,	/* from here on one for each cgroup, in the order of their first IOs */
};
#define BLKLAT_CGROUPS_MAX (BLKLAT_PARTS_MAX + 1 - BLKLAT_CGROUP_FIRST)

/*
 * By process: the one whose task queues the bio, or inserts or issues the request. That one need not be the request's
 * sender: whoever runs a queue issues what waits there. Processes have the parts that cgroups have. The first is that
 * of the kernel's workers, which come and go.
 */
#define BLKLAT_PROCESS_WORKERS BLKLAT_CGROUP_NONE

/*
 * The id of a process: below its tgid, which has 22 bits (PID_MAX_LIMIT), and above when it began, by the clock of its
 * start_boottime in units of 2^20 ns (34 bits, 208 days), as tgids are used again.
 */
#define BLKLAT_TGID_BITS 22
#define BLKLAT_BEGAN(boottime_ns) ((boottime_ns) >> 20 & ((1ULL << 34) - 1))

static inline __u64 blklat_process_id(__u32 tgid, __u64 boottime_ns)
{
	return BLKLAT_BEGAN(boottime_ns) << BLKLAT_TGID_BITS | tgid;
}

static inline __u32 blklat_process_tgid(__u64 id)
{
	return id & ((1U << BLKLAT_TGID_BITS) - 1);
}

/*
 * By priority: that of the bio, or of a request's first bio, as ioprio_set(2) packs it: the class in the upper 3 of 16
 * bits, the level in the lowest 3. Parts 1 to 8 are the levels of class 1 (real-time), 9 to 16 those of class 2 (best
 * effort).
 */
#define BLKLAT_PRIORITY_NONE 17	/* no class, or no bio */
#define BLKLAT_PRIORITY_PARTS 18	/* the last is class 3 (idle) */

static inline __u32 blklat_priority_part(__u32 ioprio)
{
	__u32 class = ioprio >> 13;

	if (class == 1 || class == 2)
		return class * 8 - 7 + (ioprio & 7);
	return class == 3 ? BLKLAT_PRIORITY_PARTS : BLKLAT_PRIORITY_NONE;
}

/* By operation: REQ_OP_READ and so on. The numbers of some differ between kernels, so the caller decodes them. */
enum blklat_operation {
	BLKLAT_OPERATION_READ = 1 + BLKLAT_OP_READ,
	BLKLAT_OPERATION_WRITE,
	BLKLAT_OPERATION_FLUSH,
	BLKLAT_OPERATION_DISCARD,	/* up to here they are ops; a flush is an empty preflush, too */
	BLKLAT_OPERATION_ZONE_APPEND,
	BLKLAT_OPERATION_WRITE_ZEROES,
	BLKLAT_OPERATION_SECURE_ERASE,
	BLKLAT_OPERATION_ZONE_OPEN,
	BLKLAT_OPERATION_ZONE_CLOSE,
	BLKLAT_OPERATION_ZONE_FINISH,
	BLKLAT_OPERATION_ZONE_RESET,
	BLKLAT_OPERATION_ZONE_RESET_ALL,
	BLKLAT_OPERATION_PASSTHROUGH_IN,
	BLKLAT_OPERATION_PASSTHROUGH_OUT,
	BLKLAT_OPERATION_OTHER,
	BLKLAT_OPERATION_PARTS = BLKLAT_OPERATION_OTHER,
};
/* Passthrough are REQ_OP_DRV_IN and OUT, until 5.14 REQ_OP_SCSI_IN and OUT too, from this number on. Odd go out. */
#define BLKLAT_REQ_OP_PASSTHROUGH 32

/* Whether parts belong to owners, cgroups or processes, which get them when they appear. */
static inline int blklat_has_owners(__u32 by)
{
	return by == BLKLAT_BY_CGROUP || by == BLKLAT_BY_PROCESS;
}

/* The number of parts of each watch; by cgroup or process, @cgroups have one of their own. 0: it is not divided. */
static inline __u32 blklat_parts(__u32 by, __u32 cgroups)
{
	switch (by) {
	case BLKLAT_BY_SIZE:
		return BLKLAT_SIZE_PARTS;
	case BLKLAT_BY_FLAGS:
		return BLKLAT_FLAGS_PARTS;
	case BLKLAT_BY_DEPTH:
		return BLKLAT_DEPTH_PARTS;
	case BLKLAT_BY_BESIDE:
		return BLKLAT_BESIDE_PARTS;
	case BLKLAT_BY_PRIORITY:
		return BLKLAT_PRIORITY_PARTS;
	case BLKLAT_BY_OPERATION:
		return BLKLAT_OPERATION_PARTS;
	case BLKLAT_BY_CGROUP:
	case BLKLAT_BY_PROCESS:
		return BLKLAT_CGROUP_REST + cgroups;
	default:
		return 0;
	}
}

/* The start time (abi.h) of an IO that begins @now in @part. @kind is its kind, or 0 where kinds are not counted. */
static inline __u64 blklat_parted_start(__u64 now, __u32 part, __u32 kind)
{
	return (now & ((1ULL << BLKLAT_SLOT_PART_SHIFT) - 1)) | (__u64)part << BLKLAT_SLOT_PART_SHIFT |
	       (__u64)kind << BLKLAT_SLOT_KIND_SHIFT;
}

/* The part in a start time of a watch that is divided @by; 0: no part. */
static inline __u32 blklat_slot_part(__u64 ns, __u32 by)
{
	__u32 bits = (blklat_counts_in_flight(by) ? BLKLAT_SLOT_KIND_SHIFT : 61) - BLKLAT_SLOT_PART_SHIFT;

	return ns >> BLKLAT_SLOT_PART_SHIFT & ((1U << bits) - 1);
}

/*
 * The kind in a start time, where kinds are counted; 0: no kind. Up to 15 if others can write to the
 * time.
 */
static inline __u32 blklat_slot_kind(__u64 ns)
{
	return ns >> BLKLAT_SLOT_KIND_SHIFT & ((1 << (61 - BLKLAT_SLOT_KIND_SHIFT)) - 1);
}

#endif
