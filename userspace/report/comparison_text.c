// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints a comparison for a person: at a terminal, or as Markdown. Recordings are numbered; the first is the baseline.
 * Each op of each device has rows: each recording's figures, then ratios to the baseline, then the same for its parts.
 * At a terminal columns are 8 wide as in the live table, so everything fits into 80, and below a recording's figures is
 * its distribution (all on the same axis).
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
#define TEXT_MAX 1024

struct table {
	const struct comparison *c;
	const struct look *look;
	FILE *f;
	u32 columns;
	bool markdown;
	struct axis axis;
};

struct row {
	char label[GUTTER * 4];
	const char *words;		/* in place of cells; NULL: none */
	char cells[COMPARISON_CELLS][UNITS_TEXT];
	bool worse[COMPARISON_CELLS];
};

static void paint(const struct table *t, const char *code)
{
	if (t->look->colour && !t->markdown)
		fprintf(t->f, "\033[%sm", code);
}

/* Prints a text on one line, at a terminal in at most @columns; nothing in it is interpreted. */
static void put_text(const struct table *t, const char *text, u32 columns)
{
	char clean[3 * TEXT_MAX + 1], cut[TEXT_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text);
	utf8_for_terminal(clean, sizeof(clean), cut, t->markdown ? TEXT_MAX : columns, t->markdown || t->look->utf8);
	for (const char *c = clean; *c; c++) {
		if (t->markdown && strchr("<&", *c))
			fputs(*c == '<' ? "&lt;" : "&amp;", t->f);
		else
			fprintf(t->f, t->markdown && strchr("\\`*_{}[]()#+!|~", *c) ? "\\%c" : "%c", *c);
	}
}

/* Prints a paragraph; behind @label, which is painted with @code. */
static void put_item(const struct table *t, const char *code, const char *label, const char *text)
{
	paint(t, code);
	fprintf(t->f, t->markdown ? "- %s" : "%-8s", label);
	paint(t, "0");
	if (t->markdown)
		put_text(t, text, 0);
	else
		draw_paragraph(t->f, text, GUTTER, GUTTER, t->columns);
	putc('\n', t->f);
}

static void put_row(const struct table *t, const struct row *r)
{
	fprintf(t->f, t->markdown ? "| %s |" : "%-8s", r->label);
	for (u32 i = 0; i < COMPARISON_CELLS && (t->markdown || !r->words); i++) {
		paint(t, r->worse[i] ? "33" : "0");
		fprintf(t->f, t->markdown ? " %s |" : "%8s", !r->words ? r->cells[i] : i ? "" : r->words);
	}
	if (r->words && !t->markdown)
		fputs(r->words, t->f);
	else
		paint(t, "0");
	putc('\n', t->f);
}

static void put_run(const struct table *t, u32 i)
{
	const struct run *r = &t->c->runs[i];

	paint(t, "1");
	fprintf(t->f, t->markdown ? "%u. " : "%-8u", i + 1);
	paint(t, "0");
	put_text(t, r->origin.file, t->columns / 2);
	fprintf(t->f, ", %s", UNITS(seconds, r->duration_s));
	if (r->origin.label[0]) {
		fputs(", ", t->f);
		put_text(t, r->origin.label, t->columns / 3);
	}
	fputs(r->origin.finished ? "" : " (not finished)", t->f);
	fprintf(t->f, "%s\n", active_words((char[ACTIVE_TEXT]){ 0 }, t->markdown ? "; " : "\n        ", r));
}

static void put_heads(const struct table *t)
{
	struct row r = { 0 };

	for (u32 i = 0; i < COMPARISON_CELLS; i++)
		strcpy(r.cells[i], comparison_cells[i].name);
	paint(t, "1");
	putc('\n', t->f);
	put_row(t, &r);
	paint(t, "0");
	if (t->markdown)
		fputs("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n", t->f);
}

/* The device's name in the baseline, and in the other runs if it differs. */
static void put_group_name(const struct table *t, const struct compared_group *g)
{
	const struct watch *base = g->of[0].watch->watch;
	const char *mapped = comparison_mapped(t->c, g);

	paint(t, "1");
	fputs(t->markdown ? "\n### " : "", t->f);
	put_text(t, base->device->name, t->columns / 3);
	if (mapped) {
		fputs(" -> ", t->f);
		put_text(t, mapped, t->columns / 3);
	}
	paint(t, "0");
	fprintf(t->f, " %s, %s", stage_names[base->stage], op_names[g->op]);
	for (u32 i = 1; !mapped && i < t->c->n_runs; i++) {
		const struct watch_run *w = g->of[i].watch;

		if (!w || !strcmp(w->watch->device->name, base->device->name))
			continue;
		fprintf(t->f, "; %u is ", i + 1);
		put_text(t, w->watch->device->name, t->columns / 3);
	}
	putc('\n', t->f);
}

static void put_figures(const struct table *t, const struct compared *c, u32 number)
{
	struct row r = { .words = !c->o ? "not recorded" : !c->o->ios ? "no IO" : NULL };

	snprintf(r.label, sizeof(r.label), "%u", number);
	for (u32 i = 0; !r.words && i < COMPARISON_CELLS; i++)
		comparison_cells[i].text(r.cells[i], comparison_value(&comparison_cells[i], c->o));
	put_row(t, &r);
}

static void put_distribution(const struct table *t, const struct compared *c)
{
	if (!c->o || !c->o->ios || t->markdown)
		return;
	fprintf(t->f, "%*s", GUTTER, "");
	paint(t, "36");
	draw_distribution(t->f, c->o, &t->axis, t->columns - GUTTER, t->look->utf8);
	paint(t, "0");
	putc('\n', t->f);
}

static void put_ratios(const struct table *t, const struct compared_group *g, u32 run)
{
	struct row r = { 0 };

	if (!g->of[run].o || !g->of[run].o->ios || !g->of[0].o->ios)
		return;
	snprintf(r.label, sizeof(r.label), "%u / 1", run + 1);
	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];
		double ratio = ratio_of(comparison_value(cell, g->of[0].o), comparison_value(cell, g->of[run].o));

		if (ratio >= 0)
			ratio_text(r.cells[i], ratio);
		else
			strcpy(r.cells[i], "-");
		r.worse[i] = ratio >= 0 && (cell->is_rate ? ratio < 1 / WORSE : ratio > WORSE);
	}
	put_row(t, &r);
}

/* For repeats: medians and extremes of both sides, and the change with its confidence interval. */
static void put_noise(const struct table *t, const struct compared_group *g)
{
	static const char *const rows[] = { "base", "  min", "  max", "other", "  min", "  max", "change", "  from", "  to", "p" };

	for (u32 row = 0; row < ARRAY_SIZE(rows); row++) {
		struct row r = { 0 };

		strcpy(r.label, rows[row]);
		for (u32 i = 0; i < COMPARISON_CELLS; i++) {
			const struct comparison_cell *cell = &comparison_cells[i];
			struct noise n = comparison_noise(t->c, g, cell);
			const double sides[] = { n.base.median, n.base.min, n.base.max, n.other.median, n.other.min, n.other.max };
			const double changes[] = { n.ratio, n.known ? n.low : -1, n.known ? n.high : -1 };
			char text[UNITS_TEXT], p[UNITS_TEXT];

			snprintf(p, sizeof(p), n.p < 0.001 ? "<0.001" : "%.3f", n.p);
			r.worse[i] = row == 6 && noise_beyond(&n, !cell->is_rate);
			strcpy(r.cells[i], row < 6 ? sides[row] < 0 ? "-" : cell->text(text, sides[row]) :
			       row < 9 ? change_text(text, changes[row - 6]) : n.known ? p : "-");
		}
		put_row(t, &r);
	}
}

static void put_distance(const struct table *t, const struct compared_group *g, u32 run)
{
	char label[2 * GUTTER] = "        ";

	if (t->markdown)
		snprintf(label, sizeof(label), "\n%u / 1: ", run + 1);
	if (g->of[run].ks >= 0)
		fprintf(t->f, "%sKS distance %.4f (0: the same distribution, 1: nothing in common)\n", label,
			g->of[run].ks);
	if (g->of[run].mean_with_base_mix_ns >= 0)
		fprintf(t->f, "%swith 1's mix by %s its mean would be %s (x %.2f)\n", label, g[1].part->by,
			UNITS(ns, g->of[run].mean_with_base_mix_ns),
			ratio_of(g->of[0].o->mean_ns, g->of[run].mean_with_base_mix_ns));
}

/* Prints the part's share of the IOs in each run, since a different mix alone makes wholes differ. */
static void put_part_name(const struct table *t, const struct compared_group *whole, const struct compared_group *g)
{
	char text[PART_TEXT_MAX];
	const char *before;
	u32 columns;

	part_text(text, g->part);
	columns = utf8_columns(text, strlen(text));
	before = columns < GUTTER ? "" : "  ";
	fputs(t->markdown ? "| " : " ", t->f);
	put_text(t, text, PART_TEXT_MAX);
	fprintf(t->f, "%*s", columns < GUTTER ? GUTTER - columns : 0, "");
	for (u32 i = 0; i < t->c->n_runs; i++) {
		const struct op_frame *all = whole->of[i].o, *o = g->of[i].o;

		if (!all || !all->ios || !o)
			continue;
		fprintf(t->f, "%s%.1f %% of %u", before, 100.0 * o->ios / all->ios, i + 1);
		before = ", ";
	}
	fputs(t->markdown ? " | | | | | | | | | |\n" : "\n", t->f);
}

static void put_rows(const struct table *t, const struct compared_group *g)
{
	for (u32 i = 0; i < t->c->n_runs; i++) {
		put_figures(t, &g->of[i], i + 1);
		if (!g->part)
			put_distribution(t, &g->of[i]);
	}
	if (t->c->n_base)
		put_noise(t, g);
	for (u32 i = 1; !t->c->n_base && i < t->c->n_runs; i++) {
		put_ratios(t, g, i);
		if (!g->part && !t->markdown)
			put_distance(t, g, i);
	}
}

/* A single part is not shown, as it is the same as the whole. */
static void put_group(const struct table *t, u32 whole)
{
	const struct compared_group *g = &t->c->groups[whole];
	u32 parts = comparison_parts(t->c, whole);

	put_group_name(t, g);
	if (t->markdown)
		put_heads(t);
	put_rows(t, g);
	for (u32 i = 1; i <= parts; i++) {
		put_part_name(t, g, &g[i]);
		if (parts > 1)
			put_rows(t, &g[i]);
	}
	for (u32 i = 1; t->markdown && !t->c->n_base && i < t->c->n_runs; i++)
		put_distance(t, g, i);
}

static void put_unpaired(void *to, const struct run *run, const struct watch *watch)
{
	const struct table *t = to;

	fputs(t->markdown ? "- " : "", t->f);
	put_text(t, watch->device->name, t->columns / 3);
	fprintf(t->f, " %s is in %ld only\n", stage_names[watch->stage], run - t->c->runs + 1);
}

static void put_unpaired_phase(void *to, const struct run *run, const struct phase *p)
{
	const struct table *t = to;

	fputs(t->markdown ? "- phase " : "phase ", t->f);
	put_text(t, p->name, t->columns / 3);
	fprintf(t->f, " of %ld is not in all\n", run - t->c->runs + 1);
}

/* If a run has none, that is said once. */
static void put_unpaired_phases(struct table *t)
{
	u32 phases = 0, without = 0;

	for (u32 i = t->c->n_runs; i--;) {
		phases += t->c->runs[i].phases.n;
		without = t->c->runs[i].phases.n ? without : i + 1;
	}
	if (phases && without)
		fprintf(t->f, "%sphases are not compared: %u has none\n", t->markdown ? "- " : "", without);
	else
		comparison_phases_unpaired(t->c, put_unpaired_phase, t);
}

static void put_judgement(const struct table *t, const struct judgement *j)
{
	const char *label = j->verdict.holds ? t->markdown ? "**fails**: " : "FAIL" : t->markdown ? "passes: " : "ok";
	char text[sizeof(j->sentence.text) + sizeof("12345678901234567890: ")], run[24] = "";

	if (t->c->n_runs > 2 && !t->c->n_base)
		snprintf(run, sizeof(run), "%ld: ", j->judged.run - t->c->runs + 1);
	snprintf(text, sizeof(text), "%s%s", run, j->sentence.text);
	put_item(t, j->verdict.holds ? "1;31" : "32", label, text);
}

static void put_groups(const struct table *t)
{
	for (u32 i = 0; i < t->c->n_groups; i += 1 + comparison_parts(t->c, i))
		put_group(t, i);
}

static void put_phase(const struct table *t, const struct compared_phase *phase)
{
	struct table of = *t;

	of.c = &phase->c;
	fputs(t->markdown ? "\n## phase " : "\nphase ", t->f);
	put_text(t, phase->name, t->columns - sizeof("phase"));
	putc('\n', t->f);
	put_groups(&of);
}

static void put_all(struct table *t, const struct findings *found)
{
	for (u32 i = 0; i < t->c->n_runs; i++) {
		put_run(t, i);
		for (u32 g = 0; g < t->c->n_groups; g++)
			if (t->c->groups[g].of[i].watch)
				axis_cover(&t->axis, t->c->groups[g].of[i].watch->total);
	}
	if (t->c->n_base)
		fprintf(t->f, "%sbase: 1 to %u; other: %u to %u\n", t->markdown ? "\n" : "        ", t->c->n_base,
			t->c->n_base + 1, t->c->n_runs);
	if (found->n)
		putc('\n', t->f);
	if (!t->markdown)
		document_text_findings(found, t->look);
	for (u32 i = 0; t->markdown && i < found->n; i += 1 + found->f[i].also)
		put_item(t, "", "", found->f[i].text);
	if (!t->c->n_groups)
		fputs("\nno IO in any of them\n", t->f);
	else if (!t->markdown)
		put_heads(t);
	put_groups(t);
	for (u32 i = 0; i < t->c->n_phases; i++)
		put_phase(t, &t->c->phases[i]);
	if (t->c->n_groups && !t->markdown) {
		fprintf(t->f, "%*s", GUTTER, "");
		draw_axis(t->f, &t->axis, t->columns - GUTTER, t->look->utf8);
		putc('\n', t->f);
	}
	if (t->c->n_base || t->markdown)
		putc('\n', t->f);
	if (t->c->n_base)
		put_item(t, "", "", "base and other: median, minimum and maximum of the repeats. change: of the medians; "
			 "from, to: its 95 % confidence interval, p: two-sided, by " NOISE_METHOD ", for each figure "
			 "by itself");
	comparison_unpaired(t->c, put_unpaired, t);
	put_unpaired_phases(t);
	if (t->c->n_judgements && !t->markdown)
		putc('\n', t->f);
	for (u32 i = 0; i < t->c->n_judgements; i++)
		put_judgement(t, &t->c->judgements[i]);
}

static int print(const struct comparison *c, const struct look *look, bool markdown)
{
	struct table t = { .c = c, .look = look, .f = look->out, .markdown = markdown };
	CLEANUP(findings_uninit) struct findings found = { 0 };

	if (findings_compare(c, true, &found))
		return -ENOMEM;
	t.columns = look->columns < COLUMNS_MIN ? COLUMNS_MIN : look->columns;
	put_all(&t, &found);
	return 0;
}

int comparison_text(const struct comparison *c, const struct look *look)
{
	return print(c, look, false);
}

int comparison_markdown(const struct comparison *c, const struct look *look)
{
	return print(c, look, true);
}
