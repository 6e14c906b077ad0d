/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files that draw the screen of top share; nobody else includes it. */
#ifndef LIVE_TOP_DRAW_H
#define LIVE_TOP_DRAW_H

#include <curses.h>

#include "core/text_draw.h"
#include "live/top.h"

#define TOP_COLUMNS_MIN 60
#define TOP_ROWS_MIN 16
#define TOP_SHADES_MAX 9

enum { PAIR_ALARM = 1, PAIR_NOTE, PAIR_BAR, PAIR_HEAT };

struct top_draw {
	const struct look *look;
	bool colour;
	u32 shades;			/* that the heat map has, without blank */
	char said[256];			/* last on stderr meanwhile; "": nothing */
	double heat[TOP_SAMPLES][TOP_STEPS];	/* a column of the map each */
};

/* Once curses is there. */
void top_draw_init(struct top_draw *d, const struct look *look);

/* The whole screen. Changes of @t what depends on its size: how many lines fit. */
void top_draw(struct top_draw *d, struct top *t);

/* Text at a place, from column @x on; what goes beyond column @end is cut. Returns the column behind it. */
u32 top_put(const struct top_draw *d, u32 y, u32 x, u32 end, const char *text);

/* The last slow IOs of @item, on so many lines at most. */
void top_draw_slow(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows);

/* Map, distribution and time axis of @item, on @rows lines from @y on. */
void top_draw_heat(struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows);

#endif
