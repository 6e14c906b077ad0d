/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of abi.h: what users call them, and a few words for each. Names, --help and outputs are made from these
 * tables, in the order of the enums.
 */
#ifndef CORE_KINDS_H
#define CORE_KINDS_H

/* The section of an IO's life that a stage is, and whether only devices with requests have it. */
#define STAGES(X) \
	X(BLKLAT_STAGE_DEVICE, "device", "issue to completion", true) \
	X(BLKLAT_STAGE_QUEUE, "queue", "insert to issue", true) \
	X(BLKLAT_STAGE_TOTAL, "total", "bio queued to completed", false) \
	X(BLKLAT_STAGE_WAIT, "wait", "bio queued to request", true)

#define OPS(X) \
	X(BLKLAT_OP_READ, "read") \
	X(BLKLAT_OP_WRITE, "write") \
	X(BLKLAT_OP_FLUSH, "flush") \
	X(BLKLAT_OP_DISCARD, "discard") \
	X(BLKLAT_OP_OTHER, "other")

/* What IOs can be divided by, and what that means. */
#define DIVISIONS(X) \
	X(BLKLAT_BY_SIZE, "size", "bytes, rounded up") \
	X(BLKLAT_BY_FLAGS, "flags", "what the IO is for, by its flags") \
	X(BLKLAT_BY_DEPTH, "depth", "IOs in flight when it begins, including it") \
	X(BLKLAT_BY_BESIDE, "beside", "the strongest of the others in flight when it begins") \
	X(BLKLAT_BY_CGROUP, "cgroup", "the cgroup that is charged for it") \
	X(BLKLAT_BY_PROCESS, "process", "the process that begins it") \
	X(BLKLAT_BY_PRIORITY, "priority", "class and level, as set by ionice") \
	X(BLKLAT_BY_OPERATION, "operation", "what the kernel calls its op")

/* Why IOs are lost (enum lost_reason), and what that means, for a sentence after a number of IOs. */
#define LOSSES(X) \
	X(LOST_NO_START, "no_start", "whose start was not seen") \
	X(LOST_OVERWRITTEN, "overwritten", "whose completion was not seen") \
	X(LOST_TAG_RANGE, "tag_range", "whose tag has no slot") \
	X(LOST_TABLE_FULL, "table_full", "that found no room in the table of bios") \
	X(LOST_RECURSION, "recursion", "in program runs that the kernel skipped") \
	X(LOST_UNEXPLAINED, "unexplained", "unexplained")

/* For X: an entry of an array of names, or of meanings, and parts of a sentence. */
#define KIND_NAME(kind, name, ...) [kind] = name,
#define KIND_MEANING(kind, name, words) [kind] = words,
#define KIND_WORDS(kind, name, words, ...) name " (" words "), "
#define KIND_COMMA(kind, name, ...) name ", "

#endif
