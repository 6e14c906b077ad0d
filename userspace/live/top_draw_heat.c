// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws the last minutes of a device: time runs to the right, latency upwards on a logarithmic axis, and the shade
 * shows the number of IOs. To the right is the distribution of all these IOs, on the same axis.
 */
#include <stdlib.h>
#include <string.h>

#include "live/top_draw.h"
#include "util/units.h"

#define LABEL 7			/* columns to the left of the map */
#define DISTRIBUTION_MIN 12
#define FAST_SHARE 0.01		/* share of IOs that may be drawn slower than they were */

static const char ramp[] = " .:-=+*#%@";

struct map {
	u32 per;		/* intervals per column */
	u32 columns;
	u64 group;		/* of the first column, which has the intervals from group * per on */
	u32 steps;		/* a row */
	u32 rows;
	u32 lines;		/* a row */
	u32 low;		/* row 0, the lowest, begins at step low * steps */
	double sum[TOP_STEPS];
	double most;		/* the most IOs at one place of the map */
	double most_sum;	/* in one row */
};

static void lay_out(struct map *m, const struct top *t, u32 columns)
{
	m->columns = columns - LABEL - 1 - DISTRIBUTION_MIN - 2;
	m->per = (TOP_SAMPLES + m->columns - 1) / m->columns;
	m->columns = TOP_SAMPLES / m->per;
	/* Columns begin at multiples of per, so that an interval stays in its column. */
	m->group = (t->shown + m->per - 1) / m->per;
	m->group = m->group > m->columns ? m->group - m->columns : 0;
}

static void collect(struct map *m, struct top_draw *d, const struct top *t, const struct top_item *item)
{
	memset(d->heat, 0, sizeof(d->heat));
	for (u64 sample = m->group * m->per; sample < t->shown; sample++) {
		u64 column = sample / m->per - m->group;

		if (sample >= top_first_sample(t) && column < m->columns)
			top_heat_of(t, item, sample, d->heat[column]);
	}
	for (u32 column = 0; column < m->columns; column++)
		for (u32 step = 0; step < TOP_STEPS; step++)
			m->sum[step] += d->heat[column][step];
}

/* The share of IOs below step @end. */
static double share_below(const struct map *m, u32 end)
{
	double below = 0, all = 0;

	for (u32 step = 0; step < TOP_STEPS; step++) {
		all += m->sum[step];
		below += step < end ? m->sum[step] : 0;
	}
	return below / all;
}

/*
 * Chooses rows as fine as their number allows, for the latencies that occur. A few IOs faster than the
 * rest do not make rows coarser: they go into the lowest row.
 */
static bool choose_rows(struct map *m, u32 rows)
{
	static const u32 steps[] = { 1, 2, 3, 6 };
	u32 first = 0, last = TOP_STEPS - 1;

	while (last && !m->sum[last])
		last--;
	while (first < last && !m->sum[first])
		first++;
	if (!m->sum[last])
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		m->steps = steps[i];
		m->low = first / m->steps;
		m->rows = last / m->steps - m->low + 1;
		if (m->rows > rows) {
			m->low += m->rows - rows;
			m->rows = rows;
		}
		if (share_below(m, m->low * m->steps) <= FAST_SHARE)
			break;
	}
	/* At least two decades, or noise would look important. */
	while (m->rows < rows && m->rows * m->steps < 2 * TOP_DECADE && (m->low + m->rows) * m->steps < TOP_STEPS) {
		m->rows++;
		if (m->low && m->rows < rows && m->rows * m->steps < 2 * TOP_DECADE) {
			m->low--;
			m->rows++;
		}
	}
	m->lines = rows / m->rows;
	return true;
}

/* The IOs of a row, from @steps. */
static double of_row(const struct map *m, const double steps[TOP_STEPS], u32 row)
{
	u32 from = row ? (m->low + row) * m->steps : 0, to = (m->low + row + 1) * m->steps;
	double sum = 0;

	for (u32 step = from; step < to && step < TOP_STEPS; step++)
		sum += steps[step];
	return sum;
}

static void find_most(struct map *m, const struct top_draw *d)
{
	for (u32 row = 0; row < m->rows; row++) {
		double sum = of_row(m, m->sum, row);

		m->most_sum = sum > m->most_sum ? sum : m->most_sum;
		for (u32 column = 0; column < m->columns; column++) {
			double ios = of_row(m, d->heat[column], row);

			m->most = ios > m->most ? ios : m->most;
		}
	}
}

/* Prints the label of the decade that begins at this row, if one does. */
static void put_label(const struct map *m, u32 row, u32 y)
{
	static const char *const names[TOP_DECADES] = { "100 ns", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s" };
	u32 step = (m->low + row) * m->steps;

	if (step % TOP_DECADE == 0 && step < TOP_STEPS)
		mvprintw(y, 0, "%*s", LABEL, names[step / TOP_DECADE]);
}

static void put_bar(const struct top_draw *d, u32 y, u32 x, double share)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	draw_bar(f, share, COLS - x, d->look->utf8);
	fclose(f);
	if (d->colour)
		attron(COLOR_PAIR(PAIR_BAR));
	top_put(d, y, x, COLS, text);
	if (d->colour)
		attroff(COLOR_PAIR(PAIR_BAR));
	free(text);
}

static void put_row(const struct top_draw *d, const struct map *m, u32 row, u32 y)
{
	mvaddch(y, LABEL, '|');
	for (u32 column = 0; column < m->columns; column++) {
		u32 shade = top_shade(of_row(m, d->heat[column], row), m->most, d->shades);

		if (d->colour)
			mvaddch(y, LABEL + 1 + column, ' ' | (shade ? COLOR_PAIR(PAIR_HEAT + shade - 1) : 0));
		else
			mvaddch(y, LABEL + 1 + column, ramp[shade]);
	}
	mvaddch(y, LABEL + 1 + m->columns, '|');
	if (m->most_sum > 0 && of_row(m, m->sum, row) > 0)
		put_bar(d, y, LABEL + 2 + m->columns, of_row(m, m->sum, row) / m->most_sum);
}

/* Prints the time at both ends: of the first interval drawn, and of the last. */
static void put_time(const struct top_draw *d, const struct map *m, const struct top *t, u32 y)
{
	u64 first = m->group * m->per, last = t->shown - 1;
	u32 right = LABEL + 1 + last / m->per - m->group;
	char text[UNITS_TEXT];
	u32 at;

	if (first < top_first_sample(t))
		first = top_first_sample(t);
	if (first > last)
		return;
	at = top_put(d, y, LABEL + 1, COLS, units_clock(text, t->end_ns[first % TOP_SAMPLES]));
	units_clock(text, t->end_ns[last % TOP_SAMPLES]);
	if (right + 1 >= at + 1 + strlen(text))
		top_put(d, y, right + 1 - strlen(text), COLS, text);
	top_put(d, y, LABEL + 2 + m->columns, COLS, "all of it");
}

void top_draw_heat(struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows)
{
	struct map m = { 0 };

	if (!t->shown)
		return;
	lay_out(&m, t, COLS);
	collect(&m, d, t, item);
	if (!choose_rows(&m, rows - 1)) {
		top_put(d, y, LABEL + 1, COLS, "no such IO in the last minutes");
		return;
	}
	find_most(&m, d);
	for (u32 row = 0; row < m.rows; row++) {
		u32 lowest = y + (m.rows - row) * m.lines - 1;

		for (u32 line = 0; line < m.lines; line++)
			put_row(d, &m, row, lowest - line);
		put_label(&m, row, lowest);
	}
	put_time(d, &m, t, y + m.rows * m.lines);
}
