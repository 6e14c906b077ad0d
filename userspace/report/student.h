/* SPDX-License-Identifier: GPL-2.0-only */
/* Student's t distribution, of degrees of freedom that need not be whole. Pure. */
#ifndef REPORT_STUDENT_H
#define REPORT_STUDENT_H

/* The probability of a value as far from 0 as @t or farther, on either side. @df is above 0. */
double student_two_sided(double t, double df);

/* The t above 0 whose two-sided probability is @p, 0 < @p < 1: 2.776 for 0.05 and 4. */
double student_beyond(double p, double df);

#endif
