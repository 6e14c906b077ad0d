// SPDX-License-Identifier: GPL-2.0-only
/* The report as plain text, 80 columns wide: findings and figures, for a terminal or a ticket. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shares.h"
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
	char clean[3 * (FINDING_TEXT + RUN_NAME)];

	utf8_for_terminal(clean, sizeof(clean), text, sizeof(clean) / 3, look->utf8);
	fputs(lead, look->out);
	draw_paragraph(look->out, clean, strlen(lead), strlen(lead), WIDTH);
	putc('\n', look->out);
}

/* @name: what it is called among several, unless its file or label says that. */
static void put_run(const struct look *look, const struct run *r, const char *name)
{
	char text[FINDING_TEXT];
	bool said = strstr(r->origin.file, name) || !strncmp(r->origin.label, name, strlen(name));

	snprintf(text, sizeof(text), "%s%s%.200s: %.100s%s%.64s, %s, %s%s%s", said ? "" : name, said ? "" : ": ", r->origin.file,
		 r->origin.label, r->origin.label[0] ? ", " : "", r->origin.host, UNITS(utc, r->origin.start_wall_ns),
		 UNITS(seconds, r->duration_s), r->origin.finished ? "" : " (not finished)",
		 active_words((char[ACTIVE_TEXT]){ 0 }, "; ", r));
	put_paragraph(look, "", text);
}

/*
 * Those with which something is wrong, if @wrong, of the run of that name, and the others, if @rest. Returns whether
 * there were any.
 */
static bool put_findings(const struct look *look, const struct findings *all, bool wrong, bool rest, const char *name)
{
	static const char *const leads[] = { "!! ", "*  ", "ok " };
	char text[FINDING_TEXT + RUN_NAME];
	bool any = false;

	for (u32 i = 0; i < all->n; i += 1 + all->f[i].also) {
		snprintf(text, sizeof(text), "%s%s%s", name, name[0] ? ": " : "", all->f[i].text);
		if (all->f[i].grade == FINDING_WRONG ? !wrong : !rest)
			continue;
		put_paragraph(look, leads[all->f[i].grade], text);
		any = true;
	}
	return any;
}

void document_text_findings(const struct findings *all, const struct look *look)
{
	put_findings(look, all, true, true, "");
}

/* Adds the ops of a watch, in a phase if it is named. */
static int add_rows(struct table *t, const struct look *look, const struct watch *w, const struct frame *f,
		    const char *phase)
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

/* Where the time of each op goes, of devices with all stages. */
static void put_shares(const struct look *look, const struct run *r)
{
	char lead[2 * DEVICE_NAME_MAX], say[SHARES_TEXT], text[sizeof(lead) + SHARES_TEXT];
	struct shares s;
	bool any = false;

	run_for_each_whole(w, r)
		for (u32 op = 0; w->watch->stage == BLKLAT_STAGE_TOTAL && op < BLKLAT_OPS; op++)
			if (shares_of(&r->total, w - r->watches, op, &s)) {
				if (!any)
					putc('\n', look->out);
				any = true;
				snprintf(text, sizeof(text), "%s %s %s: %s", w->watch->device->name, stage_names[w->watch->stage],
					 op_names[op], shares_text(say, &s, w->watch->device));
				put_paragraph(look, "", text);
			}
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
				err = add_rows(&phases, look, w->watch, r->phases.p[k].of[w - r->watches],
					       r->phases.p[k].name);
	}
	if (all.n)
		table_print(&all, look->out, WIDTH);
	else
		fputs("no IO\n", look->out);
	put_shares(look, r);
	if (phases.n) {
		putc('\n', look->out);
		table_print(&phases, look->out, WIDTH);
		put_paragraph(look, "", r->asked.from || r->asked.to
						? "Rates of a phase are over the time from its first IO to its last, those above over all that was asked for."
						: "Rates of a phase are over the time from its first IO to its last.");
	}
	return err;
}

/* Of several runs, what is wrong in any of them comes first, then what sets them apart. */
static int put_all(const struct look *look, const struct run *runs, u32 n, const struct document_window *window,
		   struct findings *of)
{
	const struct findings *between = &of[n];
	char name[RUN_NAME];
	bool any = false;
	int err = document_compare(runs, n, &of[n]);

	for (u32 i = 0; !err && i < n; i++) {
		const struct steady_window steady = document_steady(&runs[i], window);

		err = findings_make(&runs[i], &steady, &of[i]);
		run_name(runs, n, i, name, sizeof(name));
		any |= put_findings(look, &of[i], n > 1, false, name);
	}
	any |= put_findings(look, between, true, true, "");
	for (u32 i = 0; !err && i < n; i++) {
		if (i || any)
			putc('\n', look->out);
		run_name(runs, n, i, name, sizeof(name));
		put_run(look, &runs[i], n > 1 ? name : "");
		put_findings(look, &of[i], n == 1, true, "");
		putc('\n', look->out);
		err = put_figures(look, &runs[i]);
	}
	return err;
}

int document_text(const struct run *runs, u32 n, const struct document_window *window, const struct look *look)
{
	struct findings *of = calloc(n + 1, sizeof(*of));
	int err = of ? put_all(look, runs, n, window, of) : -ENOMEM;

	for (u32 i = 0; of && i <= n; i++)
		findings_uninit(&of[i]);
	free(of);
	return err;
}
