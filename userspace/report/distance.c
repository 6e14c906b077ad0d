// SPDX-License-Identifier: GPL-2.0-only
#include "report/distance.h"

#include <errno.h>
#include <math.h>

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
