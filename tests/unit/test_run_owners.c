// SPDX-License-Identifier: GPL-2.0-only
/* An owner's percentiles over time, of all ops together: against a histogram of them all, and at what cost in memory. */
#include "synthetic_run.h"

#include <errno.h>

#define FLUSH BLKLAT_OP_FLUSH
#define SCALE 6
#define IOS_MOST 4000

/* All latencies of an interval, however they got there. */
struct seen {
	u32 n;
	u64 ns[IOS_MOST];
};

/* A histogram of its own of all of them, which nothing was merged into. */
static double of_one_histogram(const struct seen *seen, double q)
{
	u64 cells[BLKLAT_CELLS(SCALE)] = { 0 }, min_ns = UINT64_MAX, max_ns = 0;
	struct hist h = hist_on(cells, SCALE);

	for (u32 i = 0; i < seen->n; i++) {
		hist_put(&h, blklat_cell(seen->ns[i], SCALE), 1);
		min_ns = seen->ns[i] < min_ns ? seen->ns[i] : min_ns;
		max_ns = seen->ns[i] > max_ns ? seen->ns[i] : max_ns;
	}
	return quantile_ns(&h, q, min_ns, max_ns);
}

/* A whole, and its parts for two owners. */
static void begin(void)
{
	static const char *const labels[] = { "/a.service", "/b.service" };

	init_run();
	for (u32 i = 0; i < 3; i++)
		s.watch[i] = (struct watch){ .device = &s.device[0], .stage = BLKLAT_STAGE_DEVICE,
					      .part = i ? part_find(by_names[BLKLAT_BY_CGROUP], labels[i - 1]) : NULL };
	synthetic_begin(&s, 3, SCALE, 1);
}

/* An IO of owner @part, and of the whole. */
static void io(u32 part, u32 op, u64 ns)
{
	synthetic_io(&s, 0, op, ns, 1);
	synthetic_io(&s, part, op, ns, 1);
}

static double at(const struct run *r, u32 watch, u32 i, u32 which)
{
	return percentiles_run_ns(&r->watches[watch].all_ops, i, which);
}

/* Random IOs of up to three ops in each of 200 intervals, some of which have none of an op, or none at all. */
TEST(of_merged_bins)
{
	static const double medians[] = { [READ] = 8e4, [WRITE] = 9e5, [FLUSH] = 2e7 };
	static struct seen seen[200];

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(seen); i++) {
		seen[i].n = 0;
		for (u32 op = READ; op <= FLUSH; op++)
			for (u32 n = synthetic_random(&s) < 0.3 ? 0 : 1200 * pow(synthetic_random(&s), 3); n; n--) {
				u64 ns = llround(medians[op] * exp(0.6 * synthetic_normal(&s)));

				io(1, op, ns);
				seen[i].ns[seen[i].n++] = ns;
			}
		io(2, WRITE, 5000);		/* of somebody else */
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	for (u32 i = 0; i < ARRAY_SIZE(seen); i++)
		for (u32 p = 0; p < run_over_time.n; p++) {
			double q = run_over_time.p[p].q, is = at(&s.run, 1, i, p);

			if (!seen[i].n) {
				assert_true(is < 0);
				continue;
			}
			assert_close(is, of_one_histogram(&seen[i], q), 0);
		}
}

/* A limit that has room for all but them. */
TEST(limited)
{
	u64 bytes = 0;

	for (u32 pass = 0; pass < 2; pass++) {
		begin();
		s.run.budget.most = bytes;
		for (u32 op = READ; op <= WRITE; op++)
			io(1, op, 30000);
		s.frames.f[0].interval_s = 1;
		if (pass)
			assert_int_equal(run_add(&s.run, &s.frames), -E2BIG);
		else
			synthetic_tick(&s, 1);
		assert_int_equal(s.run.budget.exceeded, pass);
		bytes = s.run.budget.taken - 1;
	}
}
