// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/active.h"
#include "report/comparison.h"
#include "report/findings.h"
#include "report/noise.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "util/utf8.h"

/* Prints a name literally: nothing in it is interpreted as Markdown or HTML. */
static void put_name(FILE *f, const char *name)
{
	size_t room = 3 * strlen(name) + 1;
	char *clean CLEANUP(cleanup_free) = malloc(room);

	if (!clean)
		return;
	utf8_for_terminal(clean, room, name, room, true);
	for (const char *c = clean; *c; c++) {
		if (*c == '<')
			fputs("&lt;", f);
		else if (*c == '&')
			fputs("&amp;", f);
		else if (strchr("\\`*_{}[]()#+!|~", *c))
			fprintf(f, "\\%c", *c);
		else
			putc(*c, f);
	}
}

/* Parts have a column with their names. */
static void put_heads(FILE *f, const struct part *part)
{
	putc('\n', f);
	if (part) {
		fputs("| ", f);
		put_name(f, part->by);
		putc(' ', f);
	}
	fputs("| recording |", f);
	for (u32 i = 0; i < COMPARISON_CELLS; i++)
		fprintf(f, " %s |", comparison_cells[i].name);
	fprintf(f, " KS |\n%s| --- |", part ? "| --- " : "");
	for (u32 i = 0; i <= COMPARISON_CELLS; i++)
		fputs(" ---: |", f);
	putc('\n', f);
}

static void put_cell(FILE *f, const struct comparison_cell *cell, const struct compared *base, const struct compared *c)
{
	double value = comparison_value(cell, c), ratio = ratio_of(comparison_value(cell, base), value);
	char text[UNITS_TEXT];

	fprintf(f, " %s", cell->text(text, value));
	if (c != base && ratio >= 0)
		fprintf(f, " (%s)", ratio_text(text, ratio));
	fputs(" |", f);
}

static void put_row(FILE *f, const struct part *part, const struct compared *base, const struct compared *c)
{
	fputs("| ", f);
	if (part) {
		put_name(f, part->label);
		fputs(" | ", f);
	}
	put_name(f, c->run->origin.file);
	fputs(" |", f);
	for (u32 i = 0; i < COMPARISON_CELLS; i++)
		put_cell(f, &comparison_cells[i], base, c);
	if (c->ks >= 0)
		fprintf(f, " %.4f |\n", c->ks);
	else
		fputs(" - |\n", f);
}

static void put_side(FILE *f, const struct comparison_cell *cell, const struct noise_side *s)
{
	char median[UNITS_TEXT], min[UNITS_TEXT], max[UNITS_TEXT];

	if (s->n)
		fprintf(f, " %s (%s to %s) |", cell->text(median, s->median), cell->text(min, s->min), cell->text(max, s->max));
	else
		fputs(" - |", f);
}

static void put_change(FILE *f, const struct noise *n)
{
	char change[UNITS_TEXT], low[UNITS_TEXT], high[UNITS_TEXT];

	fprintf(f, " %s", change_text(change, n->ratio));
	if (n->known)
		fprintf(f, " (%s to %s, p %.3f)", change_text(low, n->low), change_text(high, n->high), n->p);
	fputs(" |", f);
}

/* For repeats: three rows below those of the recordings. */
static void put_noise(FILE *f, const struct comparison *c, const struct compared_group *g)
{
	static const char *const rows[] = { "**base**: median (min to max)", "**other**: median (min to max)", "**change** (95 %)" };

	for (u32 row = 0; row < ARRAY_SIZE(rows); row++) {
		fputs("| ", f);
		if (g->part) {
			put_name(f, g->part->label);
			fputs(" | ", f);
		}
		fprintf(f, "%s |", rows[row]);
		for (u32 i = 0; i < COMPARISON_CELLS; i++) {
			const struct noise n = comparison_noise(c, g, &comparison_cells[i]);

			if (row == 2)
				put_change(f, &n);
			else
				put_side(f, &comparison_cells[i], row ? &n.other : &n.base);
		}
		fputs(" |\n", f);
	}
}

static void put_rows(FILE *f, const struct comparison *c, const struct compared_group *g)
{
	for (u32 i = 0; i < c->n_runs; i++)
		put_row(f, g->part, &g->of[0], &g->of[i]);
	if (c->n_base)
		put_noise(f, c, g);
}

/* The table of a whole, and another one of its parts. */
static void put_group(FILE *f, const struct comparison *c, u32 whole)
{
	const struct compared_group *g = &c->groups[whole];
	const struct watch *base = g->of[0].watch->watch;
	const char *mapped = comparison_mapped(c, g);
	u32 parts = comparison_parts(c, whole);

	fputs("### ", f);
	put_name(f, base->device->name);
	if (mapped) {
		fputs(" -> ", f);
		put_name(f, mapped);
	}
	fprintf(f, " %s, %s\n", stage_names[base->stage], op_names[g->op]);
	put_heads(f, NULL);
	put_rows(f, c, g);
	if (parts)
		put_heads(f, g[1].part);
	for (u32 i = 1; i <= parts; i++)
		put_rows(f, c, &g[i]);
	putc('\n', f);
}

static void put_phase(FILE *f, const struct compared_phase *phase)
{
	fputs("## ", f);
	put_name(f, phase->name);
	fputs("\n\n", f);
	for (u32 i = 0; i < phase->c.n_groups; i += 1 + comparison_parts(&phase->c, i))
		put_group(f, &phase->c, i);
}

/* The window of the rates. */
static void put_window(FILE *f, const struct run *r)
{
	char from[UNITS_TEXT], to[UNITS_TEXT];

	fputs("Rates of ", f);
	put_name(f, r->origin.file);
	fprintf(f, " are over %s to %s, %s.\n\n", units_seconds(from, r->active.from_s), units_seconds(to, r->active.to_s),
		active_words(r));
}

static void put_unpaired(void *to, const struct run *run, const struct watch *watch)
{
	FILE *f = to;

	put_name(f, watch->device->name);
	fprintf(f, " %s is only in ", stage_names[watch->stage]);
	put_name(f, run->origin.file);
	fputs(".\n\n", f);
}

static void put_unpaired_phase(void *to, const struct run *run, const struct phase *p)
{
	FILE *f = to;

	fputs("Phase ", f);
	put_name(f, p->name);
	fputs(" of ", f);
	put_name(f, run->origin.file);
	fputs(" is not in all.\n\n", f);
}

static void put_judgement(FILE *f, const struct judgement *j)
{
	fputs(j->verdict.holds ? "- **fails**: " : "- passes: ", f);
	put_name(f, j->sentence.text);
	putc('\n', f);
}

int comparison_markdown(const struct comparison *c, const struct look *look)
{
	CLEANUP(findings_uninit) struct findings found = { 0 };
	FILE *f = look->out;

	if (findings_compare(c, true, &found))
		return -ENOMEM;
	for (u32 i = 0; i < c->n_groups; i += 1 + comparison_parts(c, i))
		put_group(f, c, i);
	for (u32 i = 0; i < c->n_phases; i++)
		put_phase(f, &c->phases[i]);
	for (u32 i = 0; i < found.n; i += 1 + found.f[i].also) {
		fputs("- ", f);
		put_name(f, found.f[i].text);
		fputs(i + 1 + found.f[i].also < found.n ? "\n" : "\n\n", f);
	}
	for (u32 i = 0; i < c->n_runs; i++)
		put_window(f, &c->runs[i]);
	if (c->n_base)
		fprintf(f, "base: the first %u recordings; other: the rest. change: of the medians, with its 95 %% confidence "
			"interval and two-sided p by " NOISE_METHOD ", for each figure by itself.\n\n", c->n_base);
	comparison_unpaired(c, put_unpaired, f);
	comparison_phases_unpaired(c, put_unpaired_phase, f);
	for (u32 i = 0; i < c->n_judgements; i++)
		put_judgement(f, &c->judgements[i]);
	return 0;
}
