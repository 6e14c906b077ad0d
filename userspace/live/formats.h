/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sinks of 'live', one for each --format, and of 'top'. Their arguments must outlive them. The functions for
 * 'live' return 0 or -ENOMEM.
 */
#ifndef LIVE_FORMATS_H
#define LIVE_FORMATS_H

#include "core/sink.h"
#include "core/text_draw.h"
#include "live/loop.h"

/* For people: a table and a drawing of each interval, and a summary. */
int text_open(const struct run_info *run, const struct look *look, struct sink **ret);

/* Prints an interval as CSV, as blklat-live(8) describes it; @bins: with every bin; @header: with the header line. */
void csv_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins, bool header);

/* The same as a log of HdrHistograms; see hlog.c. Returns 0 or -ENOMEM. */
int hlog_print(FILE *to, const struct frames *interval, bool header);

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMATS,
	FORMAT_HLOG = FORMATS,	/* not of 'live' */
};

extern const char *const format_names[FORMATS + 1];	/* ended by NULL */

/* Opens the sink of @format. Formats for programs alone use @bins, and only the stream of @look. */
int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret);

/*
 * The sink of 'blklat top' draws the whole terminal at each interval, and reads its keys. Takes over the terminal that
 * stdout is; @look says what it can show. Closing the sink restores it. If stderr is a terminal too, what is written to
 * it meanwhile is kept: its last line is shown, and closing the sink writes all of it. @run and @look must outlive the
 * sink; the input lives as long as the sink. Signals are to be caught by ending_catch(). Returns 0, or a sentence and
 * -ENOTTY (the terminal can't be opened, or can't move its cursor) or -ENOMEM.
 */
int top_open(const struct run_info *run, const struct look *look, struct sink **ret, struct loop_input **ret_input,
	     struct problem *p);

#endif
