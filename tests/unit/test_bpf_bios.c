// SPDX-License-Identifier: GPL-2.0-only
/* The table of bios, as the programs leave it. While they write to it: test_bio_cells_order.c. */
#include "unit.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "engine/bpf_engine.h"

enum { BUCKETS = 4, WATCHES = 3, EACH = 2 };	/* a whole and its part are EACH watches */

static struct bio_bucket buckets[BUCKETS];
static struct bio_counts counts[WATCHES];

static struct bio_cell *cell(u32 bucket, u32 i)
{
	return &buckets[bucket].cell[i];
}

static void put(struct bio_cell *c, u64 ns, u32 first, u32 second)
{
	c->key = 1;
	c->start.watch[0] = first;
	c->start.watch[1] = second;
	__atomic_store_n(&c->start.ns, ns, __ATOMIC_RELEASE);
}

static void count(void)
{
	memset(counts, 0xff, sizeof(counts));
	bios_count_cells(buckets, BUCKETS, counts, WATCHES, EACH);
	/* Those who count what has started are others. */
	for (u32 i = 0; i < WATCHES; i++)
		assert_int_equal(counts[i].started, UINT64_MAX);
}

static void check(u32 watch, u64 in_flight, u64 earliest_ns, u64 starts_ns)
{
	assert_int_equal(counts[watch].in_flight, in_flight);
	assert_int_equal(counts[watch].earliest_ns, earliest_ns);
	assert_int_equal(counts[watch].starts_ns, starts_ns);
}

void set_up(void)
{
	memset(buckets, 0, sizeof(buckets));
}

TEST(test_none)
{
	/* One cell that is claimed and still empty, and one whose bio has left. */
	cell(0, 0)->key = 1;
	cell(1, 3)->start.watch[0] = 1;
	count();
	for (u32 i = 0; i < WATCHES; i++)
		check(i, 0, UINT64_MAX, 0);
}

/* A bio is its disk's and its partition's; cells hold the watch's number plus 1. The mark is not part of the time. */
TEST(test_whose)
{
	put(cell(0, 0), 300, 1, 0);
	put(cell(0, 7), 200 | BLKLAT_SLOT_SEEN, 1, 2);
	put(cell(3, 4), 100, 0, 2);
	put(cell(2, 1), 50, 4, 0);	/* no such watch */
	count();
	check(0, 2, 200, 500);
	check(1, 2, 100, 300);
	check(2, 0, UINT64_MAX, 0);
}

/* A bio that waits also is in the next whole, in the part with the same number. */
TEST(test_waits)
{
	struct bio_cell *both = cell(0, 0), *second = cell(1, 5), *last = cell(2, 2);

	put(both, 300, 1, 0);
	both->start.waits = 1;
	put(second, 200, 2, 1);
	second->start.waits = 2;
	put(last, 100, 3, 0);
	last->start.waits = 1;		/* there is no such watch */
	count();
	check(0, 2, 200, 500);
	check(1, 1, 200, 200);
	check(2, 3, 100, 600);
}

/* --- the hash of kernels before 5.12 -------------------------------------------------------- */

static int lookups, last_error;

/* In libbpf's place. The kernel says -ENOENT with the last batch. */
int bpf_map_lookup_batch(int fd, void *from, void *ret_position, void *keys, void *values, __u32 *n, const struct bpf_map_batch_opts *opts)
{
	static const struct bio_start starts[] = {
		{ .ns = 300, .watch = { 1, 2 } }, { .ns = 200, .watch = { 1 }, .waits = 1 }, { .ns = 100, .watch = { 1 } },
	};
	bool last = lookups++;

	(void)fd, (void)keys, (void)opts;
	assert_true(from == (last ? ret_position : NULL));
	memcpy(values, &starts[last ? 2 : 0], (last ? 1 : 2) * sizeof(*starts));
	*n = last ? 1 : 2;
	return last ? last_error : 0;
}

TEST(test_hash_in_batches)
{
	lookups = 0;
	last_error = -ENOENT;
	assert_int_equal(bios_count_hash(3, counts, WATCHES, EACH), 0);
	assert_int_equal(lookups, 2);
	check(0, 3, 100, 600);
	check(1, 1, 300, 300);
	check(2, 1, 200, 200);
	lookups = 0;
	last_error = -EIO;
	assert_int_equal(bios_count_hash(3, counts, WATCHES, EACH), -EIO);
}
