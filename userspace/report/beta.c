// SPDX-License-Identifier: GPL-2.0-only
#include "report/beta.h"

#include <math.h>
#include <stdbool.h>

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

double incomplete_beta(double a, double b, double x, double y)
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
