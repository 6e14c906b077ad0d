/* SPDX-License-Identifier: GPL-2.0-only */
/* The sinks that write to a stream, as --format names them. What they are given outlives them; each returns 0 or -ENOMEM. */
#ifndef LIVE_FORMATS_H
#define LIVE_FORMATS_H

#include "core/sink.h"
#include "core/text_draw.h"

/* For people: a table and a drawing of each interval, a summary. */
int text_open(const struct run_info *run, const struct look *look, struct sink **ret);

/* For programs; @bins: every bin too. */
int json_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret);
int csv_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret);

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMATS,
};

extern const char *const format_names[FORMATS + 1];	/* ended by NULL */

/* The one of them that was chosen. @bins is for programs, what @look says besides the stream for people. */
int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret);

#endif
