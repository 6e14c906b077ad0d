// SPDX-License-Identifier: GPL-2.0-only
/* How many standbys there are at first, when one more comes, when one leaves, and which stay. */
#include "unit.h"

#include "engine/bpf_engine.h"

#define S 1000000000ULL
#define REST_S 10
#define REST_IOS 1000000

enum { NEEDED = -1 };

static struct standbys made(struct standby_need need)
{
	struct standbys s;

	standbys_init(&s, &need);
	return s;
}

/* How many are wanted of @n when nothing was skipped. */
static u32 quiet(struct standbys *s, u32 n, u64 at_s, u64 ios)
{
	return standbys_wanted(s, n, false, false, at_s * S, ios);
}

TEST(test_at_first)
{
	static const struct {
		struct standby_need need;
		u32 at_first, at_rest;
	} cases[] = {
		/* An interrupt completes IOs, it starts none. */
		{ { .asked = NEEDED }, 1, 0 },
		{ { .starts = true, .asked = NEEDED }, 0, 0 },
		{ { .preemptible = true, .asked = NEEDED }, 2, 1 },
		{ { .preemptible = true, .starts = true, .asked = NEEDED }, 2, 1 },
		{ { .unguarded = true, .asked = NEEDED }, 0, 0 },
		{ { .asked = 0 }, 0, 0 },
		{ { .preemptible = true, .asked = 0 }, 0, 0 },
		{ { .starts = true, .asked = 3 }, 3, 3 },
		{ { .unguarded = true, .asked = 3 }, 0, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct standbys s = made(cases[i].need);

		assert_int_equal(s.at_first, cases[i].at_first);
		assert_int_equal(s.at_rest, cases[i].at_rest);
	}
}

/* Neither a pause before the load nor a short load shows that nothing will be skipped. */
TEST(test_leaves_after_time_and_ios)
{
	struct standbys s = made((struct standby_need){ .asked = NEEDED });

	standbys_changed(&s, 100 * S, 5);
	assert_int_equal(quiet(&s, 1, 100 + REST_S - 1, 5 + 2 * REST_IOS), 1);
	assert_int_equal(quiet(&s, 1, 100 + 1000 * REST_S, 5 + REST_IOS), 1);
	assert_int_equal(quiet(&s, 1, 100 + REST_S + 1, 5 + REST_IOS + 1), 0);
	assert_int_equal(quiet(&s, 0, 100 + 1000 * REST_S, 1000 * REST_IOS), 0);
}

TEST(test_one_stays_where_tasks_are_preempted)
{
	struct standbys s = made((struct standby_need){ .preemptible = true, .asked = NEEDED });

	standbys_changed(&s, 0, 0);
	assert_int_equal(quiet(&s, 2, REST_S + 1, REST_IOS + 1), 1);
	standbys_changed(&s, (REST_S + 1) * S, REST_IOS + 1);
	assert_int_equal(quiet(&s, 1, 1000 * REST_S, 1000 * REST_IOS), 1);
}

/* The one that did the work stays for good; those that came in addition leave. */
TEST(test_a_skip_keeps_one)
{
	struct standbys s = made((struct standby_need){ .asked = NEEDED });

	standbys_changed(&s, 0, 0);
	assert_int_equal(standbys_wanted(&s, 1, true, false, 5 * S, 500000), 1);
	assert_int_equal(quiet(&s, 1, 1000 * REST_S, 1000 * REST_IOS), 1);
	assert_int_equal(quiet(&s, 2, 1000 * REST_S, 1000 * REST_IOS), 1);
}

/* The rest begins anew with each skip. */
TEST(test_no_rest_while_some_are_skipped)
{
	struct standbys s = made((struct standby_need){ .preemptible = true, .asked = NEEDED });

	standbys_changed(&s, 0, 0);
	for (u64 i = 1; i < 100; i++)
		assert_int_equal(standbys_wanted(&s, 2, true, false, i * (REST_S + 1) * S, i * 2 * REST_IOS), 2);
	assert_int_equal(quiet(&s, 2, 99 * (REST_S + 1) + REST_S, 1000 * REST_IOS), 2);
	assert_int_equal(quiet(&s, 2, 99 * (REST_S + 1) + REST_S + 1, 1000 * REST_IOS), 1);
}

/* As soon as the last one is skipped, whatever the kernel, and if nobody asked for any. */
TEST(test_one_more)
{
	static const struct standby_need needs[] = {
		{ .asked = NEEDED }, { .starts = true, .asked = NEEDED }, { .preemptible = true, .asked = NEEDED }, { .asked = 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(needs); i++) {
		struct standbys s = made(needs[i]);

		standbys_changed(&s, 0, 0);
		for (u32 n = 0; n < 3; n++)
			assert_int_equal(standbys_wanted(&s, n, true, true, 1, 1), n + 1);
	}
}
