// SPDX-License-Identifier: GPL-2.0-only
/* Draws the last slow IOs of a device, a line each, the latest first. */
#include "live/top_draw.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"
#include "util/units.h"

#define INDENT 2

static void put_io(const struct top_draw *d, const struct slow_io *io, u32 y)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };

	if (print_buffer_open(&say))
		return;
	words_slow_figures(say.f, io);
	words_slow_rest(say.f, io, COLS - INDENT - WORDS_SLOW_FIGURES, d->look->utf8);
	if (fflush(say.f))
		return;
	if (io->told.error)
		attrset(d->colour ? COLOR_PAIR(PAIR_ALARM) | A_BOLD : A_BOLD);
	top_put(d, y, INDENT, COLS, say.text);
	attrset(A_NORMAL);
}

void top_draw_slow(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows)
{
	const struct top_slow *s = item->slow;
	u64 at = s ? s->taken : 0;
	const struct slow_io *io;
	char found[UNITS_TEXT], say[128];

	if (!t->run->slow_most) {
		top_put(d, y, INDENT, COLS, "no slow IOs are looked for: start top with --slow=T, a time or a percentile");
		return;
	}
	if (!s) {
		top_put(d, y, INDENT, COLS, "no slow IO so far");
		return;
	}
	snprintf(say, sizeof(say), "slow IOs, the latest first; %s so far%s", units_count(found, s->found), s->found > s->taken ? ", not all kept" : "");
	attrset(A_BOLD);
	top_put(d, y++, INDENT, COLS, say);
	attrset(A_NORMAL);
	while (--rows && (io = top_slow_before(s, t->shown, t->op, &at)))
		put_io(d, io, y++);
}
