// SPDX-License-Identifier: GPL-2.0-only
/* The accounting of given figures, by hand and random. */
#include "unit.h"

#include "core/accounting.h"

#define CPUS 2
#define SEED 7777ULL

static void check_identity(const char *what, const struct accounting *a)
{
	s64 residue = a->started - a->completed - a->in_flight - a->lost;
	u64 lost = 0;

	for (u32 i = 0; i < LOST_REASONS; i++)
		lost += a->lost_by[i];
	if (lost != a->lost)
		fail_msg("%s: lost %llu, reasons give %llu", what, a->lost, lost);
	if ((u64)llabs(residue) > a->moved)
		fail_msg("%s: started %llu completed %llu in flight %llu lost %llu: off by %lld, moved %llu", what,
			 a->started, a->completed, a->in_flight, a->lost, residue, a->moved);
}

/* Figures of one watch, and the accounting worked out by hand; what is not named is 0. */
struct figures {
	const char *what;
	u64 bins, started, after, in_flight, in_flight_after;
	u64 accounts[BLKLAT_ACCOUNTS];
	u64 skipped;
	bool unsettled;
	struct accounting is;
	u64 skipped_left;
};

static const struct figures cases[] = {
	{ .what = "nothing yet" },
	{
		.what = "idle, all complete",
		.bins = 100, .started = 100, .after = 100,
		.is = { .started = 100, .completed = 100 },
	}, {
		.what = "every account, nothing moves",	/* 1000 = 900 + 10 + 70 + 20 */
		.bins = 900, .started = 1000, .after = 1000, .in_flight = 10, .in_flight_after = 10,
		.accounts = {
			[BLKLAT_REQUEUED] = 70, [BLKLAT_NO_START] = 1, [BLKLAT_OVERWRITTEN] = 20,
			[BLKLAT_TAG_RANGE] = 3, [BLKLAT_TABLE_FULL] = 4, [BLKLAT_BEFORE] = 500,
			[BLKLAT_UNISSUED] = 600,
		},
		.is = {
			.started = 938, .completed = 900, .in_flight = 10,
			.lost_by = { [LOST_NO_START] = 1, [LOST_OVERWRITTEN] = 20, [LOST_TAG_RANGE] = 3, [LOST_TABLE_FULL] = 4 },
			.requeued = 70, .before = 500, .unissued = 600,
		},
	}, {
		.what = "bios: the engine has put STARTED into started",
		.bins = 50, .started = 50, .after = 50, .accounts = { [BLKLAT_STARTED] = 50 },
		.is = { .started = 50, .completed = 50 },
	}, {
		.what = "first IO started and requeued between the readings",
		.started = 0, .after = 2, .in_flight = 0, .in_flight_after = 1,
		.accounts = { [BLKLAT_REQUEUED] = 1 },
		.is = { .moved = 3, .requeued = 1 },
	}, {
		.what = "nothing started, yet IOs in the bins",
		.bins = 5,
		.is = { .started = 10, .completed = 5, .lost_by = { [LOST_UNEXPLAINED] = 5 } },
	}, {
		.what = "skipped runs explain part of the losses without a start",
		.bins = 10, .started = 17, .after = 17, .skipped = 3,
		.accounts = { [BLKLAT_NO_START] = 5, [BLKLAT_OVERWRITTEN] = 7 },
		.is = {
			.started = 22, .completed = 10, .skipped = 3,
			.lost_by = { [LOST_NO_START] = 2, [LOST_OVERWRITTEN] = 7, [LOST_RECURSION] = 3 },
		},
	}, {
		.what = "then of the overwritten ones, and some are left for the next watch",
		.bins = 10, .started = 17, .after = 17, .skipped = 20,
		.accounts = { [BLKLAT_NO_START] = 5, [BLKLAT_OVERWRITTEN] = 7 },
		.is = { .started = 22, .completed = 10, .skipped = 20, .lost_by = { [LOST_RECURSION] = 12 } },
		.skipped_left = 8,
	}, {
		.what = "but never a full table, a tag out of range or the unexplained",
		.bins = 9, .started = 10, .after = 10, .skipped = 20,
		.accounts = { [BLKLAT_TAG_RANGE] = 2, [BLKLAT_TABLE_FULL] = 3 },
		.is = {
			.started = 15, .completed = 9, .skipped = 20,
			.lost_by = { [LOST_TAG_RANGE] = 2, [LOST_TABLE_FULL] = 3, [LOST_UNEXPLAINED] = 1 },
		},
		.skipped_left = 20,
	},
};

/* Each field; the identity holds, and the reasons add up to the loss. */
static void check_account(const char *what, const struct accounting *a, struct accounting is)
{
	check_identity(what, a);
	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		is.lost += is.lost_by[reason];
	for (u32 i = 0; i < offsetof(struct accounting, kernel_known) / sizeof(u64); i++)
		if (((const u64 *)a)[i] != ((const u64 *)&is)[i])
			fail_msg("%s: number %u of the account is %llu, must be %llu", what, i, ((const u64 *)a)[i], ((const u64 *)&is)[i]);
	assert_int_equal(a->kernel_known, is.kernel_known);
}

static void check_figures(const struct figures *f, u32 i)
{
	struct accounting is = f->is, a;
	struct watch_counts *w;
	u64 left = f->skipped;
	struct snapshot s;

	assert_int_equal(snapshot_init(&s, 2, 0), 0);
	w = &s.w[1];
	/* Spread over ops and cells: all must count as completed. */
	for (u64 n = 0; n < f->bins; n++)
		hist_put(&w->ops[n % BLKLAT_OPS].hist, n * 7 % 35, 1);
	w->started = f->started;
	w->started_after = f->after;
	w->in_flight = f->in_flight;
	w->in_flight_after = f->in_flight_after;
	w->unsettled = f->unsettled;
	memcpy(w->accounts, f->accounts, sizeof(w->accounts));
	is.kernel_ios = w->kernel_ios = 1000 + i;
	is.kernel_in_flight = w->kernel_in_flight = 2000 + i;
	is.kernel_known = w->kernel_known = i % 2;
	s.skipped = f->skipped;
	accounting_make(&s, 1, CPUS, &left, &a);
	check_account(f->what, &a, is);
	/* Commands that users send themselves are of op other. */
	assert_int_equal(a.kernel_leaves_out, hist_count(&w->ops[BLKLAT_OP_OTHER].hist));
	assert_int_equal(left, f->skipped_left);
	snapshot_uninit(&s);
}

TEST(by_hand)
{
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		check_figures(&cases[i], i);
}

/* 100 have started, and 32 of them are in flight; the bins and what is read after them may say something else. */
TEST(while_ios_move)
{
	static const struct {
		const char *what;
		u64 bins, after, in_flight_after;
		bool unsettled;
		u64 started, moved, unexplained;
	} rows[] = {
		{ "nothing moves", 68, 100, 32, false, 100, 0, 0 },
		{ "moved 40, bins at the lower bound", 68, 140, 32, false, 100, 42, 0 },
		{ "moved 40, bins at the upper bound", 108, 140, 32, false, 100, 42, 0 },
		{ "beyond the upper bound, within the slack", 110, 140, 32, false, 100, 42, 0 },
		{ "short of the lower bound, within the slack", 66, 140, 32, false, 100, 42, 0 },
		{ "one short of that: lost", 65, 140, 32, false, 100, 42, 1 },
		{ "one beyond: an IO without a start, and a loss", 111, 140, 32, false, 102, 42, 1 },
		{ "nothing moves, the second time: no slack for too few", 67, 100, 32, false, 100, 0, 1 },
		{ "nothing moves: nor for too many", 71, 100, 32, false, 106, 0, 3 },
		{ "nothing moves, but for the first time: a CPU may be held up", 67, 100, 32, true, 100, 2, 0 },
		{ "one each, no more", 65, 100, 32, true, 100, 2, 1 },
		{ "completions but no starts meanwhile", 80, 100, 0, false, 100, 34, 0 },
		{ "as many starts as arrivals in flight: only the slack moved", 68, 110, 42, false, 100, 2, 0 },
		{ "second reading of the slots behind the first", 68, 100, 33, false, 100, 2, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct figures f = {
			.what = rows[i].what, .bins = rows[i].bins, .started = 100, .after = rows[i].after,
			.in_flight = 32, .in_flight_after = rows[i].in_flight_after, .unsettled = rows[i].unsettled,
			.is = {
				.started = rows[i].started, .completed = rows[i].bins, .in_flight = 32, .moved = rows[i].moved,
				.lost_by = { [LOST_UNEXPLAINED] = rows[i].unexplained },
			},
		};

		check_figures(&f, i);
	}
}

/* Whatever an engine may deliver, even nonsense, the identity holds. */
TEST(nonsense)
{
	u64 seed = SEED;
	struct snapshot s;

	print_message("seed %llu\n", seed);
	assert_int_equal(snapshot_init(&s, 1, 0), 0);
	for (u32 round = 0; round < 200000; round++) {
		u64 range = 1 + next_random(&seed) % 50, left;
		struct watch_counts *w = &s.w[0];
		struct accounting a;

		hist_clear(&w->ops[round % BLKLAT_OPS].hist);
		hist_put(&w->ops[round % BLKLAT_OPS].hist, 3, next_random(&seed) % range);
		w->started = next_random(&seed) % range;
		w->started_after = next_random(&seed) % range;
		w->in_flight = next_random(&seed) % range;
		w->in_flight_after = next_random(&seed) % range;
		for (u32 i = 0; i < BLKLAT_ACCOUNTS; i++)
			w->accounts[i] = next_random(&seed) % range;
		left = s.skipped = next_random(&seed) % range;
		accounting_make(&s, 0, next_random(&seed) % 4, &left, &a);
		check_identity("nonsense", &a);
		assert_int_equal(left + a.lost_by[LOST_RECURSION], s.skipped);
		assert_true(a.started < 1000 && a.lost < 1000);
	}
	snapshot_uninit(&s);
}

/* The kernel counts more IOs or fewer: explained, or a gap. */
TEST(test_kernel_gap)
{
	static const struct { struct accounting a; s64 gap; } gaps[] = {
		{ { .kernel_ios = 100, .completed = 100 }, 0 },
		{ { .kernel_ios = 101, .completed = 100 }, 1 },
		{ { .kernel_ios = 98, .completed = 100 }, -2 },
		{ { .kernel_ios = 104, .completed = 100, .before = 1, .in_flight = 1, .lost = 1, .unissued = 1 }, 0 },
		{ { .kernel_ios = 105, .completed = 100, .before = 1, .in_flight = 1, .lost = 1, .unissued = 1 }, 5 },
		{ { .kernel_ios = 90, .completed = 100, .moved = 1 }, 0 },
		{ { .kernel_ios = 90, .completed = 100, .kernel_leaves_out = 10 }, 0 },
		{ { .kernel_ios = 89, .completed = 100, .kernel_leaves_out = 10 }, -11 },
		{ { .kernel_ios = 88, .completed = 100, .kernel_leaves_out = 10, .lost = 2 }, 0 },
		/* The kernel leaves some out, it does not add any. */
		{ { .kernel_ios = 101, .completed = 100, .kernel_leaves_out = 10 }, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
		struct accounting a = gaps[i].a;

		assert_int_equal(accounting_kernel_gap(&a), 0);	/* not known */
		a.kernel_known = true;
		assert_int_equal(accounting_kernel_gap(&a), gaps[i].gap);
	}
}

/* By hand: the account of a window, given @before, the account of the run when the window began. */
TEST(test_take_off)
{
	const struct accounting before = {
		.started = 120, .completed = 100, .in_flight = 5, .lost = 15, .moved = 1, .requeued = 3, .before = 7, .unissued = 2,
		.lost_by = { [LOST_NO_START] = 10, [LOST_UNEXPLAINED] = 5 }, .skipped = 9, .kernel_ios = 130, .kernel_known = true,
	};
	struct accounting a = {
		.started = 1040, .completed = 1000, .in_flight = 8, .lost = 32, .moved = 2, .requeued = 4, .before = 7, .unissued = 3,
		.lost_by = { [LOST_NO_START] = 12, [LOST_OVERWRITTEN] = 20 }, .skipped = 11, .kernel_ios = 1050, .kernel_known = true,
		.kernel_in_flight = 8,
	};
	/* 5 of the 20 had been unexplained. */
	const struct accounting is = {
		.started = 920 + 5, .completed = 900, .in_flight = 8, .moved = 3, .requeued = 1, .before = 0, .unissued = 1,
		.lost_by = { [LOST_NO_START] = 2, [LOST_OVERWRITTEN] = 15 }, .skipped = 2, .kernel_ios = 920, .kernel_known = true,
		.kernel_in_flight = 8,
	};

	accounting_take_off(&a, &before);
	check_account("a window", &a, is);
}

/* IOs that seemed lost when the window began have been seen since. */
TEST(test_take_off_what_was_no_loss)
{
	const struct accounting before = { .started = 110, .completed = 100, .lost = 10, .lost_by = { [LOST_UNEXPLAINED] = 10 } };
	struct accounting a = { .started = 204, .completed = 200, .lost = 4, .lost_by = { [LOST_NO_START] = 4 } };

	accounting_take_off(&a, &before);
	assert_int_equal(a.lost, 0);
	assert_int_equal(a.completed, 100);
	check_identity("no loss", &a);
}
