/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's table of bios in flight, stage total. */
#ifndef CAPTURE_BPF_BIOS_H
#define CAPTURE_BPF_BIOS_H

#include "capture/live.h"

/* Counts the table's bios for each of @n watches. Returns 0 or a negative errno. */
int bio_counts_read(int map_fd, struct bio_counts *counts, u32 n);

#endif
