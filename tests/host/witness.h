/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by witness.bpf.c and witness.c. */
#ifndef WITNESS_H
#define WITNESS_H

#include <linux/types.h>

/*
 * Log-linear bins: up to 2 * SUB ns each ns has its own; above that each octave has SUB of them, so
 * they are 0.05 to 0.1 % wide. Those of blklat are 1.09 % wide.
 */
#define WITNESS_SUB 1024
#define WITNESS_OCTAVES 25
#define WITNESS_BINS ((WITNESS_OCTAVES + 2) * WITNESS_SUB)

/* Per CPU. */
struct witness_totals {
	__u64 issues;
	__u64 completions;	/* of whole requests; parts of a request count only as bytes */
	__u64 unmatched;	/* completions whose issue was not seen */
	__u64 bytes;
	__u64 min_ns;		/* 0: none */
	__u64 max_ns;
};

#endif
