// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the page has to compute as the program does, computed by the program: percentiles of random histograms, the bounds
 * of their bins, and IOPS of windows of random runs. Prints one JSON document; all chance comes from a fixed seed.
 */
#include <math.h>
#include <stdio.h>

#include "core/quantile.h"
#include "report/steady.h"
#include "util/cleanup.h"
#include "util/json.h"

#define HISTOGRAMS 2000
#define CELLS_MOST 40
#define SHARES_MOST 12
#define RUNS 400
#define INTERVALS_MOST 60
#define WINDOWS 8

static u64 state = 88172645463325252ULL;

/* Below @n; xorshift64*. */
static u64 below(u64 n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ULL >> 11) % n;
}

/* Up to a million, small numbers as often as large ones. */
static u64 some(void)
{
	return 1 + below(pow(10, below(7)));
}

/* With all of its bits. */
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

/* Near the grid's lower end some cells contain no whole ns; their IOs go into the cell below. */
static void put(struct hist *h, u32 cell)
{
	h->cells[blklat_cell(hist_upper_ns(h->scale, cell), h->scale)] += some();
}

/* Cells side by side and far apart; now and then those outside of the grid. */
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

/* Extremes that fit the first and the last cell in use. */
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

/* --- windows of runs --------------------------------------------------------------------------- */

struct world {
	struct run run;
	double start_s[INTERVALS_MOST], length_s[INTERVALS_MOST];
	u64 ios[INTERVALS_MOST];
};

static double share(void)
{
	return below(1000001) / 1e6;
}

/* Intervals that are a little late, some merged, some cut short; seconds without an IO. */
static void live_through(struct world *w)
{
	static const double intervals[] = { 0.1, 1, 10 };
	struct run *r = &w->run;
	double now = 0;

	*w = (struct world){ .run = { .interval_s = intervals[below(3)], .n = 1 + below(INTERVALS_MOST) } };
	r->start_s = w->start_s;
	r->length_s = w->length_s;
	for (u32 i = 0; i < r->n; i++) {
		w->start_s[i] = now;
		w->length_s[i] = r->interval_s * (below(8) ? 1 + share() / 100 : below(2) ? 1 + below(4) : 0.01 + share());
		w->ios[i] = below(5) ? some() : 0;
		now += w->length_s[i];
	}
	r->active = (struct active_window){ .n = r->n, .to_s = now };
}

/* A time in the run or outside of it, or the exact middle of an interval. */
static double moment(const struct world *w)
{
	u32 i = below(w->run.n), last = w->run.n - 1;

	if (!below(3))
		return w->start_s[i] + w->length_s[i] / 2;
	return (share() * 1.2 - 0.1) * (w->start_s[last] + w->length_s[last]);
}

static struct json_object *window(const struct world *w)
{
	struct json_object *to = json_new_object();
	double from_s = moment(w), to_s = below(4) ? moment(w) : INFINITY;
	struct steady_window window;
	struct consistency c;

	steady_window_set(&w->run, fmin(from_s, to_s), fmax(from_s, to_s), &window);
	consistency_of(&w->run, w->ios, &window, &c);
	json_add(to, "from", number(fmin(from_s, to_s)));
	json_add(to, "to", isfinite(to_s) ? number(fmax(from_s, to_s)) : NULL);
	json_add(to, "intervals", json_new_count(window.n));
	json_add(to, "mean", number(c.mean));
	json_add(to, "deviation", number(c.deviation));
	json_add(to, "worst", c.worst < 0 ? NULL : number(c.worst));
	json_add(to, "worst_at", c.worst < 0 ? NULL : number(c.worst_at_s));
	json_add(to, "at_0", json_new_count(c.intervals_at_0));
	return to;
}

static struct json_object *numbers(const double *values, u32 n)
{
	struct json_object *to = json_new_array(n);

	for (u32 i = 0; i < n; i++)
		json_append(to, number(values[i]));
	return to;
}

static struct json_object *run(void)
{
	struct json_object *to = json_new_object(), *ios = json_new_array(0), *windows = json_new_array(0);
	struct world w;

	live_through(&w);
	for (u32 i = 0; i < w.run.n; i++)
		json_append(ios, json_new_count(w.ios[i]));
	for (u32 i = 0; i < WINDOWS; i++)
		json_append(windows, window(&w));
	json_add(to, "interval_s", number(w.run.interval_s));
	json_add(to, "start_s", numbers(w.start_s, w.run.n));
	json_add(to, "length_s", numbers(w.length_s, w.run.n));
	json_add(to, "ios", ios);
	json_add(to, "windows", windows);
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
	json_add(to, "runs", many(RUNS, run));
	json_add(to, "bounds", bounds());
	line = json_line(to);
	if (!line)
		return 1;
	puts(line);
	return 0;
}
