// SPDX-License-Identifier: GPL-2.0-only
#include "report/noise.h"

#include <math.h>
#include <stdlib.h>

#include "report/distance.h"
#include "report/student.h"

#define ROUNDING (1 + 1e-9)	/* tolerance: to be in the next bin is to differ by its width, up to rounding */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct noise_side side_of(double *value, u32 n)
{
	if (!n)
		return (struct noise_side){ .median = -1, .min = -1, .max = -1 };
	qsort(value, n, sizeof(*value), by_value);
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
