/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings for the tests of their writer and reader: made from scripts (tests/script.py) the way a run makes them, or
 * of made-up intervals, as many as a test likes. All that a test opens is closed behind it.
 */
#ifndef TEST_RECORDING_WORLD_H
#define TEST_RECORDING_WORLD_H

#include "unit.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blklat/parts.h"
#include "core/capture.h"
#include "live/loop.h"
#include "recording/recorder.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define FEED_OPS 2	/* reads and writes */
#define SCALE 6

/* A directory of its own, in memory where possible; it is removed with all its contents. */
static struct {
	char dir[64];
	char script[96], source[96], file[96];
} at;

/* The made-up run. */
static struct {
	struct device device[2];
	struct device_table table;
	struct watch *watches;
	struct origin origin;
	struct run_info info;
	struct snapshot before, now;
	struct frames is;
	struct sink *sink;
	u64 seed;
	u32 cells;		/* that the IOs of an interval may fall into */
	u32 parts;		/* per watch */
	bool gone[2];		/* devices that go away in the next interval, or have gone */
} f;

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
	strcpy(at.dir, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	strcat(at.dir, "/blklat-recording-XXXXXX");
	assert_non_null(mkdtemp(at.dir));
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
	snapshot_track(s);
}

static inline void begin_sum(void)
{
	snapshot_uninit(&sum);
	snapshot_uninit(&one);
	snapshot_make(&sum, c->n_watches, c->scale);
	snapshot_make(&one, c->n_watches, c->scale);
}

/* Opens @file and reads it to its end. Returns the errno that it failed with, on opening or reading. */
static inline int read_all(const char *file)
{
	int err = open_replay(file, -1);

	if (err) {
		assert_null(c);
		return err;
	}
	begin_sum();
	while (!(err = c->ops->read(c, &one, &p)))
		;
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
	assert_memory_equal(a->accounts, b->accounts, sizeof(a->accounts));
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

static inline void recording_nobody(const struct device *d, bool replaced)
{
	(void)d, (void)replaced;
}

/* Makes the source, a recording of @script, and records its replay into the file. */
static inline void recording_of(const char *script, int scale)
{
	const struct recorder_config cfg = { .file = at.file };
	struct origin origin = recording_origin;
	struct run_info info;
	struct loop_config loop;
	struct sink *s = NULL;
	enum loop_end end;

	run_command("python3 tests/script.py %s %s", script, at.source);
	replay(at.source, scale);
	origin.idle_gap_ns = c->origin->idle_gap_ns;
	info = (struct run_info){
		.version = "1.2.3", .engine = c->engine, .watches = c->watches, .n_watches = c->n_watches,
		.devices = c->devices, .origin = &origin, .cpus = c->cpus, .scale = c->scale,
		.memory_bytes = c->memory_bytes, .interval_s = 1, .percentiles = percentiles_default,
	};
	loop = (struct loop_config){ .interval_s = 1, .percentiles = &info.percentiles };
	if (recorder_open(&info, &cfg, &s, &p))
		fail_msg("%s", p.text);
	signals_block();
	end = loop_run(c, s, &loop, recording_nobody, &p);
	recorder_problem(s, &p);
	if (end != LOOP_DONE && end != LOOP_GONE)
		fail_msg("%s", p.text);
	s->ops->close(s);
	close_replay();
}

/* --- made-up intervals --------------------------------------------------------------------------------- */

static inline u64 feed_random(u64 n)
{
	return next_random(&f.seed) % n;
}

static inline void feed_close(void)
{
	if (f.sink)
		f.sink->ops->close(f.sink);
	f.sink = NULL;
}

static inline void feed_uninit(void)
{
	feed_close();
	snapshot_uninit(&f.before);
	snapshot_uninit(&f.now);
	frames_uninit(&f.is);
	free(f.watches);
	f.watches = NULL;
}

/* @n_watches wholes, each with its parts. Begins anew. */
static inline void feed_begin_by(u32 n_watches, enum blklat_by by)
{
	struct watch *wholes = calloc(n_watches, sizeof(*wholes));

	feed_uninit();
	memset(&f, 0, sizeof(f));
	f.device[0] = (struct device){ .name = "loop0", .kind = "loop", .parent = 0 };
	f.device[1] = (struct device){ .name = "loop1", .parent = 1 };
	f.seed = 88172645463325252ULL;
	f.cells = 300;
	f.origin = recording_origin;
	f.origin.start_mono_ns = 7 * NSEC_PER_SEC;
	f.origin.start_wall_ns = 1795246500 * (s64)NSEC_PER_SEC;
	f.table = (struct device_table){ .n = 2, .d = f.device };
	/* There are three stages, and the reader refuses any other, so two devices have at most six watches. */
	for (u32 i = 0; i < n_watches; i++)
		wholes[i] = (struct watch){ .device = &f.device[i % 2], .stage = i / 2 };
	assert_int_equal(watches_divide(wholes, n_watches, by, 0, &f.watches, &n_watches), 0);
	free(wholes);
	f.parts = blklat_parts(by, 0);
	f.info = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = f.watches, .n_watches = n_watches,
		.devices = &f.table, .origin = &f.origin, .cpus = 2, .scale = SCALE, .interval_s = 1,
		.percentiles = percentiles_default,
	};
	snapshot_make(&f.before, n_watches, SCALE);
	snapshot_make(&f.now, n_watches, SCALE);
	assert_int_equal(frames_init(&f.is, f.watches, n_watches, SCALE), 0);
	frames_track(&f.is);
	f.now.mono_ns = f.origin.start_mono_ns;
	f.now.wall_ns = f.origin.start_wall_ns;
	f.now.idle_gap_ns = f.origin.idle_gap_ns;
}

static inline void feed_begin(u32 n_watches)
{
	feed_begin_by(n_watches, BLKLAT_BY_NOTHING);
}

static inline int feed_open_as(const struct recorder_config *cfg)
{
	return recorder_open(&f.info, cfg, &f.sink, &p);
}

static inline int feed_open(u64 max_bytes)
{
	return feed_open_as(&(struct recorder_config){ .file = at.file, .max_bytes = max_bytes });
}

static inline u64 feed_op(struct op_counts *o)
{
	u32 scale = o->hist.scale, idle = o->after_idle.scale;
	u64 ios = 0;

	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	/* A part of an IO, which may end in a later interval. */
	if (!feed_random(4)) {
		o->bytes += 512;
		o->errors++;
	}
	/* Some intervals have no IO. */
	for (u32 i = feed_random(8) ? f.cells : 0; i--;) {
		u64 ns = 50000 + feed_random(1ULL << (10 + feed_random(16))), n = 1 + feed_random(200);

		hist_put(&o->hist, blklat_cell(ns, scale), n);
		o->sum_ns += n * ns;
		o->bytes += n * 4096;
		o->errors += !feed_random(100);
		o->min_ns = ns < o->min_ns ? ns : o->min_ns;
		o->max_ns = ns > o->max_ns ? ns : o->max_ns;
		ios += n;
		if (feed_random(50))
			continue;
		hist_put(&o->after_idle, blklat_cell(ns, idle), 1);
		o->after_idle_sum_ns += ns;
	}
	return ios;
}

/* The ops of whole @w are the sum of its parts'; what these have in flight is made up. Returns its IOs. */
static inline u64 feed_parts(struct watch_counts *w)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct hist hist = w->ops[op].hist, after_idle = w->ops[op].after_idle;

		hist_clear(&hist);
		hist_clear(&after_idle);
		w->ops[op] = (struct op_counts){ .min_ns = UINT64_MAX, .late_min_ns = UINT64_MAX, .hist = hist, .after_idle = after_idle };
	}
	for (u32 part = 1; part <= f.parts; part++) {
		/* Some parts are never used. */
		for (u32 op = 0; part % 3 && op < FEED_OPS; op++)
			ios += feed_op(&w[part].ops[op]);
		watch_counts_add_part(w, &w[part]);
		w[part].in_flight = feed_random(3);
		w[part].oldest_ns = w[part].in_flight * feed_random(1000);
		w[part].waited_ns = w[part].in_flight * w[part].oldest_ns;
		w[part].gone = w[part].replaced = w->gone;
	}
	return ios;
}

/* Makes up an interval. */
static inline void feed_make(void)
{
	snapshot_copy(&f.before, &f.now);
	for (u32 i = 0; i < f.now.n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			f.now.w[i].ops[op].min_ns = UINT64_MAX;
			f.now.w[i].ops[op].max_ns = 0;
		}
	f.now.mono_ns += NSEC_PER_SEC + feed_random(1000);
	f.now.wall_ns = f.origin.start_wall_ns + (f.now.mono_ns - f.origin.start_mono_ns);
	for (u32 i = 0; i < f.now.n; i += 1 + f.parts) {
		struct watch_counts *w = &f.now.w[i];
		u64 ios = 0;

		if (w->gone)
			continue;
		w->gone = w->replaced = f.gone[f.watches[i].device - f.device];
		if (f.parts)
			ios = feed_parts(w);
		else for (u32 op = 0; op < FEED_OPS; op++)
			ios += feed_op(&w->ops[op]);
		w->started += ios + 32 - w->in_flight;
		w->started_after = w->started;
		w->in_flight = w->in_flight_after = 32;
		w->oldest_ns = feed_random(100000);
		w->waited_ns = w->oldest_ns * 20;
		w->unsettled = !feed_random(4);
		w->kernel_ios += ios;
		w->kernel_in_flight = w->kernel_ios % 40;
		w->kernel_known = true;
	}
	frames_between(&f.is, &f.before, &f.now, &f.info.percentiles, f.info.cpus);
}

/* Makes the same intervals again, up to the time of a replay, as one interval. Returns how many they are. */
static inline u32 feed_again(u64 mono_ns, u64 bytes[FEED_OPS])
{
	u32 n = 0;

	for (; f.now.mono_ns < mono_ns; n++) {
		feed_make();
		for (u32 i = 0; i < f.now.n; i++)
			for (u32 op = 0; n && op < BLKLAT_OPS; op++) {
				struct op_counts *o = &f.now.w[i].ops[op], *before = &f.before.w[i].ops[op];

				o->min_ns = min_u64(o->min_ns, before->min_ns);
				o->max_ns = max_u64(o->max_ns, before->max_ns);
			}
		for (u32 op = 0; op < FEED_OPS; op++)
			bytes[op] += f.is.f[0].ops[op].bytes;
	}
	assert_true(f.now.mono_ns == mono_ns);
	return n;
}

static inline int feed_write(void)
{
	return f.sink->ops->interval(f.sink, &f.is);
}

/* Makes up an interval and writes it. */
static inline void feed_interval(void)
{
	feed_make();
	if (feed_write()) {
		recorder_problem(f.sink, &p);
		fail_msg("%s", p.text);
	}
}

/* Records @n intervals. */
static inline void feed_record(u64 max_bytes, u32 n)
{
	if (feed_open(max_bytes))
		fail_msg("%s", p.text);
	while (n--)
		feed_interval();
	feed_close();
}

/* --- a child process, which the test kills, or takes its rights away ----------------------------------- */

/* For a child process, whose exit status is the result: 0 if all is as expected, else a line. */
#define EXPECT(what) do { if (!(what)) _exit(__LINE__ % 256); } while (0)

/* Runs the function in a child process, to its end. */
static inline void in_child(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed: status %x, line modulo 256: %d", status, WEXITSTATUS(status));
}

/* --- a test -------------------------------------------------------------------------------------------- */

void set_up(void)
{
	place_make();
	p.text[0] = '\0';
}

void tear_down(void)
{
	feed_uninit();
	close_replay();
	snapshot_uninit(&sum);
	snapshot_uninit(&one);
	place_remove();
}

#endif
