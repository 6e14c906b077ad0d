/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of a recording: what its writer and its reader have to agree on. docs/recording.md says
 * what each table and column means. Change RECORDING_VERSION with any change of a table.
 */
#ifndef RECORDING_SCHEMA_H
#define RECORDING_SCHEMA_H

#include "util/types.h"

#define RECORDING_MAGIC "SQLite format 3"	/* with its NUL the first 16 bytes */
#define RECORDING_APPLICATION_ID 0x626c6b6c	/* "blkl" */
#define RECORDING_VERSION 1			/* PRAGMA user_version */

#define RECORDING_COUNT_MAX (1ULL << 58)	/* of any count, so that sums of several never overflow */
#define RECORDING_TOTAL_MAX (1ULL << 62)	/* of anything added up over a run */
#define RECORDING_DEVICES_MAX 4096
#define RECORDING_MARKS_MAX 10000
#define RECORDING_MARK_BYTES 1024		/* of a mark's text */

/* As CREATE has them; a reader takes a file whose tables are these to the letter. */
struct recording_table {
	const char *name;
	const char *sql;
};
extern const struct recording_table recording_tables[];	/* ended by a NULL name */

/* For people with SQL; no reader of ours uses them. */
extern const char *const recording_views[];	/* ended by NULL */

#endif
