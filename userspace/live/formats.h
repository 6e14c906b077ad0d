/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sinks that write to a stream, one for each --format. Their arguments must outlive them. Each
 * returns 0 or -ENOMEM.
 */
#ifndef LIVE_FORMATS_H
#define LIVE_FORMATS_H

#include "core/sink.h"
#include "core/text_draw.h"

/* For people: a table and a drawing of each interval, and a summary. */
int text_open(const struct run_info *run, const struct look *look, struct sink **ret);

/* For programs; @bins: with every bin. */
int json_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret);
int csv_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret);

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMATS,
};

extern const char *const format_names[FORMATS + 1];	/* ended by NULL */

/* Opens the sink of @format. @bins matters to formats for programs only; of @look these use only the stream. */
int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret);

#endif
