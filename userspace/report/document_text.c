// SPDX-License-Identifier: GPL-2.0-only
/* The report as plain text, 80 columns wide: findings and figures, for a terminal or a ticket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/comparison.h"
#include "report/document.h"
#include "report/findings.h"
#include "util/cleanup.h"
#include "util/table.h"
#include "util/units.h"
#include "util/utf8.h"

#define WIDTH 80
#define NAME_LEAST 12

/* Figures are named as the cells of comparisons; there is no room for all. */
static const struct column of_run[] = {
	{ "", .least = NAME_LEAST }, { "IOPS", .right = true }, { "MB/s", .right = true }, { "mean", .right = true }, { "p50", .right = true },
	{ "p99", .right = true }, { "p99.9", .right = true }, { "max", .right = true },
};
static const struct column of_phase[] = {
	{ "", .least = NAME_LEAST }, { "phase", .least = NAME_LEAST }, { "IOPS", .right = true }, { "mean", .right = true }, { "p50", .right = true },
	{ "p90", .right = true }, { "p99", .right = true },
};

/* What a recording says may be anything. */
static void put_paragraph(const struct look *look, const char *lead, const char *text)
{
	char clean[3 * FINDING_TEXT];

	utf8_for_terminal(clean, sizeof(clean), text, FINDING_TEXT, look->utf8);
	fputs(lead, look->out);
	draw_paragraph(look->out, clean, strlen(lead), strlen(lead), WIDTH);
	putc('\n', look->out);
}

static void put_run(const struct look *look, const struct run *r)
{
	char text[FINDING_TEXT], start[UNITS_TEXT], length[UNITS_TEXT], from[UNITS_TEXT], to[UNITS_TEXT];

	snprintf(text, sizeof(text), "%.200s: %.100s%s%.64s, %s, %s; rates over %s to %s", r->origin.file, r->origin.label,
		 r->origin.label[0] ? ", " : "", r->origin.host, units_utc(start, r->origin.start_wall_ns), units_seconds(length, r->duration_s),
		 units_seconds(from, r->active.from_s), units_seconds(to, r->active.to_s));
	put_paragraph(look, "", text);
}

void document_text_findings(const struct findings *all, const struct look *look)
{
	static const char *const leads[] = { "!! ", "*  ", "ok " };

	for (u32 i = 0; i < all->n; i += 1 + all->f[i].also)
		put_paragraph(look, leads[all->f[i].grade], all->f[i].text);
}

static int put_findings(const struct look *look, const struct run *r, const struct steady_window *w)
{
	CLEANUP(findings_uninit) struct findings all = { 0 };

	if (findings_make(r, w, &all))
		return -ENOMEM;
	document_text_findings(&all, look);
	putc('\n', look->out);
	return 0;
}

/* Adds the ops of a watch, in a phase if it is named. */
static int add_rows(struct table *t, const struct look *look, const struct watch *w, const struct frame *f, const char *phase)
{
	char device[3 * DEVICE_NAME_MAX], name[4 * DEVICE_NAME_MAX], clean[256], texts[COMPARISON_CELLS][UNITS_TEXT];
	const char *row[TABLE_COLUMNS_MAX] = { name, clean };
	int err = 0;

	utf8_for_terminal(device, sizeof(device), w->device->name, DEVICE_NAME_MAX, look->utf8);
	utf8_for_terminal(clean, sizeof(clean), phase ?: "", sizeof(clean) / 3, look->utf8);
	for (u32 op = 0; !err && op < BLKLAT_OPS; op++) {
		if (!f->ops[op].ios)
			continue;
		snprintf(name, sizeof(name), "%s %s %s", device, stage_names[w->stage], op_names[op]);
		for (u32 i = 0; i < COMPARISON_CELLS; i++) {
			const struct comparison_cell *cell = &comparison_cells[i];

			for (u32 k = 1 + !!phase; k < t->n_columns; k++)
				if (!strcmp(t->columns[k].title, cell->name))
					row[k] = cell->text(texts[i], comparison_value(cell, &f->ops[op]));
		}
		err = table_add(t, row);
	}
	return err;
}

static int put_figures(const struct look *look, const struct run *r)
{
	CLEANUP(table_uninit) struct table all, phases;
	int err = 0;

	table_init(&all, of_run, ARRAY_SIZE(of_run));
	table_init(&phases, of_phase, ARRAY_SIZE(of_phase));
	run_for_each_whole(w, r) {
		err = err ?: add_rows(&all, look, w->watch, w->total, NULL);
		for (u32 k = 0; !err && k < r->phases.n; k++)
			if (r->phases.p[k].n && r->phases.p[k].of[w - r->watches])
				err = add_rows(&phases, look, w->watch, r->phases.p[k].of[w - r->watches], r->phases.p[k].name);
	}
	if (all.n)
		table_print(&all, look->out, WIDTH);
	else
		fputs("no IO\n", look->out);
	if (phases.n) {
		putc('\n', look->out);
		table_print(&phases, look->out, WIDTH);
	}
	return err;
}

int document_text(const struct run *runs, u32 n, const struct document_window *window, const struct look *look)
{
	CLEANUP(findings_uninit) struct findings found = { 0 };
	int err = document_compare(runs, n, &found);

	document_text_findings(&found, look);
	for (u32 i = 0; !err && i < n; i++) {
		struct steady_window steady;

		if (i || found.n)
			putc('\n', look->out);
		put_run(look, &runs[i]);
		document_steady(&runs[i], window, &steady);
		err = put_findings(look, &runs[i], &steady) ?: put_figures(look, &runs[i]);
	}
	return err;
}
