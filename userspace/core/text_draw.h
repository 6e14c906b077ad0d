/* SPDX-License-Identifier: GPL-2.0-only */
/* Drawings in text: a distribution over decades of latency, its axis, bars, paragraphs. */
#ifndef CORE_TEXT_DRAW_H
#define CORE_TEXT_DRAW_H

#include <stdio.h>

#include "core/frame.h"

/* Where text for people goes, and what can be shown there. */
struct look {
	FILE *out;
	bool colour;
	bool utf8;
	int columns;		/* width of the terminal; 80 if there is none */
	u64 devices;		/* how many devices get a line of their own, the worst first; 0: all */
};

/* 10^first to 10^last ns; both 0: nothing was seen yet. */
struct axis {
	int first, last;
};

/* Widens @a to the whole decades that hold the IOs of @f, at least three. It never gets narrower. */
void axis_cover(struct axis *a, const struct frame *f);

/*
 * Draws one line: the density of IOs (linear; the densest column is full) over @a, stretched to @columns. A column
 * with any IO is not blank. No newline, no blanks at the end.
 */
void draw_distribution(FILE *f, const struct op_frame *o, const struct axis *a, u32 columns, bool utf8);

/* Draws the labels below it: one where each decade begins. */
void draw_axis(FILE *f, const struct axis *a, u32 columns, bool utf8);

/* Draws a bar that fills @share (0 to 1) of @columns, padded to @columns; visible if @share is above 0. */
void draw_bar(FILE *f, double share, u32 columns, bool utf8);

/*
 * Writes @text, broken at newlines and at blanks so that no line exceeds @columns; without a newline at the end. The
 * caller has written @at columns of the first line; the other lines are indented by @indent.
 */
void draw_paragraph(FILE *f, const char *text, u32 at, u32 indent, u32 columns);

#endif
