/* SPDX-License-Identifier: GPL-2.0-only */
/* Text in columns that fits the terminal. */
#ifndef UTIL_TABLE_H
#define UTIL_TABLE_H

#include <stdio.h>

#include "util/types.h"

#define TABLE_COLUMNS_MAX 12

struct column {
	const char *title;
	bool right;		/* right-aligned */
	u32 least;		/* characters it keeps if the table is too wide; 0: all */
};

struct table {
	const struct column *columns;
	u32 n_columns;
	u32 n;			/* cells, row after row */
	u32 room;
	char **cells;
};

/* @columns, at most TABLE_COLUMNS_MAX of them, must outlive the table. */
void table_init(struct table *t, const struct column *columns, u32 n_columns);
void table_uninit(struct table *t);

/* Adds a row of n_columns UTF-8 texts, copied. Returns 0 or -ENOMEM. */
int table_add(struct table *t, const char *const *cells);

/*
 * Prints the titles and the rows, with two spaces between columns. If they are wider than @width, the
 * widest of the columns that may shrink is narrowed, character by character. A text that is cut ends in '~'.
 */
void table_print(const struct table *t, FILE *out, u32 width);

#endif
