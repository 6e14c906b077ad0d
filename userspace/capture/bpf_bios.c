// SPDX-License-Identifier: GPL-2.0-only
#include "capture/bpf_bios.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/capture.h"
#include "util/cleanup.h"

#define BATCH 1024U

static void count(struct bio_counts *counts, u32 n, const struct bio_start *start)
{
	for (u32 i = 0; i < ARRAY_SIZE(start->watch); i++) {
		u32 watch = start->watch[i];

		if (!watch || watch > n)
			continue;
		counts[watch - 1].in_flight++;
		if (start->ns < counts[watch - 1].earliest_ns)
			counts[watch - 1].earliest_ns = start->ns;
	}
}

int bio_counts_read(int map_fd, struct bio_counts *counts, u32 n)
{
	u64 *keys CLEANUP(cleanup_free) = calloc(BATCH, sizeof(*keys));
	struct bio_start *starts CLEANUP(cleanup_free) = calloc(BATCH, sizeof(*starts));
	u32 position = 0, got, *from = NULL;
	int err = 0;

	if (!keys || !starts)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		counts[i].in_flight = 0;
		counts[i].earliest_ns = UINT64_MAX;
	}
	while (!err) {
		got = BATCH;
		err = bpf_map_lookup_batch(map_fd, from, &position, keys, starts, &got, NULL);
		if (err && err != -ENOENT)
			return err;
		for (u32 i = 0; i < got; i++)
			count(counts, n, &starts[i]);
		from = &position;
	}
	return 0;
}
