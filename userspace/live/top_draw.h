/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files that draw the screen of top; no other file includes it. */
#ifndef LIVE_TOP_DRAW_H
#define LIVE_TOP_DRAW_H

#include <curses.h>

#include "core/text_draw.h"
#include "live/top.h"

#define TOP_COLUMNS_MIN 40
#define TOP_ROWS_MIN 16
#define TOP_SHADES_MAX 9

enum { PAIR_ALARM = 1, PAIR_NOTE, PAIR_BAR, PAIR_HEAT };

struct top_draw {
	const struct look *look;
	bool colour;
	u32 shades;			/* of the heat map, not counting blank */
	u32 name;			/* columns of names */
	char said[256];			/* last line written to stderr; "": nothing */
	double heat[TOP_SAMPLES][TOP_STEPS];	/* [column of the map][step] */
};

/* To be called once curses is initialized. */
void top_draw_init(struct top_draw *d, const struct look *look);

/* Draws the whole screen. Sets in @t what depends on the screen's size: how many lines fit. */
void top_draw(struct top_draw *d, struct top *t);

/* Puts text at column @x of line @y, cut at column @end. Returns the column behind it. */
u32 top_put(const struct top_draw *d, u32 y, u32 x, u32 end, const char *text);

/* Draws map, distribution and time axis of @item, on @rows lines from @y on. */
void top_draw_heat(struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows);

#endif
