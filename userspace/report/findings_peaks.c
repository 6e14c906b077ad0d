// SPDX-License-Identifier: GPL-2.0-only
/*
 * Separate peaks of the distribution, such as hits and misses of a cache, or busy and idle dies. They are searched in
 * the density over the logarithm of latency, smoothed by a triangle with a half width of a tenth of a decade.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings_rules.h"
#include "util/cleanup.h"

#define PEAKS_MAX 6		/* at most this many are reported, the largest ones */
#define SHARE_LEAST 0.005	/* of the IOs */
#define VALLEY 0.5		/* height of a valley, at most this share of the lower peak beside it */
#define STANDARD_ERRORS 5.0	/* by how many a peak must exceed its valley, with Poisson noise */
#define HALF_WIDTH 0.1		/* of the triangle, in decades */

struct peak {
	u32 cell;
	u32 end;		/* its cells reach from the end of the previous peak to here, exclusive */
	u64 ios;
};

struct landscape {
	const struct hist *hist;
	u32 n;			/* cells */
	double *density;	/* IOs per cell, smoothed */
	double spread;		/* sum of the triangle's squared weights: density * spread is its variance */
	struct peak *peaks;
	u32 n_peaks;
};

static void landscape_uninit(struct landscape *l)
{
	free(l->density);
	free(l->peaks);
}

static void smooth(struct landscape *l)
{
	s64 w = fmax(round(HALF_WIDTH * (1 << l->hist->scale) / log10(2)), 1);	/* cells; one for coarse scales */

	for (s64 d = 1 - w; d < w; d++) {
		double weight = (double)(w - llabs(d)) / (w * w);

		l->spread += weight * weight;
		for (s64 i = 0; i < l->n; i++)
			if (i + d >= 0 && i + d < l->n)
				l->density[i] += weight * l->hist->cells[i + d];
	}
}

static int landscape_init(struct landscape *l, const struct hist *h)
{
	l->hist = h;
	l->n = BLKLAT_CELLS(h->scale);
	l->density = calloc(l->n, sizeof(*l->density));
	l->peaks = calloc(l->n, sizeof(*l->peaks));
	if (!l->density || !l->peaks)
		return -ENOMEM;
	smooth(l);
	return 0;
}

/* Every rise that is followed by a fall is a peak. It lies in the middle of its top. */
static void find_tops(struct landscape *l)
{
	for (u32 i = 0; i < l->n; i++) {
		u32 from = i;

		while (i + 1 < l->n && l->density[i + 1] == l->density[from])
			i++;
		if (l->density[from] > 0 && (!from || l->density[from - 1] < l->density[from]) &&
		    (i + 1 == l->n || l->density[i + 1] < l->density[from]))
			l->peaks[l->n_peaks++].cell = from + (i - from) / 2;
	}
}

/* The lowest cell between a peak and the next one; the middle one of several. */
static u32 valley(const struct landscape *l, u32 peak)
{
	u32 first = l->peaks[peak].cell, last;

	for (u32 i = first; i < l->peaks[peak + 1].cell; i++)
		if (l->density[i] < l->density[first])
			first = i;
	last = first;
	while (last + 1 < l->peaks[peak + 1].cell && l->density[last + 1] == l->density[first])
		last++;
	return first + (last - first) / 2;
}

static void drop(struct landscape *l, u32 peak)
{
	l->n_peaks--;
	memmove(&l->peaks[peak], &l->peaks[peak + 1], (l->n_peaks - peak) * sizeof(*l->peaks));
}

/* How well a valley separates its peaks; below 1 it does not. */
static double depth(const struct landscape *l, u32 peak)
{
	double low = l->density[valley(l, peak)];
	double top = fmin(l->density[l->peaks[peak].cell], l->density[l->peaks[peak + 1].cell]);
	double error = sqrt((top + low) * l->spread);

	return fmin(low > 0 ? VALLEY * top / low : HUGE_VAL, (top - low) / (STANDARD_ERRORS * error));
}

/* Joins peaks that no true valley separates; the higher one is kept. */
static void join(struct landscape *l)
{
	for (;;) {
		double least = 1;
		u32 worst = l->n_peaks;

		for (u32 i = 0; i + 1 < l->n_peaks; i++) {
			double d = depth(l, i);

			if (d < least) {
				least = d;
				worst = i;
			}
		}
		if (worst == l->n_peaks)
			return;
		drop(l, worst + (l->density[l->peaks[worst].cell] >= l->density[l->peaks[worst + 1].cell]));
	}
}

static void count_ios(struct landscape *l)
{
	u32 cell = 0;

	for (u32 i = 0; i < l->n_peaks; i++) {
		struct peak *p = &l->peaks[i];

		p->end = i + 1 < l->n_peaks ? valley(l, i) + 1 : l->n;
		p->ios = 0;
		for (; cell < p->end; cell++)
			p->ios += l->hist->cells[cell];
	}
}

/* Drops peaks with few IOs, the smallest first. Their IOs go to the neighbour across the shallower valley. */
static void drop_small(struct landscape *l, u64 ios)
{
	for (;;) {
		u32 least = 0;

		count_ios(l);
		for (u32 i = 1; i < l->n_peaks; i++)
			if (l->peaks[i].ios < l->peaks[least].ios)
				least = i;
		if (l->n_peaks < 2 || (l->n_peaks <= PEAKS_MAX && l->peaks[least].ios >= SHARE_LEAST * ios))
			return;
		drop(l, least);
	}
}

/* The middle of a cell, as the charts draw it. */
static double place_ns(const struct hist *h, u32 cell)
{
	if (!cell)
		return hist_upper_ns(h->scale, cell);
	if (cell > BLKLAT_BINS(h->scale))
		return hist_lower_ns(h->scale, cell);
	return sqrt((double)hist_lower_ns(h->scale, cell) * hist_upper_ns(h->scale, cell));
}

static void report(const struct inquiry *q, u32 op, const struct landscape *l)
{
	static const char *const names[PEAKS_MAX][2] = {
		{ "peak1_ns", "peak1_share" }, { "peak2_ns", "peak2_share" }, { "peak3_ns", "peak3_share" },
		{ "peak4_ns", "peak4_share" }, { "peak5_ns", "peak5_share" }, { "peak6_ns", "peak6_share" },
	};
	struct finding *f = finding_add(q, "peaks", op);
	double ios = q->watch->ops[op].total->ios;

	finding_say(f, "%u separate peaks:", l->n_peaks);
	for (u32 i = 0; i < l->n_peaks; i++) {
		double ns = place_ns(l->hist, l->peaks[i].cell);

		finding_value(f, names[i][0], ns);
		finding_value(f, names[i][1], l->peaks[i].ios / ios);
		finding_say(f, "%s %s of the IOs around %s", i ? "," : "", UNITS(share, l->peaks[i].ios / ios),
			    UNITS(ns, ns));
	}
	finding_rule(f, "maxima of the density over log latency, smoothed over 1/10 decade, with 0.5 %% of the IOs or more, "
		     "parted by valleys at most half as high as the smaller; shares are exact, from valley to valley");
}

int find_peaks(const struct inquiry *q, u32 op)
{
	const struct op_frame *o = q->watch->ops[op].total;
	struct landscape l CLEANUP(landscape_uninit) = { 0 };
	int err = landscape_init(&l, &o->hist);

	if (err)
		return err;
	find_tops(&l);
	join(&l);
	drop_small(&l, o->ios);
	/* The peaks of a sweep are of different times, and told as phases; those of levels are left out later. */
	if (l.n_peaks > 1 && !q->sweeps[op])
		report(q, op, &l);
	return 0;
}
