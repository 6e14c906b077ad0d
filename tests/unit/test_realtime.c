// SPDX-License-Identifier: GPL-2.0-only
/* When a thread uses too much of a CPU to run before all others. */
#include "unit.h"

#include "util/realtime.h"

#define MS 1000000ULL
#define BEGAN (77 * NSEC_PER_SEC)

/* Intervals of @interval_ns, busy for @busy_ns of each, for 20 s. Returns what is reported, and when. */
static u32 play(u64 interval_ns, u64 busy_ns, u64 *ret_when_ns)
{
	struct realtime_share s = { 0 };
	u64 cpu = 5 * NSEC_PER_SEC;	/* used before */

	for (u64 at = 0; at < 20 * NSEC_PER_SEC; at += interval_ns, cpu += busy_ns) {
		u32 percent = realtime_share_excess(&s, BEGAN + at, cpu);

		*ret_when_ns = at;
		if (percent)
			return percent;
	}
	return 0;
}

TEST(a_quarter_is_not_too_much)
{
	static const struct { u64 interval_ns, busy_ns; u32 percent; } cases[] = {
		{ 1000 * MS, 10 * MS, 0 }, { 1000 * MS, 250 * MS, 0 }, { 1000 * MS, 259 * MS, 0 }, { 1000 * MS, 260 * MS, 26 },
		{ 100 * MS, 10 * MS, 0 }, { MS, 950000, 95 }, { MS, 240000, 0 }, { 10000 * MS, 9900 * MS, 99 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 when;

		assert_int_equal(play(cases[i].interval_ns, cases[i].busy_ns, &when), cases[i].percent);
		if (cases[i].percent)
			assert_true(when >= 4 * NSEC_PER_SEC && when <= 10 * NSEC_PER_SEC);
	}
}

/* A burst of a second, as when one capture takes over from another, is not too much. */
TEST(a_burst_is_not_too_much)
{
	struct realtime_share s = { 0 };
	u64 cpu = 0;

	for (u64 ms = 0; ms < 20000; ms += 100) {
		assert_int_equal(realtime_share_excess(&s, BEGAN + ms * MS, cpu), 0);
		cpu += ms >= 9000 && ms < 10000 ? 98 * MS : MS / 2;
	}
}
