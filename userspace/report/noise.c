// SPDX-License-Identifier: GPL-2.0-only
#include "report/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"

double ratio_of(double base, double other)
{
	return base > 0 && other >= 0 ? other / base : -1;
}

/* Both have the same scale. */
static double distance(const struct hist *a, const struct hist *b)
{
	double n_a = hist_count(a), n_b = hist_count(b), most = 0;
	u64 up_to_a = 0, up_to_b = 0;

	for (u32 i = 0; i < BLKLAT_CELLS(a->scale); i++) {
		up_to_a += a->cells[i];
		up_to_b += b->cells[i];
		most = fmax(most, fabs(up_to_a / n_a - up_to_b / n_b));
	}
	return most;
}

int ks_distance(const struct hist *a, const struct hist *b, double *ret)
{
	const struct hist *fine = a->scale > b->scale ? a : b, *coarse = fine == a ? b : a;
	struct hist merged;
	int err;

	if (!hist_count(a) || !hist_count(b))
		return -ENODATA;
	err = hist_init(&merged, coarse->scale);
	if (err)
		return err;
	hist_add(&merged, fine);
	*ret = distance(&merged, coarse);
	hist_uninit(&merged);
	return 0;
}

#define TERMS_MAX 10000
#define TINY 1e-300
#define EXACT 1e-15

static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method; fast for x <
 * (a + 1) / (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m < TERMS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		f *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		f *= c * d;
		if (fabs(c * d - 1) < EXACT)
			break;
	}
	return f;
}

/*
 * The regularized incomplete beta function I_x(a, b); @a and @b are above 0. @y is 1 - @x, given
 * separately since it may be too close to 1 for a double @x to tell.
 */
static double incomplete_beta(double a, double b, double x, double y)
{
	bool mirrored = x > (a + 1) / (a + b + 2);
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));

	if (x <= 0 || y <= 0)
		return x > 0;
	return mirrored ? 1 - front * beta_fraction(b, a, y) / b : front * beta_fraction(a, b, x) / a;
}

/* DLMF 8.17.5 */
double binomial_at_least(unsigned int k, unsigned int n, double p)
{
	return k ? incomplete_beta(k, (double)n - k + 1, p, 1 - p) : 1;
}

/* DLMF 8.17.4 applied to the distribution: P(|T| > t) = I_x(df / 2, 1 / 2) with x = df / (df + t^2). */
double student_two_sided(double t, double df)
{
	double sum = df + t * t;

	return isinf(sum) ? 0 : incomplete_beta(df / 2, 0.5, df / sum, t * t / sum);
}

double student_beyond(double p, double df)
{
	double low = 0, high = 1;

	while (student_two_sided(high, df) > p && high < 1e150)
		high *= 2;
	for (int i = 0; i < 200 && high - low > EXACT * high; i++) {
		double middle = (low + high) / 2;

		if (student_two_sided(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

#define ROUNDING (1 + 1e-9)	/* tolerance: to be in the next bin is to differ by its width, up to rounding */

static struct noise_side side_of(double *value, u32 n)
{
	if (!n)
		return (struct noise_side){ .median = -1, .min = -1, .max = -1 };
	qsort(value, n, sizeof(*value), compare_double);
	return (struct noise_side){
		.n = n, .min = value[0], .max = value[n - 1], .median = (value[(n - 1) / 2] + value[n / 2]) / 2,
	};
}

/* The mean of the logarithms and the square of its standard error. */
static void log_mean(const double *value, u32 n, double *ret_mean, double *ret_error2)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < n; i++)
		sum += log(value[i]);
	for (u32 i = 0; i < n; i++)
		squares += pow(log(value[i]) - sum / n, 2);
	*ret_mean = sum / n;
	*ret_error2 = squares / (n - 1) / n;
}

struct noise noise_of(double *base, u32 n_base, double *other, u32 n_other, double resolution)
{
	struct noise r = { .base = side_of(base, n_base), .other = side_of(other, n_other), .p = 1 };
	double mean_a, mean_b, a, b, difference, df, width = log(resolution) * ROUNDING;

	r.ratio = ratio_of(r.base.median, r.other.median);
	if (n_base < NOISE_REPEATS_MIN || n_other < NOISE_REPEATS_MIN || r.base.min <= 0 || r.other.min <= 0)
		return r;
	log_mean(base, n_base, &mean_a, &a);
	log_mean(other, n_other, &mean_b, &b);
	difference = mean_b - mean_a;
	r.known = true;
	if (fabs(difference) > width)
		r.p = 0;
	if (a + b > 0) {
		/* The Welch-Satterthwaite equation, computed with shares, whose squares can't underflow. */
		df = 1 / (pow(a / (a + b), 2) / (n_base - 1) + pow(b / (a + b), 2) / (n_other - 1));
		if (fabs(difference) > width)
			r.p = student_two_sided(difference / sqrt(a + b), df);
		width = fmax(width, student_beyond(1 - NOISE_CONFIDENCE, df) * sqrt(a + b));
	}
	r.low = exp(difference - width);
	r.high = exp(difference + width);
	return r;
}

bool noise_beyond(const struct noise *n, bool above)
{
	return n->known && (above ? n->low > 1 : n->high < 1);
}
