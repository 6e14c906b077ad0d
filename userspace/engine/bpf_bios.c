// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

#define BATCH 1024U

static void clear(struct bio_counts *counts, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		counts[i].in_flight = counts[i].starts_ns = 0;
		counts[i].earliest_ns = UINT64_MAX;
	}
}

static void count_at(struct bio_counts *counts, u32 n, u64 ns, u32 watch)
{
	if (!watch || watch > n)
		return;
	counts[watch - 1].in_flight++;
	counts[watch - 1].starts_ns += ns;
	if (ns < counts[watch - 1].earliest_ns)
		counts[watch - 1].earliest_ns = ns;
}

/* @each: watches of a whole. That of stage wait is the next one. */
static void count(struct bio_counts *counts, u32 n, u32 each, const struct bio_start *start)
{
	for (u32 i = 0; i < 2; i++) {
		count_at(counts, n, start->ns, start->watch[i]);
		if (start->waits >> i & 1)
			count_at(counts, n, start->ns, start->watch[i] + each);
	}
}

static u64 start_of(const struct bio_cell *cell)
{
	return __atomic_load_n(&cell->start.ns, __ATOMIC_ACQUIRE) & ~BLKLAT_SLOT_SEEN;
}

/*
 * One bio may leave a cell and another take it at the same time. What was read is valid if the start time is unchanged.
 */
static void count_cell(const struct bio_cell *cell, struct bio_counts *counts, u32 n, u32 each)
{
	u64 ns;

	while ((ns = start_of(cell))) {
		const struct bio_start start = {
			.ns = ns,
			.state = __atomic_load_n(&cell->start.state, __ATOMIC_RELAXED),
			.watch[0] = __atomic_load_n(&cell->start.watch[0], __ATOMIC_RELAXED),
			.watch[1] = __atomic_load_n(&cell->start.watch[1], __ATOMIC_RELAXED),
		};

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (start_of(cell) != ns)
			continue;
		count(counts, n, each, &start);
		return;
	}
}

void bios_count_cells(const struct bio_bucket *buckets, u32 n_buckets, struct bio_counts *counts, u32 n, u32 each)
{
	clear(counts, n);
	for (u32 b = 0; b < n_buckets; b++)
		for (u32 i = 0; i < BIO_BUCKET; i++)
			count_cell(&buckets[b].cell[i], counts, n, each);
}

int bios_count_hash(int map_fd, struct bio_counts *counts, u32 n, u32 each)
{
	u64 *keys CLEANUP(cleanup_free) = calloc(BATCH, sizeof(*keys));
	struct bio_start *starts CLEANUP(cleanup_free) = calloc(BATCH, sizeof(*starts));
	u32 position = 0, got, *from = NULL;
	int err = 0;

	if (!keys || !starts)
		return -ENOMEM;
	clear(counts, n);
	while (!err) {
		got = BATCH;
		err = bpf_map_lookup_batch(map_fd, from, &position, keys, starts, &got, NULL);
		if (err && err != -ENOENT)
			return err;
		for (u32 i = 0; i < got; i++)
			count(counts, n, each, &starts[i]);
		from = &position;
	}
	return 0;
}
