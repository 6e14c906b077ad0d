// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "core/quantile.h"

#define SAMPLES_MAX 20000
#define SEED 20261121ULL

static bool in_cell(double ns, u32 scale, u32 cell)
{
	return ns > hist_lower_ns(scale, cell) && ns <= hist_upper_ns(scale, cell);
}

TEST(empty)
{
	struct hist h;

	assert_int_equal(hist_init(&h, 6), 0);
	assert_true(quantile_ns(&h, 0.5, 0, 0) < 0);
	assert_true(quantile_ns(&h, 1, 1000, 2000) < 0);
	hist_uninit(&h);
}

/*
 * Expected values by Python's decimal: lower * (upper / lower) ^ ((rank - 0.5) / IOs in the bin),
 * the bin cut to the extremes. Cell 767 is (59727, 60377].
 */
#define THREE_BINS { { 100, 6 }, { 767, 4 }, { 900, 10 } }
TEST(interpolation)
{
	static const struct {
		const char *what;
		u32 scale;
		struct { u32 cell; u64 n; } put[3];
		double q;
		u64 min_ns, max_ns;
		double result;
	} cases[] = {
		{ "1 IO is known exactly", 6, { { 767, 1 } }, 0.5, 60001, 60001, 60001 },
		{ "1 IO, q = 1", 6, { { 767, 1 } }, 1, 60001, 60001, 60001 },
		{ "1 IO, tiny q", 6, { { 767, 1 } }, 1e-9, 60001, 60001, 60001 },
		{ "first of a bin", 6, THREE_BINS, 0.35, 50, 300000, 59807.865759548873 },
		{ "second", 6, THREE_BINS, 0.40, 50, 300000, 59969.925884919693 },
		{ "third", 6, THREE_BINS, 0.45, 50, 300000, 60132.425141229255 },
		{ "between ranks: the next", 6, THREE_BINS, 0.41, 50, 300000, 60132.425141229255 },
		{ "last of a bin", 6, THREE_BINS, 0.50, 50, 300000, 60295.364718381498 },
		{ "fastest of all", 6, THREE_BINS, 0.05, 43, 300000, 43 },
		{ "slowest of all", 6, THREE_BINS, 1, 43, 254321, 254321 },
		{ "first bin begins at min", 6, { { 767, 4 }, { 900, 10 } },
		  3 / 14., 60000, 300000, 60235.348200764054 },
		{ "last bin ends at max", 6, { { 100, 10 }, { 767, 4 } }, 12 / 14., 50, 60000, 59829.229131161722 },
		{ "scale 0", 0, { { 1, 4 }, { 12, 8 }, { 20, 4 } }, 0.5, 20, 10000000, 41328.112767908944 },
		{ "all in one bin", 6, { { 767, 1000 } }, 0.999, 60005, 60005, 60005 },
		{ "below the grid: min", 6, { { 0, 9 }, { 767, 1 } }, 0.5, 3, 60000, 3 },
		{ "above the grid: max", 6, { { 767, 1 }, { 2113, 9 } }, 0.5, 60000, 200000000000, 200000000000 },
		{ "all above", 0, { { 34, 9 } }, 0.5, 130000000000, 200000000000, 200000000000 },
		{ "clamped up to min", 6, { { 767, 9 } }, 0.5, 61000, 62000, 61000 },
		{ "clamped down to max", 6, { { 767, 9 } }, 0.5, 10, 20, 20 },
		{ "max was not seen", 6, { { 767, 9 } }, 0.5, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double result;
		struct hist h;

		assert_int_equal(hist_init(&h, cases[i].scale), 0);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].put); j++)
			hist_put(&h, cases[i].put[j].cell, cases[i].put[j].n);
		result = quantile_ns(&h, cases[i].q, cases[i].min_ns, cases[i].max_ns);
		if (!(fabs(result - cases[i].result) <= cases[i].result * 1e-12))
			fail_msg("%s: is %.9f, must be %.9f", cases[i].what, result, cases[i].result);
		hist_uninit(&h);
	}
}

/* ceil(per_mille / 1000 * n) without a rounding. */
static u64 exact_rank(u64 per_mille, u64 n)
{
	return (per_mille * n + 999) / 1000;
}

/*
 * One IO a cell: the cell that is found is the rank that was used. q goes through percentiles_parse(), so
 * every share is rounded as in a run: 0.07 * 100 > 7 in doubles must still be IO 7.
 */
TEST(ranks)
{
	static const u32 sizes[] = { 1, 2, 3, 7, 10, 99, 100, 101, 640, 1000, 1500 };
	const u32 first = 300;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 n = sizes[i];
		struct hist h;
		u64 min_ns, max_ns;

		assert_int_equal(hist_init(&h, 6), 0);
		for (u32 j = 0; j < n; j++)
			hist_put(&h, first + j, 1);
		min_ns = hist_upper_ns(6, first);
		max_ns = hist_upper_ns(6, first + n - 1);
		for (u32 per_mille = 1; per_mille <= 1000; per_mille++) {
			u32 cell = first + exact_rank(per_mille, n) - 1;
			const char *bad = NULL;
			struct percentiles ps;
			char text[16];
			double result;
			int len = 0;

			snprintf(text, sizeof(text), "%u.%u", per_mille / 10, per_mille % 10);
			assert_int_equal(percentiles_parse(text, &ps, &bad, &len), 0);
			result = quantile_ns(&h, ps.p[0].q, min_ns, max_ns);
			if (!in_cell(result, 6, cell))
				fail_msg("%u IOs, p%s: %.1f is not in cell %u", n, text, result, cell);
		}
		hist_uninit(&h);
	}
}

/* The shares at which the fast end and the slow end begin, with more IOs than 32 bits hold. */
TEST(ranks_of_many)
{
	static const struct { u64 fast, slow; double q; u32 cell; } cases[] = {
		{ 999900000000, 100000000, 0.9999, 500 }, { 999899999999, 100000001, 0.9999, 600 },
		{ 999900000000, 100000000, 0.99990000001, 600 }, { 70000000000, 930000000000, 0.07, 500 },
		{ 69999999999, 930000000001, 0.07, 600 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 cell = cases[i].cell;
		double result;
		struct hist h;

		assert_int_equal(hist_init(&h, 6), 0);
		hist_put(&h, 500, cases[i].fast);
		hist_put(&h, 600, cases[i].slow);
		result = quantile_ns(&h, cases[i].q, hist_upper_ns(6, 500), hist_upper_ns(6, 600));
		if (!in_cell(result, 6, cell))
			fail_msg("case %zu: %.1f is not in cell %u", i, result, cell);
		hist_uninit(&h);
	}
}

static double unit(u64 *seed)
{
	return (next_random(seed) >> 11) * 0x1p-53;
}

static u64 log_uniform(u64 *seed, double low, double high)
{
	return low * pow(high / low, unit(seed));
}

enum shape { WHOLE_GRID, ONE_DECADE, TWO_PEAKS, LONG_TAIL, CONSTANT, FEW_VALUES, SHAPES };

static u64 sample(enum shape shape, u64 *seed)
{
	switch (shape) {
	case WHOLE_GRID:	/* and beyond both ends of it */
		return log_uniform(seed, 2, 1e12);
	case ONE_DECADE:
		return 10000 + unit(seed) * 90000;
	case TWO_PEAKS:
		return unit(seed) < 0.22 ? log_uniform(seed, 27e3, 29e3) :
					   log_uniform(seed, 5e6, 13e6);
	case LONG_TAIL:
		return 60000 / pow(1 - unit(seed), 1.5);
	case FEW_VALUES:
		return 20 + next_random(seed) % 5;
	default:
		return 123456;
	}
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* The sorted samples are the truth; at each resolution a percentile must be in the bin of the true value. */
static void check_samples(const u64 *sorted, u32 n, u32 scale)
{
	static const u32 shares[] = { 1, 10, 100, 250, 500, 501, 750, 900, 990, 999, 1000 };
	u64 min_ns = sorted[0], max_ns = sorted[n - 1];
	double former = 0;
	struct hist h;

	assert_int_equal(hist_init(&h, scale), 0);
	for (u32 i = 0; i < n; i++)
		hist_put(&h, blklat_cell(sorted[i], scale), 1);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		u64 truth = sorted[exact_rank(shares[i], n) - 1];
		u32 cell = blklat_cell(truth, scale);
		double result = quantile_ns(&h, shares[i] / 1000., min_ns, max_ns);

		if (result < min_ns || result > max_ns)
			fail_msg("n %u scale %u share %u: %.1f leaves the extremes", n, scale, shares[i], result);
		if (result < former)
			fail_msg("n %u scale %u share %u: %.1f falls below %.1f", n, scale, shares[i], result, former);
		former = result;
		if (!in_cell(result, scale, cell))
			fail_msg("n %u scale %u share %u: %.1f is not in the bin of %llu", n, scale,
				 shares[i], result, truth);
	}
	assert_true(former == max_ns);
	hist_uninit(&h);
}

TEST(against_sorted_samples)
{
	static const u32 sizes[] = { 1, 2, 5, 100, 1001, SAMPLES_MAX };
	static u64 samples[SAMPLES_MAX];
	u64 seed = SEED;

	print_message("seed %llu\n", seed);
	for (enum shape shape = 0; shape < SHAPES; shape++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			u32 n = sizes[i];

			for (u32 j = 0; j < n; j++)
				samples[j] = sample(shape, &seed);
			qsort(samples, n, sizeof(samples[0]), by_value);
			for (u32 scale = 0; scale <= 6; scale++)
				check_samples(samples, n, scale);
		}
	}
}

TEST(lists_read)
{
	static const struct { const char *list; u32 n; struct percentile p[4]; } cases[] = {
		{ "50", 1, { { 0.5, "p50" } } }, { "p50,p99.9", 2, { { 0.5, "p50" }, { 0.999, "p99.9" } } },
		{ "99.9,50,p90", 3, { { 0.5, "p50" }, { 0.9, "p90" }, { 0.999, "p99.9" } } },
		{ "50,p50,50.0,050", 1, { { 0.5, "p50" } } }, { "p99.90", 1, { { 0.999, "p99.9" } } },
		{ "99.000", 1, { { 0.99, "p99" } } },
		{ "0.5,00.25", 2, { { 0.0025, "p0.25" }, { 0.005, "p0.5" } } }, { "100", 1, { { 1, "p100" } } },
		{ "100.0", 1, { { 1, "p100" } } }, { "10", 1, { { 0.1, "p10" } } },
		{ "7", 1, { { 0.07, "p7" } } },
		{ "99.99999999999", 1, { { 0.9999999999999, "p99.99999999999" } } },
		{ "0.00000000001", 1, { { 0.0000000000001, "p0.00000000001" } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *bad = NULL;
		struct percentiles ps;
		int len = 0;

		if (percentiles_parse(cases[i].list, &ps, &bad, &len))
			fail_msg("'%s' refused at '%s'", cases[i].list, bad);
		assert_int_equal(ps.n, cases[i].n);
		for (u32 j = 0; j < ps.n; j++) {
			assert_string_equal(ps.p[j].name, cases[i].p[j].name);
			/* Exact to the bit: the literals are the nearest doubles. */
			if (ps.p[j].q != cases[i].p[j].q)
				fail_msg("%s is %.17g", ps.p[j].name, ps.p[j].q);
		}
	}
}

TEST(lists_refused)
{
	/* The list, and what is wrong in it, from which letter on. */
	static const struct { const char *list, *bad; int at; } cases[] = {
		{ "50,,90", "", 3 }, { "50,", "", 3 }, { ",50", "", 0 }, { "90,-5,abc", "-5", 3 }, { "50, 90", " 90", 3 }, { "99,9;50", "9;50", 3 },
		{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "17", 39 },
		{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,0.5,50", "0.5", 39 },
	};
	/* All of it. The last two are too long for the name, and 50 modulo 2^64. */
	static const char *const wholes[] = {
		"", "p101", "abc", "p", "pp50", "P50", "0", "p0.000", "100.01", "+5", "50 ", "nan", "inf", "1e1", "0x10", ".5", "5.", "9.9.9",
		"99.999999999999", "18446744073709551666",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases) + ARRAY_SIZE(wholes); i++) {
		const char *whole = i < ARRAY_SIZE(cases) ? NULL : wholes[i - ARRAY_SIZE(cases)];
		const char *list = whole ?: cases[i].list, *wrong = whole ?: cases[i].bad, *bad = NULL;
		struct percentiles ps = percentiles_default;
		int len = -1;

		if (percentiles_parse(list, &ps, &bad, &len) != -EINVAL)
			fail_msg("'%s' was taken", list);
		assert_ptr_equal(bad, list + (whole ? 0 : cases[i].at));
		assert_int_equal(len, strlen(wrong));
		assert_memory_equal(bad, wrong, len);
		assert_memory_equal(&ps, &percentiles_default, sizeof(ps));
	}
}

/* 16 fit; repeats take no room. */
TEST(lists_full)
{
	const char *bad = NULL;
	struct percentiles ps;
	int len = 0;

	assert_int_equal(percentiles_parse("16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,p1.0,16.00", &ps, &bad, &len), 0);
	assert_int_equal(ps.n, 16);
	for (u32 i = 0; i < 16; i++)
		assert_true(fabs(ps.p[i].q - (i + 1) / 100.) < 1e-14);
}
