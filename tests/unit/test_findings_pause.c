// SPDX-License-Identifier: GPL-2.0-only
/* Runs with pauses: the first IO after a pause is slower, or there are not enough of them to say so. */
#include "findings_run.h"

/* 2 s of load, 2 s of rest; the first IO after each of 100 pauses takes 100 us, the others 27 us. */
TEST(duty_cycle)
{
	const struct finding *f;

	begin(1);
	for (u32 i = 0; i < 404; i++) {
		if (i % 4 < 2)
			synthetic_io(&s, 0, READ, 27000, 37000);
		if (i % 4 == 0 && i)
			synthetic_first_io(&s, 0, READ, 100000, 1);
		synthetic_in_flight(&s, 0, i % 4 == 0, i % 4 == 0 ? 13000 : 0);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 0);
	assert_count("level_change", 0);
	assert_count("hung", 0);
	f = only("after_pause");
	assert_close(value(f, "ios"), 100, 0);
	assert_close(value(f, "share"), 100 / (202 * 37000 + 100.0), 1e-12);
	assert_close(value(f, "first_p50_ns"), 100000, 600);
	assert_close(value(f, "rest_p50_ns"), 27000, 160);
	assert_close(value(f, "first_mean_ns"), 100000, 0);
	assert_string_equal(f->text, "sda read: 100 IOs (0.0013 %) were the first after a pause of at least 100 ms: half of them "
			    "took 99.7 us or more, of the others 27.0 us");
}

TEST(after_pause_limits)
{
	static const struct { u64 ns, ios, rest; u32 findings; } cases[] = {
		{ 152000, 5, 1000, 1 }, { 152000, 4, 1000, 0 }, { 147000, 5, 1000, 0 }, { 66000, 5, 1000, 1 },
		{ 69000, 5, 1000, 0 }, { 152000, 1000, 4, 0 }, { 152000, 1000, 5, 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		synthetic_io(&s, 0, READ, 100000, cases[c].rest);
		synthetic_first_io(&s, 0, READ, cases[c].ns, cases[c].ios);
		synthetic_tick(&s, 1);
		judge();
		assert_count("after_pause", cases[c].findings);
	}
}
