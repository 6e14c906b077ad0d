// SPDX-License-Identifier: GPL-2.0-only
/* IOs after a pause: what a frame says of them, and which of them it does not trust. */
#include "frame_fixture.h"

#include "core/frame.h"

/* The same for an IO after a pause, which counts among all IOs too. */
static void put_after_idle(struct snapshot *s, u32 watch, u32 op, u64 ns)
{
	struct op_counts *o = &s->w[watch].ops[op];

	put(s, watch, op, ns, 4096);
	hist_put(&o->after_idle, blklat_cell(ns, idle_scale(SCALE)), 1);
	o->after_idle_sum_ns += ns;
}

static const struct op_frame *read_of(const struct frames *fs)
{
	return &fs->f[0].ops[BLKLAT_OP_READ];
}

TEST(after_pauses)
{
	const struct op_frame *o = read_of(&f.frames), *run = read_of(&f.run);

	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 700000);
	advance();
	for (u32 i = 0; i < 99; i++)
		put(&f.now, 0, BLKLAT_OP_READ, 27000, 4096);
	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 103000);
	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 108000);
	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 131000);
	between(1000000000);
	assert_int_equal(o->ios, 102);
	assert_int_equal(o->after_idle_ios, 3);
	assert_int_equal(o->after_idle_sum_ns, 342000);
	assert_near(after_idle_mean_ns(o), 342000 / 3.0);
	/* Rank 2 of 3, two in (102648, 111938]: the middle of its second half is 3/4 of the way. */
	assert_near(after_idle_quantile_ns(o, 0.5), 102649 * pow(111938 / 102649.0, 0.75));
	assert_near(after_idle_quantile_ns(o, 1), 131000);
	assert_int_equal(f.frames.f[0].ops[BLKLAT_OP_WRITE].after_idle_ios, 0);
	assert_true(isnan(after_idle_mean_ns(&f.frames.f[0].ops[BLKLAT_OP_WRITE])));
	assert_true(isnan(after_idle_quantile_ns(&f.frames.f[0].ops[BLKLAT_OP_WRITE], 0.5)));

	advance();
	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 105000);
	between(1000000000);
	assert_int_equal(o->after_idle_ios, 1);
	/* With a single IO the sum is its exact latency. */
	assert_near(after_idle_quantile_ns(o, 0.5), 105000);
	assert_int_equal(run->after_idle_ios, 4);
	assert_int_equal(run->after_idle_sum_ns, 447000);
	assert_int_equal(hist_count(&run->after_idle), 4);
}

/* An IO as long as the gap hides others in flight: no mark of its interval can be trusted. */
TEST(doubtful_pauses)
{
	static const struct {
		u64 after_idle_ns, other_ns;	/* latency of one write each; 0: none */
		u64 oldest_ns;
		u64 is;				/* writes and reads after a pause */
	} cases[] = {
		{ 0, 0, 0, 1 },
		{ 0, 90000000, 0, 1 },		/* below the bin that the gap is in */
		{ 0, 96000000, 0, 1 },
		{ 0, 97000000, 0, 0 },		/* the gap's eighth of an octave begins at 96.4 ms */
		{ 0, 100000000, 0, 0 }, { 0, 5000000000, 0, 0 },
		{ 100000000, 0, 0, 2 },		/* it was alone: nothing else waited */
		{ 5000000000, 0, 0, 2 }, { 5000000000, 5000000000, 0, 0 },
		{ 97000000, 105000000, 0, 0 },	/* the IO after a pause does not account for the other one */
		{ 0, 0, 99999999, 1 }, { 0, 0, 100000000, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct op_frame *wr = &f.frames.f[0].ops[BLKLAT_OP_WRITE];
		const struct op_frame *rd = read_of(&f.frames);

		advance();
		put_after_idle(&f.now, 0, BLKLAT_OP_READ, 102000);
		put_after_idle(&f.now, 1, BLKLAT_OP_READ, 102000);
		if (cases[i].after_idle_ns)
			put_after_idle(&f.now, 0, BLKLAT_OP_WRITE, cases[i].after_idle_ns);
		if (cases[i].other_ns)
			put(&f.now, 0, BLKLAT_OP_WRITE, cases[i].other_ns, 4096);
		f.now.w[0].oldest_ns = cases[i].oldest_ns;
		between(1000000000);
		if (wr->after_idle_ios + rd->after_idle_ios != cases[i].is)
			fail_msg("case %zu: %llu after a pause, must be %llu", i,
				 wr->after_idle_ios + rd->after_idle_ios, cases[i].is);
		assert_int_equal(hist_count(&rd->after_idle), rd->after_idle_ios);
		assert_int_equal(rd->after_idle_sum_ns, rd->after_idle_ios * 102000);
		/* All IOs are counted as before, and other watches are not affected. */
		assert_int_equal(rd->ios, 1);
		assert_int_equal(f.frames.f[1].ops[BLKLAT_OP_READ].after_idle_ios, 1);
	}
}

/* IOs that waited behind a long one end just after it, maybe in the next interval. */
TEST(pauses_behind_a_stall)
{
	const struct op_frame *o = read_of(&f.frames);

	put(&f.now, 0, BLKLAT_OP_WRITE, 3000000000, 4096);
	f.now.w[0].in_flight = f.now.w[0].in_flight_after = 4;
	f.now.w[0].oldest_ns = 90000000;
	between(1000000000);
	for (u32 i = 0; i < 3; i++) {
		advance();
		put_after_idle(&f.now, 0, BLKLAT_OP_READ, 2800000000);
		between(1000000000);
		assert_int_equal(o->ios, 1);
		/* Only once: with IOs always in flight it would never end. */
		assert_int_equal(o->after_idle_ios, i ? 1 : 0);
	}
	/* Nothing was in flight between the two IOs, so none waited for the other. */
	advance();
	put(&f.now, 0, BLKLAT_OP_WRITE, 3000000000, 4096);
	f.now.w[0].in_flight = f.now.w[0].in_flight_after = f.now.w[0].oldest_ns = 0;
	between(1000000000);
	advance();
	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 102000);
	between(1000000000);
	assert_int_equal(o->after_idle_ios, 1);
}

/* A read in the middle of an IO never takes a figure outside of its bins. */
TEST(torn_pauses)
{
	struct op_counts *rd = &f.now.w[0].ops[BLKLAT_OP_READ];
	const struct op_frame *o = read_of(&f.frames);

	put_after_idle(&f.now, 0, BLKLAT_OP_READ, 102000);
	rd->after_idle_sum_ns += 700000;
	between(1000000000);
	assert_near(after_idle_mean_ns(o), 102000);	/* also the maximum of all IOs */
	/* Its bin among all IOs comes an interval later. */
	rd->hist.cells[blklat_cell(102000, SCALE)]--;
	rd->min_ns = rd->max_ns = 0;
	between(1000000000);
	assert_int_equal(o->ios, 0);
	assert_near(after_idle_quantile_ns(o, 0.5), 102648);
	advance();
	put(&f.now, 0, BLKLAT_OP_READ, 27000, 4096);
	between(1000000000);
	assert_near(after_idle_quantile_ns(o, 0.5), 102648);
}

/* A read between the two bins of an IO after a pause: its mark waits for the IO, in intervals and in the run. */
TEST(pauses_wait_for_the_bin)
{
	struct op_counts *rd = &f.now.w[0].ops[BLKLAT_OP_READ];
	const struct op_frame *o = read_of(&f.frames), *run = read_of(&f.run);
	static const u32 after_idle[] = { 0, 1, 0, 2 };
	u64 seen = 0;

	for (u32 i = 0; i < ARRAY_SIZE(after_idle); i++) {
		advance();
		if (i == 0 || i == 3)
			put_after_idle(&f.now, 0, BLKLAT_OP_READ, 102000);
		if (i == 0)
			rd->hist.cells[blklat_cell(102000, SCALE)]--;
		if (i == 1)
			hist_put(&rd->hist, blklat_cell(102000, SCALE), 1);
		if (i == 2)
			put(&f.now, 0, BLKLAT_OP_READ, 27000, 4096);
		if (i == 3)
			put_after_idle(&f.now, 0, BLKLAT_OP_READ, 102000);
		between(1000000000);
		if (o->ios) {
			assert_int_equal(o->after_idle_ios, after_idle[i]);
			assert_int_equal(o->after_idle_sum_ns, after_idle[i] * 102000);
			seen += o->after_idle_ios;
		}
		assert_int_equal(run->after_idle_ios, seen);
	}
	assert_int_equal(seen, 3);
	assert_int_equal(hist_count(&run->after_idle), 3);
}
