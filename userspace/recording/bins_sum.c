// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds bins in SQL, see sqlite3_create_function_v2(). The encoding does not depend on the scale, so the finest one
 * serves for all.
 */
#include "recording/bins_codec.h"
#include "recording/rows.h"

static void sum_step(sqlite3_context *c, int n, sqlite3_value **values)
{
	struct hist *h = sqlite3_aggregate_context(c, sizeof(*h));
	u64 ios = 0;

	(void)n;
	if (!h || (!h->cells && hist_init(h, BLKLAT_SCALE_MAX)))
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
	return sqlite3_create_function_v2(db, "bins_sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL, sum_step,
					  sum_final, NULL);
}
