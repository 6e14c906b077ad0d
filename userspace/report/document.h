/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report's document: all figures of some runs as one JSON object. 'report --format json' prints it,
 * the page draws it. Its keys are described in blklat(8).
 */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <json-c/json.h>

#include "report/run.h"
#include "report/steady.h"

#define DOCUMENT_SCHEMA 1

/* Where the user wants the steady state to be looked for; NAN: where it is by default. */
struct document_window {
	double from_s, to_s;
};

/*
 * Returns the document, to be released by json_object_put(), or NULL when there is no memory. @runs outlive it: most of
 * it is made when it is written, and takes as much as its text.
 */
struct json_object *document_make(const struct run *runs, u32 n, const struct document_window *window);

/* One op of one watch. */
struct json_object *document_series(const struct run *r, const struct watch_run *w, u32 op,
				    const struct steady_window *steady);

#endif
