/* SPDX-License-Identifier: GPL-2.0-only */
/* The incomplete beta function and the binomial distribution. Pure. */
#ifndef REPORT_BETA_H
#define REPORT_BETA_H

/*
 * The regularized incomplete beta function I_x(a, b); @a and @b are above 0. @y is 1 - @x, given
 * separately since it may be too close to 1 for a double @x to tell.
 */
double incomplete_beta(double a, double b, double x, double y);

/*
 * The probability of @k or more successes in @n trials, each with probability @p, 0 <= @p <= 1, and @k
 * <= @n.
 */
double binomial_at_least(unsigned int k, unsigned int n, double p);

#endif
