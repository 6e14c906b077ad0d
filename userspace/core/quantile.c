// SPDX-License-Identifier: GPL-2.0-only
#include "core/quantile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"

const struct percentiles percentiles_default = {
	.n = 5,
	.p = {
		{ 0.5, "p50" },
		{ 0.9, "p90" },
		{ 0.99, "p99" },
		{ 0.999, "p99.9" },
		{ 0.9999, "p99.99" },
	},
};

/*
 * Turns a normalised number, digits with at most one point, into a share by one division of two exact
 * integers. 13 digits fit into a double, so the result is the double nearest to what the user meant.
 * (strtod() would depend on the locale, and accept nan, inf, hex and exponents.)
 */
static double share_of(const char *number)
{
	u64 digits = 0, divisor = 100;
	bool fraction = false;

	for (; *number; number++) {
		if (*number == '.') {
			fraction = true;
			continue;
		}
		digits = digits * 10 + (*number - '0');
		if (fraction)
			divisor *= 10;
	}
	return (double)digits / divisor;
}

static bool percentile_read(const char *text, size_t len, struct percentile *ret)
{
	const char *end = text + len;
	size_t whole, fraction = 0, size;

	if (*text == 'p')
		text++;
	whole = size = strspn(text, DIGITS);
	if (text[whole] == '.') {
		fraction = strspn(text + whole + 1, DIGITS);
		if (!fraction)
			return false;
		size += 1 + fraction;
	}
	if (!whole || text + size != end)
		return false;

	for (; whole > 1 && *text == '0'; whole--)
		text++;
	while (fraction && text[whole + fraction] == '0')
		fraction--;
	size = fraction ? whole + 1 + fraction : whole;
	if (size + sizeof("p") > sizeof(ret->name))
		return false;
	snprintf(ret->name, sizeof(ret->name), "p%.*s", (int)size, text);
	ret->q = share_of(ret->name + 1);
	return ret->q > 0 && ret->q <= 1;
}

/* Keeps the percentiles in ascending order. Returns false if there is no room. */
static bool percentile_insert(struct percentiles *ps, const struct percentile *p)
{
	u32 i = 0;

	while (i < ps->n && ps->p[i].q < p->q)
		i++;
	if (i < ps->n && ps->p[i].q == p->q)
		return true;
	if (ps->n == PERCENTILES_MAX)
		return false;
	memmove(&ps->p[i + 1], &ps->p[i], (ps->n - i) * sizeof(*p));
	ps->p[i] = *p;
	ps->n++;
	return true;
}

int percentiles_parse(const char *list, struct percentiles *ret, const char **ret_bad, int *ret_bad_len)
{
	struct percentiles ps = {};

	for (const char *part = list;; part++) {
		size_t len = strcspn(part, ",");
		struct percentile p;

		if (!percentile_read(part, len, &p) || !percentile_insert(&ps, &p)) {
			*ret_bad = part;
			*ret_bad_len = len;
			return -EINVAL;
		}
		part += len;
		if (!*part)
			break;
	}
	*ret = ps;
	return 0;
}

/*
 * ceil(q * n) for the q that was meant. As a double, 0.07 is a little more than 7 %, which would select
 * the eighth of 100 IOs. The two roundings add at most 2^-52; twice that is taken off.
 */
static u64 rank_of(double q, u64 n)
{
	long double rank = ceill((long double)q * n * (1 - 0x1p-51L));

	if (rank < 1)
		return 1;
	return rank < n ? (u64)rank : n;
}

/* The value at @place, a share from 0 to 1 of the width of a cell, which is cut to the extremes. */
static double inside_cell(u32 scale, u32 cell, double place, double min, double max)
{
	u32 bins = BLKLAT_BINS(scale);
	double lower, upper;

	if (!cell)
		return min;
	if (cell > bins)
		return max;
	lower = fmax(hist_lower_ns(scale, cell), min);
	upper = fmin(hist_upper_ns(scale, cell), max);
	return fmin(fmax(lower * pow(upper / lower, place), min), max);
}

double quantile_ns(const struct hist *h, double q, u64 min_ns, u64 max_ns)
{
	u64 n = hist_count(h), before = 0, rank;
	u32 cell = 0;

	if (!n)
		return -1;
	rank = rank_of(q, n);
	/* The slowest and the fastest IO are known exactly. */
	if (rank == n)
		return max_ns;
	if (rank == 1)
		return min_ns;

	while (before + h->cells[cell] < rank)
		before += h->cells[cell++];
	/* The c IOs of a bin are assumed to lie in the middles of c equal parts of it, so there is no bias. */
	return inside_cell(h->scale, cell, (rank - before - 0.5) / h->cells[cell], min_ns, max_ns);
}

double quantile_resolution(u32 scale, double ns)
{
	u32 cell = blklat_cell(ceil(ns), scale);

	if (!cell || cell > BLKLAT_BINS(scale))
		return 1;
	return (double)hist_upper_ns(scale, cell) / hist_lower_ns(scale, cell);
}
