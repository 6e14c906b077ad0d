/* SPDX-License-Identifier: GPL-2.0-only */
/* A comparison as words, for a person, a program or a page. Each returns 0 or a negative errno. */
#ifndef REPORT_COMPARISON_FORMATS_H
#define REPORT_COMPARISON_FORMATS_H

#include "core/text_draw.h"
#include "report/comparison.h"

/* A table at most look->columns wide, with the shape of each distribution. */
int compare_text(const struct comparison *c, const struct look *look);

/* One object on one line; its keys are described in blklat(8). */
int compare_json(const struct comparison *c, FILE *out);

/* A table for each op, as GitHub draws them. */
int compare_markdown(const struct comparison *c, FILE *out);

/* The columns between the name and KS, as all of them print: */
struct compare_cell {
	const char *name;		/* "IOPS", "p99" */
	const char *key;		/* in JSON: "iops", "p99" */
	double (*value)(const struct compared *c);	/* negative: there is none */
	const char *(*text)(char text[32], double value);
};
#define COMPARE_CELLS 9
extern const struct compare_cell compare_cells[COMPARE_CELLS];

#endif
