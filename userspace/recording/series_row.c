// SPDX-License-Identifier: GPL-2.0-only
#include "recording/rows.h"

#include "recording/bins_codec.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

int series_row_init(struct series_row *row, u32 scale)
{
	int err;

	*row = (struct series_row){ 0 };
	err = hist_init(&row->hist, scale) ?: hist_init(&row->idle, idle_scale(scale));
	if (err)
		series_row_uninit(row);
	return err;
}

void series_row_uninit(struct series_row *row)
{
	hist_uninit(&row->hist);
	hist_uninit(&row->idle);
}

void series_row_add(struct series_row *to, const struct series_row *more)
{
	if (more->ios && (!to->ios || more->min_ns < to->min_ns))
		to->min_ns = more->min_ns;
	if (more->ios && (!to->ios || more->max_ns > to->max_ns))
		to->max_ns = more->max_ns;
	to->ios += more->ios;
	to->bytes += more->bytes;
	to->errors += more->errors;
	to->sum_ns += more->sum_ns;
	hist_add(&to->hist, &more->hist);
	to->idle_ios += more->idle_ios;
	to->idle_sum_ns += more->idle_sum_ns;
	if (more->idle_ios)
		hist_add(&to->idle, &more->idle);
}

static int bind_bins(sqlite3_stmt *s, int column, const struct hist *h, u64 ios)
{
	u8 bytes[BINS_CODEC_MAX];
	u32 len = ios ? bins_encode(h, bytes) : 0;

	return sqlite3_bind_blob(s, sqlite_parameter(column), bytes, len, SQLITE_TRANSIENT);
}

int series_row_bind(sqlite3_stmt *s, int first, const struct series_row *row)
{
	int at = first - sqlite_parameter(SERIES_ios);

	sqlite_put(s, at + SERIES_ios, row->ios);
	sqlite_put(s, at + SERIES_bytes, row->bytes);
	sqlite_put(s, at + SERIES_errors, row->errors);
	sqlite_put(s, at + SERIES_sum_ns, row->sum_ns);
	sqlite_put_known(s, at + SERIES_min_ns, row->ios, row->min_ns);
	sqlite_put_known(s, at + SERIES_max_ns, row->ios, row->max_ns);
	sqlite_put(s, at + SERIES_idle_ios, row->idle_ios);
	sqlite_put(s, at + SERIES_idle_sum_ns, row->idle_sum_ns);
	return bind_bins(s, at + SERIES_bins, &row->hist, row->ios) ?:
	       bind_bins(s, at + SERIES_idle_bins, &row->idle, row->idle_ios);
}

static int read_bins(sqlite3_stmt *s, int column, struct hist *h, u64 *ios)
{
	return bins_decode(sqlite3_column_blob(s, column), sqlite3_column_bytes(s, column), h, ios);
}

int series_row_read(sqlite3_stmt *s, struct series_row *row)
{
	int err;

	row->ios = 0;
	row->idle_ios = 0;
	hist_clear(&row->hist);
	hist_clear(&row->idle);
	row->bytes = sqlite3_column_int64(s, SERIES_bytes);
	row->errors = sqlite3_column_int64(s, SERIES_errors);
	row->sum_ns = sqlite3_column_int64(s, SERIES_sum_ns);
	row->min_ns = sqlite3_column_int64(s, SERIES_min_ns);
	row->max_ns = sqlite3_column_int64(s, SERIES_max_ns);
	row->idle_sum_ns = sqlite3_column_int64(s, SERIES_idle_sum_ns);
	err = read_bins(s, SERIES_bins, &row->hist, &row->ios) ?:
	      read_bins(s, SERIES_idle_bins, &row->idle, &row->idle_ios);
	return err ? SQLITE_CORRUPT : SQLITE_ROW;
}
