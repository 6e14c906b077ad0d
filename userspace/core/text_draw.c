// SPDX-License-Identifier: GPL-2.0-only
#include "core/text_draw.h"

#include <math.h>
#include <string.h>

#include "util/utf8.h"

/* Decades that have a label; IOs beyond them are drawn in the first or last column. */
#define AXIS_FIRST 1
#define AXIS_LAST 12
#define AXIS_DECADES_MIN 3
#define COLUMNS_MAX 512

static const char *const decade_names[AXIS_LAST + 1] = {
	NULL, "10ns", "100ns", "1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s", "100s",
	"1000s",
};

static const char *const ramp_utf8[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const ramp_ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };

/* Eighths of a column. */
static const char *const bar_utf8[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

/* The largest decade that is not above @ns. */
static int decade_below(u64 ns)
{
	int e = 0;

	for (; ns >= 10; ns /= 10)
		e++;
	return e;
}

static void cover(struct axis *a, u64 min_ns, u64 max_ns)
{
	int first = clamp(decade_below(min_ns), AXIS_FIRST, AXIS_LAST - 1);
	int last = clamp(max_ns ? decade_below(max_ns - 1) + 1 : 0, first + 1, AXIS_LAST);

	if (!a->last) {
		a->first = first;
		a->last = last;
	}
	if (first < a->first)
		a->first = first;
	if (last > a->last)
		a->last = last;
}

void axis_cover(struct axis *a, const struct frame *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (f->ops[op].ios)
			cover(a, f->ops[op].min_ns, f->ops[op].max_ns);
	if (!a->last)
		return;
	/* Extend upwards first: that is where the tail will be. */
	while (a->last - a->first < AXIS_DECADES_MIN && a->last < AXIS_LAST)
		a->last++;
	while (a->last - a->first < AXIS_DECADES_MIN)
		a->first--;
}

static u32 decade_columns(const struct axis *a, u32 columns)
{
	u32 n = a->last - a->first;

	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	return columns > n ? columns / n : 1;
}

/* The position of a latency on the axis, in columns. */
static double column_of(const struct axis *a, double ns, u32 per_decade, u32 width)
{
	double x = ns > 0 ? (log10(ns) - a->first) * per_decade : 0;

	return x < 0 ? 0 : x > width ? width : x;
}

/*
 * Spreads a bin evenly over the columns that it touches. Bins and columns are both logarithmic, so this
 * keeps the density. @from and @to are its bounds; they are equal for a single latency.
 */
static void spread(double *density, u32 width, double from, double to, u64 ios)
{
	u32 first = from < width ? (u32)from : width - 1;
	u32 last = to < width ? (u32)to : width - 1;

	if (to - from < 1e-9) {
		density[first] += ios;
		return;
	}
	for (u32 c = first; c <= last; c++) {
		double begin = c > from ? c : from, end = c + 1 < to ? c + 1 : to;

		if (end > begin)
			density[c] += ios * ((end - begin) / (to - from));
	}
}

static void densities(double *density, u32 width, const struct op_frame *o, const struct axis *a, u32 per_decade)
{
	const struct hist *h = &o->hist;
	u32 first, last;

	if (!hist_range(h, &first, &last))
		return;
	for (u32 cell = first; cell <= last; cell++) {
		/* In the outermost bins the IOs lie within the exact extremes. */
		u64 lower_ns = cell == first ? o->min_ns : hist_lower_ns(h->scale, cell);
		u64 upper_ns = cell == last ? o->max_ns : hist_upper_ns(h->scale, cell);

		if (h->cells[cell])
			spread(density, width, column_of(a, lower_ns, per_decade, width),
			       column_of(a, upper_ns, per_decade, width), h->cells[cell]);
	}
}

void draw_distribution(FILE *f, const struct op_frame *o, const struct axis *a, u32 columns, bool utf8)
{
	const char *const *ramp = utf8 ? ramp_utf8 : ramp_ascii;
	u32 levels = (utf8 ? ARRAY_SIZE(ramp_utf8) : ARRAY_SIZE(ramp_ascii)) - 1;
	u32 per_decade = decade_columns(a, columns), width = per_decade * (a->last - a->first);
	double density[COLUMNS_MAX] = { 0 }, most = 0;
	u32 end = 0;

	densities(density, width, o, a, per_decade);
	for (u32 c = 0; c < width; c++) {
		if (density[c] > most)
			most = density[c];
		if (density[c] > 0)
			end = c + 1;
	}
	for (u32 c = 0; c < end; c++) {
		double level = ceil(density[c] / most * levels);

		fputs(ramp[density[c] > 0 ? clamp(level, 1, levels) : 0], f);
	}
}

void draw_axis(FILE *f, const struct axis *a, u32 columns, bool utf8)
{
	u32 per_decade = decade_columns(a, columns), blank = 0;

	for (int e = a->first; e < a->last; e++) {
		u32 width = 1 + strlen(decade_names[e]);

		if (width > per_decade) {
			blank += per_decade;
			continue;
		}
		fprintf(f, "%*s%s%s", (int)blank, "", utf8 ? "╵" : "|", decade_names[e]);
		blank = per_decade - width;
	}
}

void draw_bar(FILE *f, double share, u32 columns, bool utf8)
{
	u32 steps = utf8 ? 8 : 1;
	u32 length = share > 0 ? (u32)lround(share * columns * steps) : 0;
	u32 full, part;

	if (share > 0 && !length)
		length = 1;
	full = length / steps;
	part = length % steps;
	for (u32 c = 0; c < full; c++)
		fputs(utf8 ? "█" : "#", f);
	fputs(bar_utf8[part], f);
	fprintf(f, "%*s", (int)(columns - full - (part > 0)), "");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes up to the next blank at which a line may end: any blank, except inside a number like "5 237 090". */
static size_t word_length(const char *text)
{
	size_t n = strcspn(text, " \n");

	while (n && is_digit(text[n - 1]) && text[n] == ' ' && is_digit(text[n + 1]))
		n += 1 + strcspn(text + n + 1, " \n");
	return n;
}

void draw_paragraph(FILE *f, const char *text, u32 at, u32 indent, u32 columns)
{
	bool first = true, broken = false;

	while (*text) {
		size_t len = word_length(text);
		u32 width = utf8_columns(text, len);

		if (broken || (!first && at + 1 + width > columns)) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			putc(' ', f);
			at++;
		}
		fwrite(text, 1, len, f);
		at += width;
		text += len;
		broken = *text == '\n';
		first = false;
		text += *text != '\0';
	}
}
