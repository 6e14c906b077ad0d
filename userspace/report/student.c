// SPDX-License-Identifier: GPL-2.0-only
#include "report/student.h"

#include <math.h>
#include <stdbool.h>

#define TERMS_MAX 10000
#define TINY 1e-300
#define EXACT 1e-15

static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method; fast for x < (a + 1) / (a + b + 2). */
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

/* I_x(a, b), the regularized incomplete beta function; y is 1 - x, which may be too close to 1 to be told from it. */
static double incomplete_beta(double a, double b, double x, double y)
{
	bool mirrored = x > (a + 1) / (a + b + 2);
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));

	if (x <= 0 || y <= 0)
		return x > 0;
	return mirrored ? 1 - front * beta_fraction(b, a, y) / b : front * beta_fraction(a, b, x) / a;
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
