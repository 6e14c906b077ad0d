// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints a comparison for a person at a terminal. Recordings are numbered; the first is the baseline.
 * Each op of each device has a block. It has two lines for each recording, with its figures and its
 * distribution (all on the same axis), and then ratios to the baseline. Parts have figures and ratios
 * only. Columns are 8 wide as in the live table, so everything fits into 80.
 */
#include <errno.h>
#include <string.h>

#include "core/text_draw.h"
#include "report/active.h"
#include "report/comparison.h"
#include "report/document.h"
#include "report/findings.h"
#include "report/noise.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "util/utf8.h"

#define GUTTER 8
#define CELL 8
#define COLUMNS_MIN (GUTTER + COMPARISON_CELLS * CELL)
#define WORSE 1.05		/* ratios worse than this are coloured */
#define NAME 256

struct table {
	const struct comparison *c;
	const struct look *look;
	FILE *f;
	u32 columns;
	struct axis axis;
};

static void paint(const struct table *t, const char *code)
{
	if (t->look->colour)
		fprintf(t->f, "\033[%sm", code);
}

/* Prints a name on one line, whatever it contains. */
static void put_name(const struct table *t, const char *name, u32 columns)
{
	char clean[3 * NAME + 1];
	char cut[NAME + 1];

	snprintf(cut, sizeof(cut), "%s", name);
	utf8_for_terminal(clean, sizeof(clean), cut, columns, t->look->utf8);
	fputs(clean, t->f);
}

static void put_run(const struct table *t, u32 i)
{
	const struct run *r = &t->c->runs[i];
	char seconds[UNITS_TEXT], from[UNITS_TEXT], to[UNITS_TEXT];

	paint(t, "1");
	fprintf(t->f, "%-*u", GUTTER, i + 1);
	paint(t, "0");
	put_name(t, r->origin.file, t->columns / 2);
	fprintf(t->f, ", %s", units_seconds(seconds, r->duration_s));
	if (r->origin.label[0]) {
		fputs(", ", t->f);
		put_name(t, r->origin.label, t->columns / 3);
	}
	fputs(r->origin.finished ? "\n" : " (not finished)\n", t->f);
	fprintf(t->f, "%*srates over %s to %s, %s\n", GUTTER, "", units_seconds(from, r->active.from_s),
		units_seconds(to, r->active.to_s), active_words(r));
}

static void put_heads(const struct table *t)
{
	paint(t, "1");
	fprintf(t->f, "\n%*s", GUTTER, "");
	for (u32 i = 0; i < COMPARISON_CELLS; i++)
		fprintf(t->f, "%*s", CELL, comparison_cells[i].name);
	paint(t, "0");
	putc('\n', t->f);
}

/* The device's name in the baseline, and in the other runs if it differs. */
static void put_group_name(const struct table *t, const struct compared_group *g)
{
	const struct watch *base = g->of[0].watch->watch;
	const char *mapped = comparison_mapped(t->c, g);

	paint(t, "1");
	put_name(t, base->device->name, t->columns / 3);
	if (mapped) {
		fputs(" -> ", t->f);
		put_name(t, mapped, t->columns / 3);
	}
	paint(t, "0");
	fprintf(t->f, " %s, %s", stage_names[base->stage], op_names[g->op]);
	for (u32 i = 1; !mapped && i < t->c->n_runs; i++) {
		const struct watch_run *w = g->of[i].watch;

		if (!w || !strcmp(w->watch->device->name, base->device->name))
			continue;
		fprintf(t->f, "; %u is ", i + 1);
		put_name(t, w->watch->device->name, t->columns / 3);
	}
	putc('\n', t->f);
}

static void put_figures(const struct table *t, const struct compared *c, u32 number)
{
	char text[UNITS_TEXT];

	fprintf(t->f, "%-*u", GUTTER, number);
	if (!c->o || !c->o->ios) {
		fprintf(t->f, "%s\n", c->o ? "no IO" : "not recorded");
		return;
	}
	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];

		fprintf(t->f, "%*s", CELL, cell->text(text, comparison_value(cell, c)));
	}
	putc('\n', t->f);
}

static void put_distribution(const struct table *t, const struct compared *c)
{
	if (!c->o || !c->o->ios)
		return;
	fprintf(t->f, "%*s", GUTTER, "");
	paint(t, "36");
	draw_distribution(t->f, c->o, &t->axis, t->columns - GUTTER, t->look->utf8);
	paint(t, "0");
	putc('\n', t->f);
}

static bool is_worse(const struct comparison_cell *cell, double ratio)
{
	return cell->is_rate ? ratio < 1 / WORSE : ratio > WORSE;
}

static void put_ratios(const struct table *t, const struct compared_group *g, u32 run)
{
	char label[GUTTER * 4];

	if (!g->of[run].o || !g->of[run].o->ios || !g->of[0].o->ios)
		return;
	snprintf(label, sizeof(label), "%u / 1", run + 1);
	fprintf(t->f, "%-*s", GUTTER, label);
	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];
		double ratio = ratio_of(comparison_value(cell, &g->of[0]), comparison_value(cell, &g->of[run]));
		char text[UNITS_TEXT] = "-";

		if (ratio >= 0)
			ratio_text(text, ratio);
		paint(t, ratio >= 0 && is_worse(cell, ratio) ? "33" : "0");
		fprintf(t->f, "%*s", CELL, text);
	}
	paint(t, "0");
	putc('\n', t->f);
}

static const char *p_text(char text[UNITS_TEXT], double p)
{
	snprintf(text, UNITS_TEXT, p < 0.001 ? "<0.001" : "%.3f", p);
	return text;
}

/* For repeats: medians and extremes of both sides, and the change with its confidence interval. */
static void put_noise(const struct table *t, const struct compared_group *g)
{
	static const char *const rows[] = { "base", "  min", "  max", "other", "  min", "  max", "change", "  from", "  to", "p" };

	for (u32 row = 0; row < ARRAY_SIZE(rows); row++) {
		fprintf(t->f, "%-*s", GUTTER, rows[row]);
		for (u32 i = 0; i < COMPARISON_CELLS; i++) {
			const struct comparison_cell *cell = &comparison_cells[i];
			struct noise n = comparison_noise(t->c, g, cell);
			const double sides[] = { n.base.median, n.base.min, n.base.max, n.other.median, n.other.min, n.other.max };
			const double changes[] = { n.ratio, n.known ? n.low : -1, n.known ? n.high : -1 };
			bool worse = row == 6 && noise_beyond(&n, !cell->is_rate);
			char text[UNITS_TEXT] = "-";

			paint(t, worse ? "33" : "0");
			fprintf(t->f, "%*s", CELL, row < 6 ? sides[row] < 0 ? "-" : cell->text(text, sides[row]) :
				row < 9 ? change_text(text, changes[row - 6]) : n.known ? p_text(text, n.p) : "-");
		}
		paint(t, "0");
		putc('\n', t->f);
	}
}

static void put_distance(const struct table *t, const struct compared_group *g, u32 run)
{
	char mean[UNITS_TEXT];

	if (g->of[run].ks >= 0)
		fprintf(t->f, "%*sKS distance %.4f (0: the same distribution, 1: nothing in common)\n", GUTTER, "",
			g->of[run].ks);
	if (g->of[run].mean_with_base_mix_ns >= 0)
		fprintf(t->f, "%*swith 1's mix by %s its mean would be %s (x %.2f)\n", GUTTER, "", g[1].part->by,
			units_ns(mean, g->of[run].mean_with_base_mix_ns),
			ratio_of(g->of[0].o->mean_ns, g->of[run].mean_with_base_mix_ns));
}

/* Prints the part's share of the IOs in each run, since a different mix alone makes wholes differ. */
static void put_part_name(const struct table *t, const struct compared_group *whole, const struct compared_group *g)
{
	char text[PART_TEXT_MAX];
	const char *before;

	part_text(text, g->part);
	before = utf8_columns(text, strlen(text)) < GUTTER ? "" : "  ";
	fprintf(t->f, " %-*s", GUTTER, text);
	for (u32 i = 0; i < t->c->n_runs; i++) {
		const struct op_frame *all = whole->of[i].o, *o = g->of[i].o;

		if (!all || !all->ios || !o)
			continue;
		fprintf(t->f, "%s%.1f %% of %u", before, 100.0 * o->ios / all->ios, i + 1);
		before = ", ";
	}
	putc('\n', t->f);
}

static void put_whole(const struct table *t, const struct compared_group *g)
{
	put_group_name(t, g);
	for (u32 i = 0; i < t->c->n_runs; i++) {
		put_figures(t, &g->of[i], i + 1);
		put_distribution(t, &g->of[i]);
	}
	if (t->c->n_base) {
		put_noise(t, g);
		return;
	}
	for (u32 i = 1; i < t->c->n_runs; i++) {
		put_ratios(t, g, i);
		put_distance(t, g, i);
	}
}

static void put_part(const struct table *t, const struct compared_group *g)
{
	for (u32 i = 0; i < t->c->n_runs; i++)
		put_figures(t, &g->of[i], i + 1);
	if (t->c->n_base)
		put_noise(t, g);
	for (u32 i = 1; !t->c->n_base && i < t->c->n_runs; i++)
		put_ratios(t, g, i);
}

/* A single part is not shown, as it is the same as the whole. */
static void put_group(const struct table *t, u32 whole)
{
	const struct compared_group *g = &t->c->groups[whole];
	u32 parts = comparison_parts(t->c, whole);

	put_whole(t, g);
	for (u32 i = 1; i <= parts; i++) {
		put_part_name(t, g, &g[i]);
		if (parts > 1)
			put_part(t, &g[i]);
	}
}

static void put_unpaired(void *to, const struct run *run, const struct watch *watch)
{
	const struct table *t = to;

	put_name(t, watch->device->name, t->columns / 3);
	fprintf(t->f, " %s is in %ld only\n", stage_names[watch->stage], run - t->c->runs + 1);
}

static void put_unpaired_phase(void *to, const struct run *run, const struct phase *p)
{
	const struct table *t = to;

	fputs("phase ", t->f);
	put_name(t, p->name, t->columns / 3);
	fprintf(t->f, " of %ld is not in all\n", run - t->c->runs + 1);
}

static void put_judgement(const struct table *t, const struct judgement *j)
{
	bool holds = j->verdict.holds;

	paint(t, holds ? "1;31" : "32");
	fprintf(t->f, "%-*s", GUTTER, holds ? "FAIL" : "ok");
	paint(t, "0");
	if (t->c->n_runs > 2 && !t->c->n_base)
		fprintf(t->f, "%ld: ", j->judged.run - t->c->runs + 1);
	draw_paragraph(t->f, j->sentence.text, GUTTER, GUTTER, t->columns);
	putc('\n', t->f);
}

static void cover(struct table *t)
{
	for (u32 g = 0; g < t->c->n_groups; g++)
		for (u32 i = 0; i < t->c->n_runs; i++)
			if (t->c->groups[g].of[i].watch)
				axis_cover(&t->axis, t->c->groups[g].of[i].watch->total);
}

static void put_phase(const struct table *t, const struct compared_phase *phase)
{
	struct table of = *t;

	of.c = &phase->c;
	fputs("\nphase ", t->f);
	put_name(t, phase->name, t->columns - sizeof("phase"));
	putc('\n', t->f);
	for (u32 i = 0; i < of.c->n_groups; i += 1 + comparison_parts(of.c, i))
		put_group(&of, i);
}

static void put_all(struct table *t, const struct findings *found)
{
	cover(t);
	for (u32 i = 0; i < t->c->n_runs; i++)
		put_run(t, i);
	if (t->c->n_base)
		fprintf(t->f, "%*sbase: 1 to %u; other: %u to %u\n", GUTTER, "", t->c->n_base, t->c->n_base + 1, t->c->n_runs);
	if (found->n)
		putc('\n', t->f);
	document_text_findings(found, t->look);
	if (t->c->n_groups)
		put_heads(t);
	else
		fputs("\nno IO in any of them\n", t->f);
	for (u32 i = 0; i < t->c->n_groups; i += 1 + comparison_parts(t->c, i))
		put_group(t, i);
	for (u32 i = 0; i < t->c->n_phases; i++)
		put_phase(t, &t->c->phases[i]);
	if (t->c->n_groups) {
		fprintf(t->f, "%*s", GUTTER, "");
		draw_axis(t->f, &t->axis, t->columns - GUTTER, t->look->utf8);
		putc('\n', t->f);
	}
	if (t->c->n_base) {
		fprintf(t->f, "\n%*s", GUTTER, "");
		draw_paragraph(t->f, "base and other: median, minimum and maximum of the repeats. change: of the "
			       "medians; from, to: its 95 % confidence interval, p: two-sided, by " NOISE_METHOD
			       ", for each figure by itself", GUTTER, GUTTER, t->columns);
		putc('\n', t->f);
	}
	comparison_unpaired(t->c, put_unpaired, t);
	comparison_phases_unpaired(t->c, put_unpaired_phase, t);
	if (t->c->n_judgements)
		putc('\n', t->f);
	for (u32 i = 0; i < t->c->n_judgements; i++)
		put_judgement(t, &t->c->judgements[i]);
}

int comparison_text(const struct comparison *c, const struct look *look)
{
	struct table t = { .c = c, .look = look, .f = look->out };
	CLEANUP(findings_uninit) struct findings found = { 0 };

	if (findings_compare(c, true, &found))
		return -ENOMEM;
	t.columns = look->columns < COLUMNS_MIN ? COLUMNS_MIN : look->columns;
	put_all(&t, &found);
	return 0;
}
