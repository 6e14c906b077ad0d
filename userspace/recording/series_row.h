/* SPDX-License-Identifier: GPL-2.0-only */
/* A row of table series, as it is written, read back and added to another. */
#ifndef RECORDING_SERIES_ROW_H
#define RECORDING_SERIES_ROW_H

#include <sqlite3.h>

#include "core/hist.h"

/* The values of a row, without its key. */
struct series_row {
	u64 ios, bytes, errors, sum_ns;
	u64 min_ns, max_ns;	/* meaningless without IOs */
	struct hist hist;
	u64 idle_ios, idle_sum_ns;
	struct hist idle;
};

/* Makes a row without IOs, with room for bins. Returns 0 or -ENOMEM. */
int series_row_init(struct series_row *row, u32 scale);
void series_row_uninit(struct series_row *row);

void series_row_add(struct series_row *to, const struct series_row *more);

/*
 * Binds @row to the parameters from @first on, in the order of COLUMNS_series_values. Returns SQLITE_OK
 * or SQLITE_NOMEM.
 */
int series_row_bind(sqlite3_stmt *s, int first, const struct series_row *row);

/* Reads a row's values unchecked: we wrote them ourselves in this run. Returns SQLITE_ROW or SQLITE_CORRUPT. */
int series_row_read(sqlite3_stmt *s, struct series_row *row);

#endif
