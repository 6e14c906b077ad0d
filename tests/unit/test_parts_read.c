// SPDX-License-Identifier: GPL-2.0-only
/* Watches that have parts: what a reader makes of their rows, slots and frames. */

#include "blklat/parts.h"
#include "core/frame.h"
#include "core/snapshot.h"
#include "fake_region.h"

enum { PARTS = FAKE_WATCHES - 1 };

/* --- the region: watch 0 is the whole, 1 and 2 are its parts ------------------------------------ */

static struct fake *f;

static void begin_parted(void)
{
	f = fake_new(6);
	f->r.parts = PARTS;
	f->ranges[1].n = 0;
}

static const struct watch_counts *read_at(u64 now_ns)
{
	struct snapshot swap = f->before;

	f->before = f->now;
	f->now = swap;
	region_next_epoch(&f->r);
	region_read(&f->r, 0, now_ns, f->now.w);
	return f->now.w;
}

static void check_sum(const struct watch_counts *w, u32 op)
{
	const struct op_counts *all = &w[0].ops[op], *a = &w[1].ops[op], *b = &w[2].ops[op];

	assert_int_equal(all->sum_ns, a->sum_ns + b->sum_ns);
	assert_int_equal(all->bytes, a->bytes + b->bytes);
	assert_int_equal(all->errors, a->errors + b->errors);
	assert_int_equal(all->min_ns, a->min_ns < b->min_ns ? a->min_ns : b->min_ns);
	assert_int_equal(all->max_ns, a->max_ns > b->max_ns ? a->max_ns : b->max_ns);
	for (u32 cell = 0; cell < fake_cells(6); cell++)
		assert_int_equal(all->hist.cells[cell], a->hist.cells[cell] + b->hist.cells[cell]);
}

/* Read after read, with IOs in between: nothing of an earlier sum is left. */
TEST(test_whole_is_the_sum)
{
	u64 ios = 0;

	f->ranges[0].n = 0;	/* the IOs have no start */
	for (u32 round = 0; round < 5; round++) {
		const struct watch_counts *w;

		for (u32 n = 0; n < 300; n++) {
			u32 cpu = n % FAKE_CPUS, part = 1 + n * 7 % 5 % 2, op = n * 11 % FAKE_OPS;
			u64 *s = fake_series(f, cpu, part, op);

			fake_io(f, cpu, part, op, latency_of(320 + (n * 31 + round * 97) % 1700));
			s[AT_BYTES] += 4096 * part;
			s[AT_ERRORS] += n % 13 == 0;
			ios++;
		}
		w = read_at(1000000);
		for (u32 op = 0; op < FAKE_OPS; op++)
			check_sum(w, op);
		for (u32 part = 0, seen = 0; part <= PARTS; part++) {
			for (u32 op = 0; op < FAKE_OPS; op++)
				seen += hist_count(&w[part].ops[op].hist);
			assert_int_equal(seen, part == 0 ? ios : part == PARTS ? 2 * ios : seen);
		}
	}
}

/* A row of accounts has one for each whole. */
TEST(test_accounts_are_the_wholes)
{
	const struct watch_counts *w;

	*fake_account(f, 0, 0, BLKLAT_REQUEUED) = 3;
	*fake_account(f, 1, 0, BLKLAT_REQUEUED) = 10;
	*fake_account(f, 2, 0, BLKLAT_REQUEUED) = 100;
	*fake_account(f, 2, 0, BLKLAT_TABLE_FULL) = 7;
	w = read_at(1000000);
	assert_int_equal(w[0].accounts[BLKLAT_REQUEUED], 113);
	assert_int_equal(w[0].accounts[BLKLAT_TABLE_FULL], 7);
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		assert_int_equal(w[1].accounts[cell] + w[2].accounts[cell], 0);
	assert_int_equal(region_account(&f->r, 0, BLKLAT_REQUEUED), 113);
	/* Clearing a part leaves the whole's. */
	region_clear(&f->r, 1);
	assert_int_equal(region_account(&f->r, 0, BLKLAT_REQUEUED), 113);
	region_clear(&f->r, 0);
	assert_int_equal(region_account(&f->r, 0, BLKLAT_REQUEUED), 0);
}

static void start_in_slot(u32 n, u64 at_ns, u32 part, u64 marks)
{
	struct blklat_slots *s = &f->slots[1 + n / 32];

	s->ns[n % 32] = (at_ns & ((1ULL << 53) - 1)) | (u64)part << 53 | marks;
	s->started[n % 32]++;
}

/* Also where the clock has just passed one of the bits that a slot leaves out. */
TEST(test_waiting_by_part)
{
	static const u64 clocks[] = { 5000000, (1ULL << 53) + 100, (3ULL << 53) - 1, (1ULL << 60) + 20 };

	for (u32 i = 0; i < ARRAY_SIZE(clocks); i++) {
		const struct watch_counts *w;
		u64 now_ns = clocks[i];

		begin_parted();
		start_in_slot(0, now_ns - 500, 1, 0);
		start_in_slot(3, now_ns - 90, 1, BLKLAT_SLOT_AFTER_IDLE);
		start_in_slot(17, now_ns - 4000, 2, BLKLAT_SLOT_SEEN);
		/* Started by a clock that is ahead of the reader's. */
		start_in_slot(18, now_ns + 70, 2, 0);
		w = read_at(now_ns);
		assert_int_equal(w[0].in_flight, 4);
		assert_int_equal(w[0].in_flight_after, 4);
		assert_int_equal(w[0].started, 4);
		assert_int_equal(w[0].oldest_ns, 4000);
		assert_int_equal(w[0].waited_ns, 500 + 90 + 4000);
		assert_int_equal(w[0].accounts[BLKLAT_OVERWRITTEN], 0);
		assert_int_equal(w[1].in_flight, 2);
		assert_int_equal(w[1].oldest_ns, 500);
		assert_int_equal(w[1].waited_ns, 500 + 90);
		assert_int_equal(w[2].in_flight, 2);
		assert_int_equal(w[2].oldest_ns, 4000);
		assert_int_equal(w[2].waited_ns, 4000);
		assert_int_equal(region_in_flight(&f->r, 0), 4);
	}
}

/* --- frames --------------------------------------------------------------------------------------- */

static struct {
	struct watch *watches;
	u32 n;
	struct snapshot before, now;
	struct frames frames;
} in;

void set_up(void)
{
	const struct watch whole = { .stage = BLKLAT_STAGE_DEVICE };

	begin_parted();
	assert_int_equal(watches_divide(&whole, 1, BLKLAT_BY_SIZE, 0, &in.watches, &in.n), 0);
	assert_int_equal(snapshot_init(&in.before, in.n, 6), 0);
	assert_int_equal(snapshot_init(&in.now, in.n, 6), 0);
	assert_int_equal(frames_init(&in.frames, in.watches, in.n, 6), 0);
	in.now.mono_ns = 1000000000;
	in.now.idle_gap_ns = in.before.idle_gap_ns = 100000000;
}

void tear_down(void)
{
	frames_uninit(&in.frames);
	snapshot_uninit(&in.before);
	snapshot_uninit(&in.now);
	free(in.watches);
}

static void put_in(struct watch_counts *w, u64 ns, u64 bytes, bool after_idle)
{
	struct op_counts *o = &w->ops[BLKLAT_OP_READ];

	if (!o->max_ns || ns < o->min_ns)
		o->min_ns = ns;
	if (ns > o->max_ns)
		o->max_ns = ns;
	o->sum_ns += ns;
	o->bytes += bytes;
	hist_put(&o->hist, blklat_cell(ns, 6), 1);
	if (after_idle) {
		o->after_idle_sum_ns += ns;
		hist_put(&o->after_idle, blklat_cell(ns, idle_scale(6)), 1);
	}
}

static void put(u64 ns, u64 bytes, bool after_idle)
{
	put_in(&in.now.w[0], ns, bytes, after_idle);
	put_in(&in.now.w[blklat_size_part(bytes)], ns, bytes, after_idle);
	in.now.w[0].started++;
	in.now.w[0].started_after++;
}

/* An IO of one part that takes as long as the gap hides the pauses of all parts, since pauses are the device's. */
TEST(test_a_long_io_hides_pauses_of_all_parts)
{
	const struct frame *is = in.frames.f;

	put(80000, 4096, true);
	put(250000000, 131072, false);
	frames_between(&in.frames, &in.before, &in.now, &percentiles_default, 1);
	assert_true(is[0].pauses_hidden);
	assert_int_equal(is[0].ops[BLKLAT_OP_READ].after_idle_ios, 0);
	assert_int_equal(is[1].ops[BLKLAT_OP_READ].after_idle_ios, 0);
}
