/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report's document: all figures of one or more runs as one JSON object. 'report --format json'
 * prints it, and the page draws it. blklat(8) describes its keys.
 */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <json-c/json.h>
#include <stdio.h>

#include "core/text_draw.h"
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

/* The same findings, and the figures that fit into 80 columns, as text. Returns 0 or -ENOMEM. */
int document_text(const struct run *runs, u32 n, const struct document_window *window, const struct look *look);

struct findings;

/* What differs between the runs; none of a single one. Returns 0 or -ENOMEM. */
int document_compare(const struct run *runs, u32 n, struct findings *ret);

/* Several findings as JSON, and as text; each with those that it speaks for. */
struct json_object *document_findings(const struct findings *all);
void document_text_findings(const struct findings *all, const struct look *look);

/* The window in which the steady state is looked for. */
struct steady_window document_steady(const struct run *r, const struct document_window *wanted);

/* The window of the rates; used in compare's document, too. */
struct json_object *document_active(const struct run *r);

/* The document's part about one op of one watch, json_absent if it had no IO; for document.c. */
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

/* --- the report as a page for browsers: one file that needs no other --- */

/*
 * Writes the page that userspace/report/web/ makes, with @json (@len bytes, the report's document) in it. No text in
 * the document can break out of its element. Returns 0, or the negative errno of a failed write.
 */
int html_write(FILE *out, const char *json, size_t len);

/* --- arrays and their members: how much latency a layer adds to that of the devices below --- */

struct stack_op {
	u64 upper_ios;		/* also 0 if stages differ; if this or the next is 0, nothing else is meaningful */
	u64 member_ios;		/* of all members; divided by upper_ios: the amplification */
	/*
	 * The upper device's figure minus that of the members' merged IOs. Negative if the members are
	 * slower, which happens if they do IOs that the upper device does not wait for.
	 */
	double overhead_mean_ns;
	double overhead_ns[PERCENTILES_MAX];	/* in the order of run_over_time */
	double overhead_p10_ns;
};

struct stack {
	/* at a stage that it shares with all members, if any; preferably total */
	const struct watch_run *upper;
	u32 n_members;
	const struct watch_run **members;	/* one for each device, at the same stage */
	struct stack_op ops[BLKLAT_OPS];
};

struct stacks {
	u32 n;
	struct stack *s;
};

/*
 * Finds every watched device that lies on other watched ones, directly or through devices that are not
 * watched. Its members are the nearest watched devices: for an array of arrays these are the inner
 * arrays. A partition that is not watched stands for its disk. The run is borrowed. Returns 0 or
 * -ENOMEM.
 */
int stacks_make(const struct run *r, struct stacks *ret);
void stacks_uninit(struct stacks *s);

#endif
