// SPDX-License-Identifier: GPL-2.0-only
/* What one capture takes over from another while IOs end: everything must be counted exactly once. */
#include "carry_world.h"

static const struct schedule paces[] = {
	{ .between_stores = 1, .between_ios = 2000 },
	{ .between_stores = 5, .between_ios = 2000 },
	{ .between_stores = 40, .between_ios = 3000 },
	{ .between_stores = 200, .between_ios = 20000 },
	{ .between_stores = 500, .between_ios = 60000 },
	{ .between_stores = 3, .between_ios = 60000 },
};

TEST(test_ends_meanwhile)
{
	for (u64 seed = 0; seed < 120; seed++)
		assert_exact(&paces[seed % ARRAY_SIZE(paces)], seed);
}

/* A CPU is held up between two stores, for a few pauses of the reader or until all is over. */
TEST(test_held_up)
{
	for (u64 seed = 0; seed < 210; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.hold_at = 1 + seed % 13;
		s.hold_after = seed % 2 ? 1 + seed % 7 : 0;
		s.hold_for = !s.hold_after ? 20 : seed % 3 ? 5 : UINT32_MAX;
		assert_exact(&s, seed);
	}
}

/* What only the second capture has slots for is either an IO or reported as lost; its bytes go the same way. */
TEST(test_beyond_the_first)
{
	struct accounting a;

	for (u64 seed = 0; seed < 120; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.beyond = true;
		begin(&s, seed);
		assert_int_equal(take_over(&a), 0);
		assert_int_equal(a.lost, a.lost_by[LOST_TAG_RANGE]);
		assert_int_equal(w.read[SECOND].w[0].ops[0].bytes,
				 CPUS * EARLIER * EARLIER_BYTES + (a.completed - CPUS * EARLIER) * 4096);
		end();
	}
}

/* IOs that were started with tags that no longer exist stay counted. */
TEST(test_fewer_in_one_dimension)
{
	for (u64 seed = 0; seed < 100; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.fewer = true;
		assert_exact(&s, seed);
	}
}

/* Nothing was in flight a moment ago. An IO that starts just now, in any slot, is not mistaken for one left over. */
TEST(test_begins_meanwhile)
{
	struct accounting a;

	for (u64 seed = 0; seed < 420; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.again = true;
		s.beyond = seed % 2;
		s.hides = seed % 3;
		s.hold_at = seed % 7;
		s.hold_for = seed % 7 ? seed % 5 : 0;
		begin(&s, seed);
		assert_int_equal(take_over(&a), 0);
		if (!s.beyond) {
			assert_int_equal(a.completed, w.ended);
			assert_int_equal(a.lost_by[LOST_OVERWRITTEN], w.hidden);
		}
		end();
	}
}

/*
 * IOs for which the first capture has no slots keep starting, several while all slots are looked at: each is lost
 * or an IO, once.
 */
TEST(test_begin_beyond_without_a_pause)
{
	struct accounting a;
	u64 gap_ns;

	for (u64 seed = 0; seed < 100; seed++) {
		const struct schedule s = {
			.between_stores = 1 + seed % 5, .between_ios = 800, .beyond = true, .again = true, .endless = true,
		};

		begin(&s, seed);
		gap_ns = take_over(&a);
		assert_true(gap_ns || !a.lost_by[LOST_UNEXPLAINED]);
		assert_true(w.ended > 10 * IOS);
		assert_int_equal(a.lost_by[LOST_OVERWRITTEN], 0);
		assert_int_equal(a.lost, a.lost_by[LOST_TAG_RANGE] + a.lost_by[LOST_UNEXPLAINED]);
		end();
	}
}

/* Where IOs are divided, what was in a part stays there, and is in the whole once. */
TEST(test_parts)
{
	for (u64 seed = 0; seed < 126; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.by = BLKLAT_BY_SIZE;
		s.hold_at = seed % 14;
		s.hold_after = 1 + seed % 7;
		s.hold_for = seed % 5;
		assert_exact(&s, seed);
	}
}

/* Where nothing is in flight one look is enough. */
TEST(test_at_rest)
{
	const struct schedule s = { .between_stores = 1, .between_ios = 1 };
	struct accounting a;

	begin(&s, 1);
	for (u32 i = 0; i < CPUS; i++)
		run_out(&w.cpu[i]);
	assert_int_equal(take_over(&a), 0);
	assert_int_equal(a.completed, w.ended);
	assert_int_equal(w.pauses, 0);
	end();
}
