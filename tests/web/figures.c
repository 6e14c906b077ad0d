// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the page has to compute as the program does, computed by the program: percentiles of random histograms, and the
 * bounds of their bins. Prints one JSON document; all chance comes from a fixed seed.
 */
#include <math.h>
#include <stdio.h>

#include "core/quantile.h"
#include "util/cleanup.h"
#include "util/json.h"

#define HISTOGRAMS 2000
#define CELLS_MOST 40
#define SHARES_MOST 12

static u64 state = 88172645463325252ULL;

/* Below @n; xorshift64*. */
static u64 below(u64 n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ULL >> 11) % n;
}

/* Up to a million, small ones as often as large ones. */
static u64 some(void)
{
	return 1 + below(pow(10, below(7)));
}

/* Every bit of it. */
static struct json_object *number(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", value);
	return json_new_decimal(value, text);
}

/* --- percentiles ------------------------------------------------------------------------------- */

static struct json_object *bins(const struct hist *h)
{
	struct json_object *to = json_new_array(0);

	for (u32 cell = 0; cell < BLKLAT_CELLS(h->scale); cell++) {
		struct json_object *bin;

		if (!h->cells[cell])
			continue;
		bin = json_new_array(3);
		json_append(bin, json_new_count(hist_lower_ns(h->scale, cell)));
		json_append(bin, cell > BLKLAT_BINS(h->scale) ? NULL : json_new_count(hist_upper_ns(h->scale, cell)));
		json_append(bin, json_new_count(h->cells[cell]));
		json_append(to, bin);
	}
	return to;
}

/* Near the grid's lower end some cells have no whole ns; these are put into the one below them. */
static void put(struct hist *h, u32 cell)
{
	h->cells[blklat_cell(hist_upper_ns(h->scale, cell), h->scale)] += some();
}

/* Cells beside each other and far apart; now and then those outside of the grid. */
static void fill(struct hist *h)
{
	u32 cells = BLKLAT_CELLS(h->scale), cell = below(cells);

	for (u64 n = 1 + below(CELLS_MOST); n && cell < cells; n--) {
		put(h, cell);
		cell += 1 + (below(4) ? 0 : below(cells / 4 + 1));
	}
	if (!below(10))
		put(h, 0);
	if (!below(10))
		put(h, cells - 1);
}

/* A latency that lies in the cell. */
static u64 inside(u32 scale, u32 cell)
{
	u64 lower = hist_lower_ns(scale, cell);

	return lower + 1 + below(cell > BLKLAT_BINS(scale) ? NSEC_PER_SEC : hist_upper_ns(scale, cell) - lower);
}

/* Extremes that the first and the last cell in use can have. */
static void choose_extremes(const struct hist *h, u64 *ret_min, u64 *ret_max)
{
	u32 first, last;

	hist_range(h, &first, &last);
	*ret_min = inside(h->scale, first);
	*ret_max = inside(h->scale, last);
	if (*ret_max < *ret_min)
		*ret_max = *ret_min;
}

/* The percentiles that are shown, and others. */
static struct json_object *quantiles(const struct hist *h, u64 min_ns, u64 max_ns)
{
	static const double shown[] = { 0.01, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1 };
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < SHARES_MOST; i++) {
		double share = i < ARRAY_SIZE(shown) ? shown[i] : (1 + below(9999)) / 10000.0;
		struct json_object *one = json_new_array(2);

		json_append(one, number(share));
		json_append(one, number(quantile_ns(h, share, min_ns, max_ns)));
		json_append(to, one);
	}
	return to;
}

static struct json_object *histogram(void)
{
	struct json_object *to = json_new_object();
	struct hist h CLEANUP(hist_uninit) = { 0 };
	u64 min_ns, max_ns;

	if (hist_init(&h, below(BLKLAT_SCALE_MAX + 1)))
		return NULL;
	fill(&h);
	choose_extremes(&h, &min_ns, &max_ns);
	json_add(to, "bins", bins(&h));
	json_add(to, "min", json_new_count(min_ns));
	json_add(to, "max", json_new_count(max_ns));
	json_add(to, "quantiles", quantiles(&h, min_ns, max_ns));
	return to;
}

/* --- the grid ---------------------------------------------------------------------------------- */

/* Upper bounds of all cells that have one, at each scale. */
static struct json_object *bounds(void)
{
	struct json_object *to = json_new_array(0);

	for (u32 scale = 0; scale <= BLKLAT_SCALE_MAX; scale++) {
		struct json_object *of_scale = json_new_array(0);

		for (u32 cell = 0; cell <= BLKLAT_BINS(scale); cell++)
			json_append(of_scale, json_new_count(hist_upper_ns(scale, cell)));
		json_append(to, of_scale);
	}
	return to;
}

static struct json_object *many(u32 n, struct json_object *(*make)(void))
{
	struct json_object *to = json_new_array(n);

	for (u32 i = 0; i < n; i++)
		json_append(to, make());
	return to;
}

int main(void)
{
	struct json_object *to CLEANUP(cleanup_json) = json_new_object();
	const char *line;

	json_add(to, "histograms", many(HISTOGRAMS, histogram));
	json_add(to, "bounds", bounds());
	line = json_line(to);
	if (!line)
		return 1;
	puts(line);
	return 0;
}
