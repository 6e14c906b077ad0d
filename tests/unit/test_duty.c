// SPDX-License-Identifier: GPL-2.0-only
/* Loads that come and go: regularly or not, and whether they are steady while they are there. */
#include "findings_run.h"

/* Nothing is in flight where a burst ends. */
static void rest(u32 n)
{
	for (u32 i = 0; i < n; i++) {
		synthetic_in_flight(&s, 0, 0, 0);
		synthetic_tick(&s, 1);
	}
}

static void burst(u32 n, u64 ios, double first, double last)
{
	for (u32 k = 0; k < n; k++) {
		synthetic_io(&s, 0, WRITE, 27000, llround(ios * (!k ? first : k + 1 == n ? last : 1)));
		synthetic_tick(&s, 1);
	}
}

/* Bursts of 3 s that begin in the middle of an interval: the intervals at their ends are half busy, and do not count. */
TEST(between_intervals)
{
	for (u32 i = 0; i < 20; i++) {
		burst(4, 10000, 0.5, 0.5);
		rest(2);
	}
	judge();
	assert_value("duty_cycle", "busy_iops", 10000, 1e-9);
	assert_value("duty_cycle", "share", 0.5, 1e-9);
	assert_value("duty_cycle", "period_s", 6, 1e-9);
	assert_value("steady_state", "reached", 1, 0);
	assert_value("steady_state", "iops", 10000, 1e-6);
}

/* Five bursts of 100 IOs on average, whose distances deviate by a quarter at most. */
TEST(duty_limits)
{
	static const struct { u32 n; u64 ios; u32 even, odd; bool told; } cases[] = {
		{ 5, 50, 3, 3, true }, { 4, 50, 3, 3, false }, { 5, 49, 3, 3, false }, { 21, 500, 1, 3, true }, { 21, 500, 1, 5, false },
		{ 21, 500, 0, 0, false },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < cases[c].n; i++) {
			burst(2, cases[c].ios, 1, 1);
			rest(i % 2 ? cases[c].odd : cases[c].even);
		}
		judge();
		assert_count("duty_cycle", cases[c].told);
	}
}

/* Too few to tell a duty cycle. The run's rate has the pauses, as the load's has not. */
TEST(few_bursts)
{
	for (u32 i = 0; i < 4; i++) {
		burst(20, 2000, 1, 1);
		rest(20);
	}
	judge();
	assert_text("duty_cycle", "sda write: the load came 4 times, with 60.0 s of pauses between: 2.00k IOPS while busy, 1.14k over the run");
}

/* An IO in flight is no pause: the device stalls. */
TEST(stalls_are_no_pauses)
{
	for (u32 i = 0; i < 20; i++) {
		burst(2, 10000, 1, 1);
		synthetic_in_flight(&s, 0, 4, 900000000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("duty_cycle", 0);
	assert_count("stall", 1);
}

/* Each burst at half the rate of the one before the middle: not steady while busy, and a change of level. */
TEST(not_steady_while_busy)
{
	for (u32 i = 0; i < 40; i++) {
		burst(2, i < 30 ? 10000 : 5000, 1, 1);
		rest(2);
	}
	judge();
	assert_count("duty_cycle", 1);
	assert_value("steady_state", "reached", 0, 0);
	assert_count("level_change", 1);
}
