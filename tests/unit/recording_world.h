/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings for the tests of their writer and reader, in a folder of a test's own: made from scripts (tests/script.py) the
 * way a run makes them, read back and compared. All that a test opens is closed behind it.
 */
#ifndef TEST_RECORDING_WORLD_H
#define TEST_RECORDING_WORLD_H

#include "unit.h"

#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

#include "core/capture.h"
#include "folder.h"
#include "live/loop.h"
#include "recording/recorder.h"
#include "util/cleanup.h"

/* A directory of its own, in memory where possible; it is removed with all its contents. */
static struct {
	char dir[FOLDER_ROOT];
	char script[96], source[96], file[96];
} at;

/* The replay, and the counts of its intervals added up. */
static struct capture *c;
static struct snapshot sum, one;

static struct problem p;

static struct origin recording_origin = {
	.label = "a label", .host = "a-host", .kernel = "6.1.0-test", .version = "1.2.3",
	.command = "blklat record --dev 'a b'", .interval_s = 1, .idle_gap_ns = 100000000,
};

/* --- the directory ------------------------------------------------------------------------------------- */

/* Runs a shell's command. */
static inline __attribute__((format(printf, 1, 2))) void run_command(const char *form, ...)
{
	char command[256];
	va_list args;

	va_start(args, form);
	vsnprintf(command, sizeof(command), form, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static inline void place_make(void)
{
	folder_make(at.dir);
	snprintf(at.script, sizeof(at.script), "%s/script", at.dir);
	snprintf(at.source, sizeof(at.source), "%s/source.blklat", at.dir);
	snprintf(at.file, sizeof(at.file), "%s/run.blklat", at.dir);
}

static inline void place_remove(void)
{
	run_command("rm -rf %s", at.dir);
}

/* The file, or one beside it. Returns its path, until the next call. */
static inline const char *beside(const char *end)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s", at.file, end);
	return path;
}

static inline void place_script(const char *text)
{
	FILE *to = fopen(at.script, "we");

	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
}

/* Makes @to a copy of the recording @from, in which @sql was done. */
static inline void copy_damaged(const char *from, const char *to, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	run_command("cp %s %s", from, to);
	assert_int_equal(sqlite3_open(to, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

/* --- reading ------------------------------------------------------------------------------------------- */

static inline void close_replay(void)
{
	if (c)
		c->ops->close(c);
	c = NULL;
}

/* Opens @file in place of the previous one. */
static inline int open_replay(const char *file, int scale)
{
	const struct capture_config cfg = { .scale = scale, .replay_file = file };

	close_replay();
	p.text[0] = '\0';
	return capture_replay.open(&cfg, &c, &p);
}

static inline void replay(const char *file, int scale)
{
	if (open_replay(file, scale))
		fail_msg("%s", p.text);
}

/* As engines have them: most cells stay 0, and are left out. */
static inline void snapshot_make(struct snapshot *s, u32 n, u32 scale)
{
	assert_int_equal(snapshot_init(s, n, scale), 0);
}

static inline void begin_sum(void)
{
	snapshot_uninit(&sum);
	snapshot_uninit(&one);
	snapshot_make(&sum, c->n_watches, c->scale);
	snapshot_make(&one, c->n_watches, c->scale);
}

/* Opens @file and reads it to its end. Returns the errno that it failed with, on opening or reading; -ENODATA is its end. */
static inline int read_all(const char *file, u32 *ret_intervals)
{
	int err = open_replay(file, -1);

	*ret_intervals = 0;
	if (err) {
		assert_null(c);
		return err;
	}
	begin_sum();
	err = c->ops->read(c, &one, &p);
	while (!err && !(err = c->ops->read(c, &one, &p)))
		++*ret_intervals;
	close_replay();
	return err;
}

/* Reads the next interval of the replay and adds the counts up to the previous one, as a live engine would count. */
static inline int read_summed(void)
{
	int err = c->ops->read(c, &one, &p);

	for (u32 i = 0; !err && i < one.n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_counts *o = &one.w[i].ops[op];
			u64 min_ns = o->min_ns, max_ns = o->max_ns;

			assert_int_equal(o->ios_before, hist_count(&sum.w[i].ops[op].hist));
			op_counts_add(o, &sum.w[i].ops[op]);
			o->min_ns = min_ns;
			o->max_ns = max_ns;
			o->ios_before = 0;
		}
	one.replayed = false;
	if (!err)
		snapshot_copy(&sum, &one);
	return err;
}

/* Opens @file and reads its start. */
static inline void replay_summed(const char *file)
{
	replay(file, -1);
	begin_sum();
	assert_int_equal(read_summed(), 0);
}

/* Counts the intervals of a recording, and adds them up. */
static inline u32 count_intervals(const char *file)
{
	u32 n = 0;
	int err;

	replay_summed(file);
	while (!(err = read_summed()))
		n++;
	if (err != -ENODATA)
		fail_msg("%s", p.text);
	close_replay();
	return n;
}

/* Of the start only clocks and counts are known. What unfinished IOs have done goes with what they are merged into. */
enum known { ALL_IS_KNOWN, START_IS_KNOWN, MERGED_IS_KNOWN };

static inline void same_watch(const struct watch_counts *a, const struct watch_counts *b, enum known known)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_counts *x = &a->ops[op], *y = &b->ops[op];

		assert_true(x->sum_ns == y->sum_ns);
		assert_true(known == MERGED_IS_KNOWN || (x->bytes == y->bytes && x->errors == y->errors));
		assert_true(known == START_IS_KNOWN || !hist_count(&y->hist) || (x->min_ns == y->min_ns && x->max_ns == y->max_ns));
		assert_int_equal(x->hist.scale, y->hist.scale);
		assert_memory_equal(x->hist.cells, y->hist.cells, BLKLAT_CELLS(x->hist.scale) * sizeof(u64));
	}
	if (known == START_IS_KNOWN)
		return;
	assert_true(a->started == b->started && a->started_after == b->started_after);
	assert_true(a->in_flight == b->in_flight && a->in_flight_after == b->in_flight_after);
	assert_true(a->oldest_ns == b->oldest_ns && a->waited_ns == b->waited_ns);
	assert_memory_equal(a->accounts, b->accounts, BLKLAT_BUSY * sizeof(*a->accounts));
	assert_true(a->kernel_known == b->kernel_known && a->kernel_ios == b->kernel_ios && a->kernel_in_flight == b->kernel_in_flight);
	assert_true(a->gone == b->gone && a->replaced == b->replaced && a->unsettled == b->unsettled);
}

static inline void same_snapshot(const struct snapshot *a, const struct snapshot *b, enum known known)
{
	assert_int_equal(a->n, b->n);
	assert_true(a->mono_ns == b->mono_ns && a->skipped == b->skipped);
	assert_true(known == START_IS_KNOWN || a->wall_ns == b->wall_ns);
	for (u32 i = 0; i < a->n; i++)
		same_watch(&a->w[i], &b->w[i], known);
}

/* --- a recording of a script --------------------------------------------------------------------------- */

static inline void recording_nobody(void *into, const struct device *d, bool replaced)
{
	(void)into, (void)d, (void)replaced;
}

/* Makes the source, a recording of @script, and records its replay into the file. */
static inline void recording_of(const char *script, int scale)
{
	const struct recorder_config cfg = { .file = at.file };
	const struct monitor_config source = {
		.engine = &capture_replay, .capture = { .scale = scale, .replay_file = at.source }, .hooks.gone = recording_nobody,
	};
	struct origin origin = recording_origin;
	struct monitor m;
	struct run_info info;
	struct loop_config loop;
	struct sink *s = NULL;
	enum loop_end end;

	run_command("python3 tests/script.py %s %s", script, at.source);
	if (monitor_open(&m, &source, &p))
		fail_msg("%s", p.text);
	origin.idle_gap_ns = m.capture->origin->idle_gap_ns;
	info = monitor_run_info(&m, 1);
	info.version = "1.2.3";
	info.origin = &origin;
	info.slow_most = 0;
	info.interval_s = 1;
	info.percentiles = percentiles_default;
	loop = (struct loop_config){ .interval_s = 1, .percentiles = &info.percentiles };
	if (recorder_open(&info, &cfg, &s, &p))
		fail_msg("%s", p.text);
	end = loop_run(&m, &info, s, &loop, &p);
	recorder_problem(s, &p);
	if (end != LOOP_DONE && end != LOOP_GONE)
		fail_msg("%s", p.text);
	s->ops->close(s);
	monitor_close(&m);
}

/* --- a test -------------------------------------------------------------------------------------------- */

void set_up(void)
{
	place_make();
	p.text[0] = '\0';
}

void tear_down_world(void)
{
	close_replay();
	snapshot_uninit(&sum);
	snapshot_uninit(&one);
	place_remove();
}

#endif
