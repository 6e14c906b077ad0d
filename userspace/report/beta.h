/* SPDX-License-Identifier: GPL-2.0-only */
/* The incomplete beta function, and what follows from it. Pure. */
#ifndef REPORT_BETA_H
#define REPORT_BETA_H

/* I_x(a, b), the regularized one, @a and @b above 0; @y is 1 - @x, which may be too close to 1 to be told from it. */
double incomplete_beta(double a, double b, double x, double y);

/* The probability of @k or more of @n, where each comes with probability @p, 0 <= @p <= 1, and @k <= @n. */
double binomial_at_least(unsigned int k, unsigned int n, double p);

#endif
