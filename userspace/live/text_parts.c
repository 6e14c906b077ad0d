// SPDX-License-Identifier: GPL-2.0-only
/* The rows of parts, below their whole. A label has little room in a row, so a long one gets a line of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/text_draw.h"
#include "live/text.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"
#include "util/units.h"
#include "util/utf8.h"

/* The columns for a part's label: up to its first figure. */
static u32 label_columns(const struct text *t, const struct op_frame *o)
{
	char iops[UNITS_TEXT];
	u32 columns;

	units_number(iops, o->iops);
	columns = TEXT_GUTTER + text_cell_columns(t) - 2 - strlen(iops);
	return columns < TEXT_LABEL ? columns : TEXT_LABEL;
}

static void put_part_row(const struct text *t, FILE *f, const char *label, const struct op_frame *o)
{
	u32 columns = utf8_columns(label, strlen(label)), room = t->columns - 1;
	char text[PART_LABEL_MAX * 3 + 1] = " ", name[PART_LABEL_MAX];

	if (columns <= label_columns(t, o)) {
		utf8_for_terminal(text + 1, sizeof(text) - 1, label, columns, t->look->utf8);
		text_row(t, f, text, o);
		return;
	}
	words_short_path(name, sizeof(name), label, room);
	utf8_for_terminal(text, sizeof(text), name, room, t->look->utf8);
	fprintf(f, " %s\n", text);
	text_row(t, f, "", o);
}

void text_part_rows(const struct text *t, FILE *f, const struct frames *fs, u32 i, u32 op)
{
	u32 parts = frames_parts(fs, i);
	bool named = false;

	for (u32 p = i + 1; p <= i + parts; p++) {
		const struct op_frame *o = &fs->f[p].ops[op];
		const struct part *part = fs->f[p].watch->part;

		if (!o->ios)
			continue;
		text_paint(t, f, DIM);
		if (!named && strcmp(part->by, by_names[BLKLAT_BY_SIZE]))
			fprintf(f, " %s:\n", part->by);
		named = true;
		put_part_row(t, f, part->label, o);
		text_paint(t, f, PLAIN);
	}
}

/* Prints a slow IO: when it completed, how long it took, what and where it was, and who issued it. */
static int put_slow(const struct text *t, FILE *f, const struct slow_io *io)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };
	int err = print_buffer_open(&say);

	if (err)
		return err;
	words_slow_figures(f, io);
	words_slow_rest(say.f, io, t->columns - TEXT_GUTTER - 2, t->look->utf8);
	if (fflush(say.f))
		return -ENOMEM;
	draw_paragraph(f, say.text, TEXT_GUTTER + WORDS_SLOW_FIGURES, TEXT_GUTTER + 2, t->columns);
	putc('\n', f);
	return 0;
}

int text_slow(const struct text *t, FILE *f, const struct frames *fs, u32 i)
{
	const struct slow_of *of = fs->f[i].slow;
	char more[UNITS_TEXT];
	int err = 0;

	if (!of)
		return 0;
	for (u32 n = 0; n < of->n && !err; n++) {
		const struct slow_io *io = &fs->slow->io[of->first + n];

		text_put(t, f, BOLD, "%-*s", TEXT_GUTTER, n ? "" : "slow");
		text_paint(t, f, io->told.error ? ALARM : PLAIN);
		err = put_slow(t, f, io);
		text_paint(t, f, PLAIN);
	}
	if (of->found > of->n)
		fprintf(f, "%-*s%s more slow ones\n", TEXT_GUTTER, "", units_count(more, of->found - of->n));
	return err;
}
