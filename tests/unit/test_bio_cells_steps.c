// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs' table (bpf/bio_cells.bpf.h), one step after the other: bios that a limit holds back before they are queued,
 * and bios that are split.
 */
#include "unit.h"

#include "bio_table.h"

#define poke_last(at, value) (*(at) = (value))
#define poke_first(at, value) (*(at) = (value))
#include "../../bpf/bio_cells.bpf.h"

enum { KEY = 100, HELD_NS = 5000, QUEUED_NS = 9000 };

static u32 overwritten;

/* Each whole has four parts. */
static u32 whole_watch(u32 watch)
{
	return watch - (watch - 1) % 5;
}

static void account_missed_bio(const struct bio_start *start, u32 turn)
{
	(void)start, (void)turn;
	overwritten++;
}

static struct bio_start start_at(u64 ns, bool held)
{
	return (struct bio_start){ .ns = ns, .bytes = 4096, .held = held, .watch = { 3, 7 } };
}

static bool hold(u64 ns)
{
	struct bio_start start = start_at(ns, true);

	return hold_in_cell(KEY, &start);
}

/* Queues a bio through the programs from @first on; those before are skipped. Returns how many begin the IO. */
static u32 queue_from(u32 first, u32 watch)
{
	u32 begun = 0;

	for (u32 turn = first; turn <= standbys; turn++) {
		struct bio_start start = start_at(QUEUED_NS, false);

		start.watch[0] = watch;
		begun += remember_in_cell(KEY, &start, turn) == REMEMBERED;
	}
	return begun;
}

void set_up(void)
{
	memset(buckets, 0, sizeof(buckets));
	memset(&notes, 0, sizeof(notes));
	standbys = 2;
	overwritten = 0;
}

static bool recall(struct bio_start *ret)
{
	return recall_from_cell(&(u64){ KEY }, 0, false, ret);
}

static u64 recalled_ns(void)
{
	struct bio_start start = { 0 };

	assert_true(recall(&start));
	assert_false(recall(&start));
	return start.ns & ~BLKLAT_SLOT_SEEN;
}

/* A bio that is held, then queued is one IO; its time begins when it was held. Any programs may be skipped. */
TEST(begins_where_it_is_held)
{
	for (u32 first = 0; first <= standbys; first++) {
		struct bio_start start = { 0 };

		assert_true(hold(HELD_NS));
		/* By now it would be in another part. */
		assert_int_equal(queue_from(first, 3 + first % 3), 0);
		assert_true(recall(&start));
		assert_int_equal(start.ns & ~BLKLAT_SLOT_SEEN, HELD_NS);
		/* The last standby removes the mark that the others left. */
		assert_int_equal(start.ns & BLKLAT_SLOT_SEEN, 0);
		assert_int_equal(start.bytes, 4096);
		assert_int_equal(start.watch[0], 3);
		assert_int_equal(overwritten, 0);
	}
	/* The next bio with this address is an IO of its own. */
	assert_int_equal(queue_from(0, 3), 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

/* Before 5.16 a bio passes the hook again when its wait is over. */
TEST(comes_by_twice)
{
	assert_true(hold(HELD_NS));
	assert_false(hold(HELD_NS + 1000));
	assert_int_equal(queue_from(0, 3), 0);
	assert_int_equal(recalled_ns(), HELD_NS);
}

/* A missed end stays a missed end: a bio held later at the same address is not taken for the old one. */
TEST(over_one_whose_end_was_missed)
{
	assert_int_equal(queue_from(0, 3), 1);
	assert_false(hold(HELD_NS));
	assert_int_equal(queue_from(0, 3), 1);
	assert_int_equal(overwritten, 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

/* Its device went away while the bio was held, so it was never queued; its memory is another bio's now. */
TEST(of_a_device_that_went)
{
	assert_true(hold(HELD_NS));
	assert_int_equal(queue_from(0, 6), 1);
	assert_int_equal(overwritten, 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

static void fill_table(void)
{
	for (u32 i = 0; i < 2 * BIO_BUCKET; i++)
		buckets[i / BIO_BUCKET].cell[i % BIO_BUCKET].key = 1;
}

TEST(no_room)
{
	fill_table();
	assert_false(hold(HELD_NS));
	buckets[1].cell[BIO_BUCKET - 1].key = 0;
	assert_int_equal(queue_from(0, 3), 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
	assert_true(hold(HELD_NS));
	assert_int_equal(queue_from(0, 3), 0);
	assert_int_equal(recalled_ns(), HELD_NS);
}

/* What found no room when there was no standby is not taken for the next bio with its address. */
TEST(no_room_before_standbys)
{
	fill_table();
	standbys = 0;
	assert_int_equal(queue_from(0, 3), 0);
	buckets[0].cell[0].key = 0;
	standbys = 1;
	assert_int_equal(queue_from(1, 3), 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

/* --- split bios ------------------------------------------------------------------------------- */

enum { REST = KEY, FRONT = 200, MIDDLE = 300, ENDS = 3 };

/* The front piece is split once more. Any of the programs may be skipped, and each that comes later finds nothing to do. */
static void split(void)
{
	assert_int_equal(queue_from(0, 3), 1);
	for (u32 turn = 0; turn <= standbys; turn++)
		add_piece_in_cells(FRONT, REST);
	for (u32 turn = 0; turn <= standbys; turn++)
		add_piece_in_cells(MIDDLE, FRONT);
}

/* Ends one with a request, through all programs. Returns whether that ends the bio. */
static bool end(u64 key, u32 error, struct bio_start *ret)
{
	u32 ended = 0;

	for (u32 turn = 0; turn <= standbys; turn++) {
		u64 whose = key;

		if (!recall_from_cell(&whose, error, false, ret))
			continue;
		assert_int_equal(whose, REST);
		ret->error = error ?: (u32)ret->error;	/* as end_in_mode() has it */
		ended++;
	}
	assert_true(ended <= 1);
	return ended;
}

static void check_empty(void)
{
	for (u32 i = 0; i < 2 * BIO_BUCKET; i++)
		assert_int_equal(buckets[i / BIO_BUCKET].cell[i % BIO_BUCKET].key, 0);
}

/* It ends with the last of its pieces, in whatever order they end, and with the error of the one that failed. */
TEST(ends_with_its_last_piece)
{
	static const u64 orders[][ENDS] = {
		{ FRONT, MIDDLE, REST }, { FRONT, REST, MIDDLE }, { MIDDLE, FRONT, REST },
		{ MIDDLE, REST, FRONT }, { REST, FRONT, MIDDLE }, { REST, MIDDLE, FRONT },
	};
	struct bio_start start;

	for (u32 i = 0; i < ARRAY_SIZE(orders); i++)
		for (u32 failed = 0; failed <= ENDS; failed++) {
			split();
			for (u32 k = 0; k < ENDS; k++)
				assert_int_equal(end(orders[i][k], k == failed ? -5 : 0, &start), k == ENDS - 1);
			assert_int_equal(start.ns & ~BLKLAT_SLOT_SEEN, QUEUED_NS);
			assert_int_equal(start.bytes, 4096);
			assert_int_equal(start.error, failed < ENDS ? -5 : 0);
			check_empty();
		}
}

/* Where a bio ends by itself, all of its pieces have ended, even if a program missed that. */
TEST(ends_by_itself)
{
	struct bio_start start;

	split();
	assert_false(end(FRONT, 0, &start));
	assert_true(recall_from_cell(&(u64){ REST }, 0, true, &start));
	/* The piece that was missed: an end at its address, later, is nobody's; nor is one if the bio's address is used again. */
	assert_false(end(MIDDLE, 0, &start));
	check_empty();
	split();
	assert_true(recall_from_cell(&(u64){ REST }, 0, true, &start));
	assert_int_equal(queue_from(0, 3), 1);
	assert_false(end(FRONT, 0, &start));
	assert_false(end(MIDDLE, 0, &start));
	assert_true(end(REST, 0, &start));
	check_empty();
}

/* A piece without room is not waited for. */
TEST(no_room_for_a_piece)
{
	struct bio_start start;

	fill_table();
	buckets[0].cell[0].key = 0;
	split();
	assert_true(end(REST, 0, &start));
	assert_false(end(FRONT, 0, &start));
}

/* The pieces of a bio that is not watched. */
TEST(not_its_piece)
{
	add_piece_in_cells(FRONT, REST);
	check_empty();
}

/* The address of the @i-th of bios of this @size, in slabs of two pages at random places, each of which is used up. */
static u64 slab_address(u32 i, u32 size, u64 *seed)
{
	static u64 slab;
	u32 each = 8192 / size;

	if (i % each == 0)
		slab = next_random(seed) << 13;
	return slab + i % each * size;
}

/* While as many as promised are in flight, and each in turn makes way for another one, hardly any finds no room. */
TEST(as_many_as_promised)
{
	enum { BIOS = 65536, ALL = 4 * BIOS, BITS = 14 };
	static const u32 sizes[] = { 192, 256, 320, 512, 1024, 4096 };
	static u64 key[BIOS];
	u64 seed = 1;

	standbys = 0;
	table_mask = (1 << BITS) - 1;
	assert_int_equal((BIO_BUCKET << BITS), 2 * BIOS);
	for (u32 s = 0; s < ARRAY_SIZE(sizes); s++) {
		u32 refused = 0;

		table = calloc(1 << BITS, sizeof(*table));
		for (u32 i = 0; i < ALL; i++) {
			struct bio_start start = start_at(QUEUED_NS, false);

			if (i >= BIOS)
				recall_from_cell(&key[i % BIOS], 0, true, &start);
			key[i % BIOS] = slab_address(i, sizes[s], &seed);
			start = start_at(QUEUED_NS, false);
			refused += remember_in_cell(key[i % BIOS], &start, 0) == NO_ROOM;
		}
		free(table);
		/* 0.004 % */
		assert_in_range(refused, 1, ALL / 25000);
	}
	table = NULL;
}

/* Bios of one slab of two pages have their cells in three pages or four. */
TEST(neighbours)
{
	enum { BUCKETS = 1 << 14, PAGE = 4096 / sizeof(struct bio_bucket) };
	bool used[BUCKETS] = { 0 };
	u64 seed = 1;
	u32 pages = 0;

	for (u32 i = 0; i < 42; i++)
		used[BIO_BUCKET_NUMBER((u32)slab_address(i, 192, &seed), 0, BUCKETS - 1) / PAGE] = true;
	for (u32 i = 0; i < ARRAY_SIZE(used); i++)
		pages += used[i];
	assert_in_range(pages, 3, 4);
}
