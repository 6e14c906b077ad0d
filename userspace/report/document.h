/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report's document: all figures of some runs as one JSON object. 'report --format json' prints it, and the
 * page draws it. blklat(8) describes its keys.
 */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <json-c/json.h>

#include "report/run.h"
#include "report/steady.h"

#define DOCUMENT_SCHEMA 1

/* Where the user wants the steady state to be looked for; NAN: the default window. */
struct document_window {
	double from_s, to_s;
};

/*
 * Returns the document, to be released by json_object_put(), or NULL when there is no memory. @runs have to outlive it:
 * most of it is made only when it is written, so that it takes no more memory than its text.
 */
struct json_object *document_make(const struct run *runs, u32 n, const struct document_window *window);

/* What the rates are over; in compare's document, too. */
struct json_object *document_active(const struct run *r);

/* The document's part about one op of one watch; for document.c. */
struct json_object *document_series(const struct run *r, const struct watch_run *w, u32 op,
				    const struct steady_window *steady);

/* Adds the figures of all intervals of an op of one watch; for what is said of runs and phases alike. */
void document_total(struct json_object *to, const struct run *r, const struct watch_run *w, u32 op);

/* Adds what an op of a part is of its whole's, and how it compares where parts are what IOs are beside. */
void document_of_part(struct json_object *to, const struct run *r, const struct watch_run *part, u32 op);

/* All ops of a part together; NULL where it had no IO. */
struct json_object *document_all_ops(const struct watch_run *part);

/* The document's part about the slow IOs of one whole; for document.c, where the run has any looked for. */
struct json_object *document_slow(const struct run *r, const struct watch_run *w);

/* The document's part about the phases. */
struct json_object *document_phases(const struct run *r);

#endif
