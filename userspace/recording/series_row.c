// SPDX-License-Identifier: GPL-2.0-only
#include "recording/rows.h"

#include "recording/bins_codec.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

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

int series_row_bind(sqlite3_stmt *s, const struct series_row *row)
{
	sqlite_put(s, SERIES_ios, row->ios);
	sqlite_put(s, SERIES_bytes, row->bytes);
	sqlite_put(s, SERIES_errors, row->errors);
	sqlite_put(s, SERIES_sum_ns, row->sum_ns);
	sqlite_put_known(s, SERIES_min_ns, row->ios, row->min_ns);
	sqlite_put_known(s, SERIES_max_ns, row->ios, row->max_ns);
	sqlite_put(s, SERIES_idle_ios, row->idle_ios);
	sqlite_put(s, SERIES_idle_sum_ns, row->idle_sum_ns);
	return bind_bins(s, SERIES_bins, &row->hist, row->ios) ?: bind_bins(s, SERIES_idle_bins, &row->idle, row->idle_ios);
}

/* --- bins_sum(), see sqlite3_create_function_v2() ----------------------------------------------- */

static void sum_step(sqlite3_context *c, int n, sqlite3_value **values)
{
	struct hist *h = sqlite3_aggregate_context(c, sizeof(*h));
	u64 ios = 0;

	(void)n;
	if (!h || (!h->cells && hist_init(h, sqlite3_value_int(values[1]))))
		sqlite3_result_error_nomem(c);
	else if (bins_decode(sqlite3_value_blob(values[0]), sqlite3_value_bytes(values[0]), h, &ios))
		sqlite3_result_error_code(c, SQLITE_CORRUPT);
}

/* Is also called after a failure, to release what there is. */
static void sum_final(sqlite3_context *c)
{
	struct hist *h = sqlite3_aggregate_context(c, 0);
	u8 bytes[BINS_CODEC_MAX];

	if (!h)
		return;
	if (h->cells)
		sqlite3_result_blob(c, bytes, bins_encode(h, bytes), SQLITE_TRANSIENT);
	hist_uninit(h);
}

int bins_sum_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "bins_sum", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL, sum_step, sum_final, NULL);
}
