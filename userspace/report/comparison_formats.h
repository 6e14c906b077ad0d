/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints a comparison (comparison.h) for a person, a program or a web page. Each function returns 0 or
 * a negative errno.
 */
#ifndef REPORT_COMPARISON_FORMATS_H
#define REPORT_COMPARISON_FORMATS_H

#include "core/text_draw.h"
#include "report/comparison.h"

/* A table at most look->columns wide, with the shape of each distribution. */
int comparison_text(const struct comparison *c, const struct look *look);

/* One object on one line; its keys are described in blklat(8). */
int comparison_json(const struct comparison *c, FILE *out);

/* A table for each op, as GitHub draws them. */
int comparison_markdown(const struct comparison *c, FILE *out);

/* The columns that all formats have between the name and KS. */
struct comparison_cell {
	const char *name;		/* "IOPS", "p99" */
	const char *key;		/* in JSON: "iops", "p99" */
	bool is_rate;			/* more is better; else it is a latency */
	double q;			/* of a percentile, else 0 */
	double (*of)(const struct op_frame *o, double q);
	const char *(*text)(char text[32], double value);
};
#define COMPARISON_CELLS 9
extern const struct comparison_cell comparison_cells[];

/* A run's value in a column; negative if it has no IO. */
double comparison_value(const struct comparison_cell *cell, const struct compared *c);

/* For repeats: the values of both sides of a group in a column. */
struct noise comparison_noise(const struct comparison *c, const struct compared_group *g, const struct comparison_cell *cell);

/* "x 1.10", "x 932", "x 2.32k": in 7 characters up to 999 G. */
const char *ratio_text(char text[32], double ratio);

/* "+10.2%" for 1.102; "-" if negative; from a factor of eleven on as a ratio. */
const char *change_text(char text[32], double ratio);

#endif
