/* SPDX-License-Identifier: GPL-2.0-only */
/* The bios in flight, stage total: what the slots are to requests. */
#ifndef CAPTURE_BPF_BIOS_H
#define CAPTURE_BPF_BIOS_H

#include "model/snapshot.h"

struct bio_counts {
	u64 in_flight;
	u64 earliest_ns;	/* start of the oldest; UINT64_MAX when there is none */
	u64 started;		/* for the caller to note what it was before the count */
};

/* Counts the table's bios for each of @n watches. Returns 0 or a negative errno. */
int bio_counts_read(int map_fd, struct bio_counts *counts, u32 n);

#endif
