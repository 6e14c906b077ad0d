// SPDX-License-Identifier: GPL-2.0-only
#define SET_UP set_up
#include "fake_slots.h"

static struct fake *f;

static int set_up(void **state)
{
	(void)state;
	f = fake_new(0);
	return 0;
}

TEST(test_layout)
{
	assert_int_equal(sizeof(struct blklat_slots), 3 * 128);
	assert_int_equal(offsetof(struct blklat_slots, ns), 0);
	assert_int_equal(offsetof(struct blklat_slots, started), 128);
	assert_int_equal(offsetof(struct blklat_slots, ended), 256);
}

TEST(test_in_flight_and_age)
{
	const struct watch_counts *w;

	check(fake_drain(f, 0), 0, 0, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
	assert_int_equal(f->now.w[0].waited_ns, 0);
	start(f, 0, 400000);
	start(f, 7, 300000);
	start(f, 8, 350000);
	start(f, 15, 999999);
	w = fake_drain(f, 0);		/* at 1000000 */
	check(w, 4, 4, 0);
	assert_int_equal(w->oldest_ns, 700000);
	assert_int_equal(w->waited_ns, 600000 + 700000 + 650000 + 1);
	complete(f, 7, 1000);
	w = fake_drain(f, 0);
	check(w, 4, 3, 0);
	assert_int_equal(w->oldest_ns, 650000);
	assert_int_equal(w->waited_ns, 600000 + 650000 + 1);
	assert_int_equal(completed(w), 1);
}

/* The mark of an IO after a pause is not part of its time: bit 63, as abi.h says. */
TEST(test_marked_starts)
{
	start(f, 3, 300000 | 1ULL << 63);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 700000);
	start(f, 4, 200000);
	check(fake_drain(f, 0), 2, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 800000);
	start(f, 5, 100000 | 1ULL << 63);
	check(fake_drain(f, 0), 3, 3, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 900000);
	complete(f, 5, 1000);
	check(fake_drain(f, 0), 3, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 800000);
}

/* An IO that started after the clock was read has age 0. */
TEST(test_age_is_never_negative)
{
	start(f, 3, 1000001);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
}

/* Slots before the range and after it belong to others. */
TEST(test_ranges)
{
	f->slots[0].ns[15] = 5;
	f->slots[0].started[15] = 10;
	start(f, 2, 10);
	start(f, 32, 20);		/* the first of watch 1 */
	start(f, 47, 30);
	check(fake_drain(f, 0), 1, 1, 0);
	check(&f->now.w[1], 2, 2, 0);
	assert_int_equal(f->now.w[1].oldest_ns, 1000000 - 20);
}

/* Where there are no slots the engine supplies these figures. */
TEST(test_total_has_no_slots)
{
	struct watch_counts *w = &f->now.w[2];

	w->started = 11;
	w->started_after = 12;
	w->in_flight = 13;
	w->in_flight_after = 14;
	w->oldest_ns = 15;
	*fake_account(f, 0, 2, BLKLAT_OVERWRITTEN) = 16;
	region_read(&f->r, 2, &f->rested_at[2], 1000000, w);
	assert_int_equal(w->started, 11);
	assert_int_equal(w->started_after, 12);
	assert_int_equal(w->in_flight, 13);
	assert_int_equal(w->in_flight_after, 14);
	assert_int_equal(w->oldest_ns, 15);
	assert_int_equal(w->accounts[BLKLAT_OVERWRITTEN], 16);
}

/* A read after each single write of three IOs in one slot: an IO on its way is not a missed end. */
TEST(test_half_written_is_not_overwritten)
{
	for (u64 io = 0; io < 3; io++) {
		start_write(f, 5, 0, 100 + io);
		/* The time is there already, but a watch at rest is only checked for starts. */
		check(fake_drain(f, 0), io, 0, 0);
		start_write(f, 5, 1, 0);
		check(fake_drain(f, 0), io + 1, 1, 0);
		end_write(f, 5, 0);
		check(fake_drain(f, 0), io + 1, 1, 0);
		end_write(f, 5, 1);
		check(fake_drain(f, 0), io + 1, 0, 0);
		fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
		check(fake_drain(f, 0), io + 1, 0, 0);
	}
	assert_int_equal(completed(&f->now.w[0]), 3);
}

/* A watch at rest is checked once, by its starts alone; one not at rest, or with a gap, is read as always. */
TEST(test_at_rest)
{
	start(f, 4, 100);
	complete(f, 4, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
	/* None of this is possible, and none of it is looked at. */
	block_of(f, 9)->ns[(16 + 9) % 16] = 77;
	block_of(f, 9)->ended[(16 + 9) % 16] = 5;
	check(fake_drain(f, 0), 1, 0, 0);
	/* An IO in the bins without a start: not at rest. */
	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
	assert_int_equal(fake_drain(f, 0)->in_flight_after, 1);
	assert_int_equal(f->now.w[0].in_flight, 0);
	/* One more start, and everything is counted. */
	start(f, 3, 200);
	check(fake_drain(f, 0), 2, 2, 0);
	/* An IO whose end was missed: not at rest. */
	start(f, 3, 300);
	block_of(f, 9)->ns[(16 + 9) % 16] = BLKLAT_SLOT_FREE;
	end(f, 3);
	check(fake_drain(f, 0), 3, 0, 1);
	block_of(f, 9)->ns[(16 + 9) % 16] = 77;
	check(fake_drain(f, 0), 3, 1, 1);
}

/* A slot starts again before its end was seen: once and twice, in flight and after the last IO ended. */
TEST(test_overwritten)
{
	start(f, 4, 100);
	start(f, 4, 200);
	check(fake_drain(f, 0), 2, 1, 1);
	assert_int_equal(f->now.w[0].oldest_ns, 1000000 - 200);
	complete(f, 4, 1000);
	check(fake_drain(f, 0), 2, 0, 1);
	start(f, 12, 300);
	start(f, 12, 300);
	start(f, 12, 300);
	complete(f, 12, 1000);
	start(f, 12, 400);
	check(fake_drain(f, 0), 6, 1, 3);
	assert_int_equal(f->now.w[0].started, completed(&f->now.w[0]) + 1 + 3);
}

/* A requeue takes a start back, which is no loss. */
TEST(test_requeued)
{
	start(f, 4, 100);
	end(f, 4);
	*fake_account(f, 2, 0, BLKLAT_REQUEUED) += 1;
	start(f, 4, 300);
	check(fake_drain(f, 0), 2, 1, 0);
	assert_int_equal(f->now.w[0].accounts[BLKLAT_REQUEUED], 1);
}

/* An IO that began before the capture leaves a mark in its slot, which is not an IO in flight. */
TEST(test_freed_without_a_start)
{
	block_of(f, 6)->ns[6] = BLKLAT_SLOT_FREE;
	check(fake_drain(f, 0), 0, 0, 0);
	start(f, 6, 100);
	complete(f, 6, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
}
