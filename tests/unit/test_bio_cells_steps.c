// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios that a limit holds back before they are queued, in the programs' table (bpf/bio_cells.bpf.h); one step after the
 * other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "blklat/abi.h"
#include "util/types.h"

#define poke_last(at, value) (*(at) = (value))
#define poke_first(at, value) (*(at) = (value))
#include "../../bpf/bio_cells.bpf.h"

enum { KEY = 100, HELD_NS = 5000, QUEUED_NS = 9000, STANDBYS = 2 };

static struct bio_bucket buckets[2], notes;
static u32 overwritten;

static bool leaves_mark(u32 turn, enum bpf_event event)
{
	assert_int_equal(event, BPF_BIO_QUEUE);
	return turn < STANDBYS;
}

static struct bio_bucket *bio_bucket_of(u64 key, u32 choice)
{
	(void)key;
	return &buckets[choice];
}

static struct bio_bucket *no_room_bucket(u64 key)
{
	(void)key;
	return &notes;
}

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

	for (u32 turn = first; turn <= STANDBYS; turn++) {
		struct bio_start start = start_at(QUEUED_NS, false);

		start.watch[0] = watch;
		begun += remember_in_cell(KEY, &start, turn) == REMEMBERED;
	}
	return begun;
}

static int set_up(void **state)
{
	(void)state;
	memset(buckets, 0, sizeof(buckets));
	memset(&notes, 0, sizeof(notes));
	overwritten = 0;
	return 0;
}

static u64 recalled_ns(void)
{
	struct bio_start start = { 0 };

	assert_true(recall_from_cell(KEY, &start));
	assert_false(recall_from_cell(KEY, &start));
	return start.ns & ~BLKLAT_SLOT_SEEN;
}

/* A bio that is held, then queued is one IO; its time begins when it was held. Any programs may be skipped. */
static void begins_where_it_is_held(void **state)
{
	(void)state;
	for (u32 first = 0; first <= STANDBYS; first++) {
		struct bio_start start = { 0 };

		assert_true(hold(HELD_NS));
		/* By now it would be in another part. */
		assert_int_equal(queue_from(first, 3 + first % 3), 0);
		assert_true(recall_from_cell(KEY, &start));
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
static void comes_by_twice(void **state)
{
	(void)state;
	assert_true(hold(HELD_NS));
	assert_false(hold(HELD_NS + 1000));
	assert_int_equal(queue_from(0, 3), 0);
	assert_int_equal(recalled_ns(), HELD_NS);
}

/* A missed end stays a missed end: a bio held later at the same address is not taken for the old one. */
static void over_one_whose_end_was_missed(void **state)
{
	(void)state;
	assert_int_equal(queue_from(0, 3), 1);
	assert_false(hold(HELD_NS));
	assert_int_equal(queue_from(0, 3), 1);
	assert_int_equal(overwritten, 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

/* Its device went away while the bio was held, so it was never queued; its memory is another bio's now. */
static void of_a_device_that_went(void **state)
{
	(void)state;
	assert_true(hold(HELD_NS));
	assert_int_equal(queue_from(0, 6), 1);
	assert_int_equal(overwritten, 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
}

static void no_room(void **state)
{
	(void)state;
	for (u32 i = 0; i < 2 * BIO_BUCKET; i++)
		buckets[i / BIO_BUCKET].cell[i % BIO_BUCKET].key = 1;
	assert_false(hold(HELD_NS));
	buckets[1].cell[BIO_BUCKET - 1].key = 0;
	assert_int_equal(queue_from(0, 3), 1);
	assert_int_equal(recalled_ns(), QUEUED_NS);
	assert_true(hold(HELD_NS));
	assert_int_equal(queue_from(0, 3), 0);
	assert_int_equal(recalled_ns(), HELD_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(begins_where_it_is_held, set_up),
		cmocka_unit_test_setup(comes_by_twice, set_up),
		cmocka_unit_test_setup(over_one_whose_end_was_missed, set_up),
		cmocka_unit_test_setup(of_a_device_that_went, set_up),
		cmocka_unit_test_setup(no_room, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
