/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report's document: all figures of one or more runs as one JSON object. 'report --format json'
 * prints it, and the page draws it. blklat(8) describes its keys.
 */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <json-c/json.h>

#include "report/run.h"
#include "report/steady.h"

#define DOCUMENT_SCHEMA 1

/* Where the user wants to look for the steady state; NAN: the default window. */
struct document_window {
	double from_s, to_s;
};

/*
 * Returns the document, to be released by json_object_put(), or NULL if there is no memory. @runs have
 * to outlive it: most of it is made only when it is written, so it takes no more memory than its text.
 */
struct json_object *document_make(const struct run *runs, u32 n, const struct document_window *window);

/* The window of the rates; used in compare's document, too. */
struct json_object *document_active(const struct run *r);

/* The document's part about one op of one watch; for document.c. */
struct json_object *document_series(const struct run *r, const struct watch_run *w, u32 op,
				    const struct steady_window *steady);

/* Adds the figures of an op of one watch over all intervals; runs and phases have the same ones. */
void document_total(struct json_object *to, const struct run *r, const struct watch_run *w, u32 op);

/*
 * Adds a part's share of its whole's IOs of an op and, if IOs are divided by what they run beside, how
 * the part compares.
 */
void document_of_part(struct json_object *to, const struct run *r, const struct watch_run *part, u32 op);

/* All ops of a part together; NULL if it had no IO. */
struct json_object *document_all_ops(const struct run *r, const struct watch_run *part);

/* Percentiles over time, each an array under its name; null for intervals without IO. */
struct json_object *document_percentiles(const struct run *r, const struct percentiles_run *ps);

/* The document's part about the slow IOs of one whole; for document.c, if the run looked for slow IOs. */
struct json_object *document_slow(const struct run *r, const struct watch_run *w);

/* The document's part about the phases. */
struct json_object *document_phases(const struct run *r);

#endif
