// SPDX-License-Identifier: GPL-2.0-only
#include "report/student.h"

#include <math.h>

#include "report/beta.h"

#define EXACT 1e-15

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
