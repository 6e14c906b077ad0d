// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slow IOs of an interval, a line each: when it ended, how long it took, what and where it was, and
 * who sent it.
 */
#include <errno.h>
#include <stdio.h>

#include "core/text_draw.h"
#include "live/text.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"
#include "util/units.h"

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
	const struct slow_of *of;
	char more[UNITS_TEXT];
	int err = 0;

	if (!fs->slow)
		return 0;
	of = &fs->slow->of[fs->f[i].watch - t->run->watches];
	for (u32 n = 0; n < of->n && !err; n++) {
		const struct slow_io *io = &fs->slow->io[of->first + n];

		text_paint(t, f, BOLD);
		fprintf(f, "%-*s", TEXT_GUTTER, n ? "" : "slow");
		text_paint(t, f, io->told.error ? ALARM : PLAIN);
		err = put_slow(t, f, io);
		text_paint(t, f, PLAIN);
	}
	if (of->found > of->n)
		fprintf(f, "%-*s%s more slow ones\n", TEXT_GUTTER, "", units_count(more, of->found - of->n));
	return err;
}
