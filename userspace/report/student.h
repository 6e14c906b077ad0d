/* SPDX-License-Identifier: GPL-2.0-only */
/* Student's t distribution; the degrees of freedom need not be whole. Pure. */
#ifndef REPORT_STUDENT_H
#define REPORT_STUDENT_H

/* The probability of a value at least as far from 0 as @t, on either side. @df is above 0. */
double student_two_sided(double t, double df);

/* The t > 0 whose two-sided probability is @p, 0 < @p < 1: 2.776 for @p = 0.05 and @df = 4. */
double student_beyond(double p, double df);

#endif
