/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the text sink; no other file includes it. */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include "live/formats.h"

/* The worst of many devices. The text sink uses it for intervals and runs with more than a few devices. */
struct worst {
	bool *left_out;		/* [number of the watch] there are worse ones */
	const struct frame **order;
	u64 most;		/* how many wholes are not left out; 0: all */
};

#define TEXT_GUTTER 8		/* columns of an op's name, left of the figures */
#define TEXT_LABEL 12		/* and of a part's label, as far as they are free */
#define TEXT_COLUMNS_MIN 40

enum paint { PLAIN, BOLD, DIM, BAR, NOTE, STALL, ALARM };

struct text {
	struct sink sink;
	const struct run_info *run;
	const struct look *look;
	u32 columns;
	bool headed;
	u32 wholes;			/* of the frames being printed, those that are not of parts */
	u32 n_watches;			/* of the run that are known */
	bool stages;			/* there are several, so a watch's name includes the stage */
	u64 idle_gap_ns;		/* of the last interval; 0: pauses are not looked for */
	struct axis axis;
	struct text_told {
		u64 by[LOST_REASONS];
	} *told;			/* losses that were already reported */
	bool told_skipped;		/* skipped programs were already reported */
	bool many;			/* many devices: idle ones are folded, sick ones are marked */
	struct worst worst;		/* of the frames being printed, if many */
};

/* Switches to a colour, or to none; prints in one. */
void text_paint(const struct text *t, FILE *f, enum paint paint);
__attribute__((format(printf, 4, 5)))
void text_put(const struct text *t, FILE *f, enum paint paint, const char *format, ...);

/* The name of a watch in at most @columns, and the room that it needs. */
#define TEXT_NAME (3 * DEVICE_NAME_MAX + 16)
const char *text_name(const struct text *t, char name[TEXT_NAME], const struct watch *w, u32 columns);

/* The width of a column of figures. */
u32 text_cell_columns(const struct text *t);

/* Print the table's heads, with @label in the gutter, and the rows of an op. */
void text_heads(const struct text *t, FILE *f, const char *label);
void text_row(const struct text *t, FILE *f, const char *label, const struct op_frame *o);

/* Prints the rows of the parts of whole @i below that of an op, for parts with such IOs. */
void text_part_rows(const struct text *t, FILE *f, const struct frames *fs, u32 i, u32 op);

/* Prints the slow IOs of whole @i below its rows, a line each. Returns 0 or -ENOMEM. */
int text_slow(const struct text *t, FILE *f, const struct frames *fs, u32 i);

/* The column of the text after a label: behind the gutter, or two blanks behind a longer label. */
u32 text_indent(const char *label);

/* Prints a paragraph in a colour, after @label in bold; the lines after the first are indented. */
__attribute__((format(printf, 5, 6)))
void text_say(const struct text *t, FILE *f, const char *label, enum paint paint, const char *format, ...);

/* "5 IOs lost: 3 completed without a start, 2 unexplained"; prints nothing if there are none. */
void text_losses(const struct text *t, FILE *f, const char *label, const u64 lost_by[LOST_REASONS]);

/* "the kernel skipped 3 program runs ..."; prints nothing if there are none. */
void text_skipped(const struct text *t, FILE *f, const struct frames *fs);

/*
 * Watches are "many" if they are more than this, or if only the worst of them are shown. Then idle watches have no
 * line of their own: text_idle() prints how many there are, or nothing if there are none.
 */
#define TEXT_IDLE_LINES 8
void text_idle(const struct text *t, FILE *f, u32 watches);

/* Is whole @fr left out, since others are worse? */
bool text_left_out(const struct text *t, const struct frame *fr);

/* Prints one line for all frames of @fs that are left out; nothing if there are none. */
void text_rest(const struct text *t, FILE *f, const struct frames *fs);

void text_header(const struct text *t, FILE *f);

/* Returns 0 or -ENOMEM. */
int text_summary(struct text *t, FILE *f, const struct frames *run);

/* Returns 0 or -ENOMEM. */
int worst_init(struct worst *w, u32 watches, u64 most);
void worst_uninit(struct worst *w);

/*
 * Of the wholes of @fs that did something, leaves out all but the worst. Watches are numbered by their place in
 * @watches.
 */
void worst_find(struct worst *w, const struct frames *fs, const struct watch *watches);

#endif
