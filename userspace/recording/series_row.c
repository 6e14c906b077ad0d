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

int series_row_put(sqlite3_stmt *s, s64 id, u32 watch, u32 op, const struct series_row *row)
{
	u8 bins[BINS_CODEC_MAX], idle[BINS_CODEC_MAX];

	return sqlite_put_row(s, VALUES(
		[SERIES_interval] = NUMBER(id), [SERIES_watch] = NUMBER(watch), [SERIES_op] = NUMBER(op),
		[SERIES_ios] = NUMBER(row->ios), [SERIES_bytes] = NUMBER(row->bytes), [SERIES_errors] = NUMBER(row->errors),
		[SERIES_sum_ns] = NUMBER(row->sum_ns), [SERIES_min_ns] = KNOWN(row->ios, row->min_ns),
		[SERIES_max_ns] = KNOWN(row->ios, row->max_ns),
		[SERIES_bins] = BLOB(bins, row->ios ? bins_encode(&row->hist, bins) : 0),
		[SERIES_idle_ios] = NUMBER(row->idle_ios), [SERIES_idle_sum_ns] = NUMBER(row->idle_sum_ns),
		[SERIES_idle_bins] = BLOB(idle, row->idle_ios ? bins_encode(&row->idle, idle) : 0)));
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
