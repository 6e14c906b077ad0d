// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes against noise: the t distribution against published tables, the binomial one against sums, and how often seeded
 * runs are judged wrongly.
 */
#include "synthetic_run.h"

#include "report/noise.h"

#define ROUNDS 8000

/* Against the sum of the probabilities, from the smallest one. */
TEST(binomial_tails)
{
	for (u32 n = 1; n <= 60; n += 7)
		for (double p = 0.01; p < 1; p += 0.07)
			for (u32 k = 0; k <= n; k++) {
				double sum = 0;

				for (u32 i = n + 1; i-- > k;)
					sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log(1 - p));
				assert_close(binomial_at_least(k, n, p) / sum, 1, 1e-9);
			}
	/* 5000 slow IOs, half of them where a hundredth of all IOs are. */
	assert_true(binomial_at_least(2500, 5000, 0.01) < 1e-300);
	assert_close(binomial_at_least(50, 5000, 0.01), 0.519092, 1e-6);
	assert_close(binomial_at_least(3, 10, 0), 0, 0);
	assert_close(binomial_at_least(3, 10, 1), 1, 0);
}

/*
 * NIST/SEMATECH e-Handbook 1.3.6.7.2 (which has 318.313 where cot(0.001 pi) is 318.309), and the closed forms of 1 and 2
 * degrees of freedom.
 */
TEST(students_table)
{
	static const struct { double p, df, t; } table[] = {
		{ 0.05, 1, 12.706 }, { 0.05, 2, 4.303 }, { 0.05, 3, 3.182 }, { 0.05, 4, 2.776 }, { 0.05, 10, 2.228 },
		{ 0.05, 30, 2.042 }, { 0.05, 100, 1.984 }, { 0.01, 4, 4.604 }, { 0.002, 1, 318.309 }, { 0.2, 7, 1.415 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_close(student_beyond(table[i].p, table[i].df), table[i].t, 0.0006);
	for (double t = 0.001; t < 1e6; t *= 3) {
		assert_close(student_two_sided(t, 1) / (2 / M_PI * atan(1 / t)), 1, 1e-10);
		assert_close(student_two_sided(t, 2) / (2 / (2 + t * t) / (1 + t / sqrt(2 + t * t))), 1, 1e-10);
		assert_close(student_two_sided(-t, 2.5), student_two_sided(t, 2.5), 0);
	}
	assert_close(student_two_sided(0, 3), 1, 0);
	assert_close(student_two_sided(1.959963985, 1e9), 0.05, 1e-6);
}

/*
 * 100, 110, 121 against 121, 133.1, 146.41: the logarithms are 0, 1, 2 and 2, 3, 4 times ln 1.1, so the difference is 2, its
 * error sqrt(2/3), df 4; t is 2.449.
 */
TEST(by_hand)
{
	double a[] = { 121, 100, 110 }, b[] = { 133.1, 121, 146.41 };
	struct noise n = noise_of(a, 3, b, 3, 1);

	assert_close(n.base.median, 110, 0);
	assert_close(n.base.min, 100, 0);
	assert_close(n.other.max, 146.41, 0);
	assert_close(n.ratio, 1.21, 1e-12);
	assert_true(n.known);
	assert_close(n.low, pow(1.1, 2 - 2.776445105 * sqrt(2. / 3)), 1e-8);
	assert_close(n.high, pow(1.1, 2 + 2.776445105 * sqrt(2. / 3)), 1e-8);
	assert_close(n.p, 0.0705, 0.0001);
	assert_false(noise_beyond(&n, true));
}

TEST(what_has_no_interval)
{
	double one[] = { 5 }, two[] = { 5, 7 }, zero[] = { 0, 7 }, same[] = { 5, 5 };
	struct noise n = noise_of(one, 1, two, 2, 1);

	assert_false(n.known);
	assert_close(n.ratio, 1.2, 1e-12);
	assert_false(noise_beyond(&n, true));
	n = noise_of(two, 2, zero, 2, 1);
	assert_false(n.known);
	n = noise_of(two, 2, zero, 0, 1);
	assert_false(n.known || n.ratio >= 0 || n.other.median >= 0);
	n = noise_of(same, 2, same, 2, 1);
	assert_true(n.known && n.p == 1);
	assert_false(noise_beyond(&n, true) || noise_beyond(&n, false));
}

/*
 * Neighbouring bins are no change, however little the repeats vary. A distance of two bins is a change, and so is one of
 * a single bin where figures are exact.
 */
TEST(the_resolution_is_no_change)
{
	const double bin = exp2(1. / 64);

	for (double vary = 0; vary < 0.001; vary += 0.0004) {
		double a[] = { 100e3 * (1 - vary), 100e3, 100e3 * (1 + vary) }, b[3], c[3];
		struct noise n;

		for (int i = 0; i < 3; i++) {
			b[i] = a[i] * bin;
			c[i] = a[i] / bin / bin;
		}
		n = noise_of(a, 3, b, 3, bin);
		assert_true(n.known && n.p == 1);
		assert_false(noise_beyond(&n, true) || noise_beyond(&n, false));
		n = noise_of(a, 3, b, 3, 1);
		assert_true(noise_beyond(&n, true) && n.p < 0.05);
		n = noise_of(a, 3, c, 3, bin);
		assert_true(noise_beyond(&n, false) && n.p < 0.05);
		assert_close(sqrt(n.low * n.high), 1 / bin / bin, 1e-9);
	}
}

/* How often '> +10% beyond noise' holds, judged as compare does. */
static const struct gate {
	u32 n, n_other;
	double deviation, deviation_other, outliers, change, least, most;
} gates[] = {
	/* Identical jobs pass: one side of 95 % is 2.5 %; two standard errors of 8000 rounds are 0.35 %. */
	{ 3, 3, 0.02, 0.02, 0, 1, 0, 0.0285 }, { 2, 2, 0.02, 0.02, 0, 1, 0, 0.0285 }, { 5, 5, 0.02, 0.02, 0.1, 1, 0, 0.0285 },
	{ 3, 3, 0.3, 0.3, 0, 1, 0, 0.0285 }, { 2, 2, 0.3, 0.3, 0, 1, 0, 0.0285 }, { 5, 5, 0.3, 0.3, 0.1, 1, 0, 0.0285 },
	/* Welch's degrees of freedom are estimates: where sides differ in noise or number it comes close, as the manual says. */
	{ 3, 6, 0.1, 0.1, 0, 1, 0, 0.035 }, { 3, 3, 0.1, 0.025, 0, 1, 0, 0.04 }, { 2, 10, 0.1, 0.025, 0, 1, 0, 0.08 },
	{ 3, 6, 1, 1, 0, 1, 0, 0.035 }, { 3, 3, 1, 0.25, 0, 1, 0, 0.04 }, { 2, 10, 1, 0.25, 0, 1, 0, 0.08 },
	/* A real change is found. */
	{ 3, 3, 0.05, 0.05, 0, 1.3, 0.95, 1 }, { 5, 5, 0.1, 0.1, 0, 1.3, 0.9, 1 }, { 10, 10, 0.15, 0.15, 0, 1.3, 0.9, 1 },
};

static void fill(double *to, u32 n, double median, double deviation, double outliers)
{
	for (u32 i = 0; i < n; i++)
		to[i] = median * exp(deviation * synthetic_normal(&s)) * (synthetic_random(&s) < outliers ? 4 : 1);
}

TEST(how_often_a_gate_trips)
{
	s.random = 14;
	for (const struct gate *g = gates; g < gates + ARRAY_SIZE(gates); g++) {
		double a[10], b[10], share = 0;

		for (u32 round = 0; round < ROUNDS; round++) {
			struct noise r;

			fill(a, g->n, 300e3, g->deviation, g->outliers);
			fill(b, g->n_other, 300e3 * g->change, g->deviation_other, g->outliers);
			r = noise_of(a, g->n, b, g->n_other, 1);
			share += (r.other.median > 1.1 * r.base.median && noise_beyond(&r, true)) / (double)ROUNDS;
		}
		if (share < g->least || share > g->most)
			fail_msg("row %zu: %.4f", g - gates, share);
	}
}
