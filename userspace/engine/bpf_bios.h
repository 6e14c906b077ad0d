/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's table of bios in flight, stage total: cells or, on kernels before 5.12, a hash. */
#ifndef ENGINE_BPF_BIOS_H
#define ENGINE_BPF_BIOS_H

#include "../bpf/capture.h"
#include "engine/kernel_capture.h"

/* Counts the bios in the cells for each of @n watches. */
void bios_count_cells(const struct bio_bucket *buckets, u32 n_buckets, struct bio_counts *counts, u32 n);

/* Counts the hash's bios for each of @n watches. Returns 0 or a negative errno. */
int bios_count_hash(int map_fd, struct bio_counts *counts, u32 n);

#endif
