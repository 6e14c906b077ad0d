// SPDX-License-Identifier: GPL-2.0-only
/* When the loop reads: on the grid of its intervals, and as often and as long as asked. */
#include "loop_fakes.h"

/* How many whole intervals after the start read @n came, and how much later than that. */
static u64 grid(u32 n, u64 interval_ns, u64 *ret_late_ns)
{
	u64 elapsed = run.mono_ns[n] - run.mono_ns[0];

	*ret_late_ns = elapsed % interval_ns;
	return elapsed / interval_ns;
}

TEST(test_count)
{
	u32 at_the_next = 0;
	u64 late_ns;

	begin(1, true);
	assert_int_equal(go(0.010, 20, 0), LOOP_DONE);
	assert_int_equal(run.reads, 21);
	assert_int_equal(run.intervals, 20);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 20 * IOS_A_READ);
	for (u32 n = 0; n < 20; n++)
		assert_int_equal(run.ios[n], IOS_A_READ);
	/* Never early, at most once for each point of the grid, sometimes at the next one, and not seconds behind. */
	for (u32 n = 1; n <= 20; n++) {
		u64 points = grid(n, 10 * MS, &late_ns) - grid(n - 1, 10 * MS, &late_ns);

		assert_true(points >= 1);
		at_the_next += points == 1;
	}
	assert_true(at_the_next > 0);
	assert_in_range(run.mono_ns[20] - run.mono_ns[0], 200 * MS, 2000 * MS);
	check_lengths();
}

/*
 * Each read takes a millisecond. A loop that waits a whole interval after a read drifts by as much,
 * so its last reads are 7 ms and more behind the grid; of a good one's, some are still punctual even
 * on a busy machine.
 */
TEST(test_deadlines_do_not_drift)
{
	u64 late_ns, least_ns = UINT64_MAX;

	begin(1, true);
	run.work_ns = 1 * MS;
	assert_int_equal(go(0.020, 12, 0), LOOP_DONE);
	for (u32 n = 1; n <= 12; n++) {
		assert_true(grid(n, 20 * MS, &late_ns) > grid(n - 1, 20 * MS, &late_ns));
		grid(n, 20 * MS, &late_ns);
		if (n > 6 && late_ns < least_ns)
			least_ns = late_ns;
	}
	assert_in_range(least_ns, 1 * MS, 5 * MS);
	check_lengths();
}

/* One read is two and a half intervals late: the points it missed are skipped, the next one is kept. */
TEST(test_late_read)
{
	u64 late_ns, after;
	double longest = 0;

	begin(1, true);
	run.late_read = 3;
	run.late_ns = 50 * MS;
	assert_int_equal(go(0.020, 6, 0), LOOP_DONE);
	assert_true(grid(3, 20 * MS, &late_ns) >= 5);
	after = grid(4, 20 * MS, &late_ns);
	assert_true(after > grid(3, 20 * MS, &late_ns));
	assert_true(run.mono_ns[4] - run.mono_ns[0] >= after * 20 * MS);
	for (u32 n = 0; n < 6; n++)
		longest = run.interval_s[n] > longest ? run.interval_s[n] : longest;
	assert_true(run.interval_s[2] >= 0.050);	/* it says its true length */
	assert_true(run.interval_s[2] == longest);
	check_lengths();
}

TEST(test_duration_with_a_part_at_the_end)
{
	u64 late_ns;

	begin(1, true);
	assert_int_equal(go(0.040, 0, 0.100), LOOP_DONE);
	assert_int_equal(run.summaries, 1);
	assert_in_range(run.intervals, 1, 3);		/* three, unless the machine was slow */
	assert_in_range(run.mono_ns[run.reads - 1] - run.mono_ns[0], 100 * MS, 1100 * MS);
	/* All but the last are on the grid; the last ends the duration, between two points. */
	for (u32 n = 1; n < run.reads - 1; n++)
		assert_in_range(grid(n, 40 * MS, &late_ns), n, 2);
	assert_int_equal(run.summary_ios, run.intervals * IOS_A_READ);
	check_lengths();
}

TEST(test_duration_of_whole_intervals)
{
	begin(1, true);
	assert_int_equal(go(0.050, 0, 0.150), LOOP_DONE);
	assert_in_range(run.intervals, 1, 3);		/* no fourth of length 0 */
	for (u32 n = 0; n < run.intervals; n++)
		assert_true(run.interval_s[n] > 0.001);
	assert_in_range(run.mono_ns[run.reads - 1] - run.mono_ns[0], 150 * MS, 1150 * MS);
}

TEST(test_shorter_than_an_interval)
{
	begin(1, true);
	assert_int_equal(go(3600, 0, 0.030), LOOP_DONE);
	assert_int_equal(run.intervals, 1);
	assert_in_range(run.mono_ns[1] - run.mono_ns[0], 30 * MS, 1030 * MS);
	assert_int_equal(run.summaries, 1);
}

TEST(test_count_before_duration)
{
	begin(1, true);
	assert_int_equal(go(0.005, 2, 60), LOOP_DONE);
	assert_int_equal(run.intervals, 2);
	assert_int_equal(run.summaries, 1);
}
