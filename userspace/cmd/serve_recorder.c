// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the service serves, recorded, see cmd/serve.h: recordings of an hour, and others when devices come or go, or
 * one has its share of the space. Each is there twice, with each interval and with long ones (recording/archive.h),
 * and is a recording by itself: its accounts begin with it. So are those of incidents (serve_incidents.c), with each
 * interval only.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/serve_recorder.h"
#include "recording/recorder.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define FILE_NS (3600 * (s64)NSEC_PER_SEC)
/* files that begin together get one in so many of all bytes, so that one dropped loses little */
#define FILE_SHARE 8
#define SPARE_BYTES (16u << 20)	/* stay free for what the next interval may take, or one in FILE_SHARE of all bytes */
#define RETRY_NS (5 * NSEC_PER_SEC)

/* What a watch had counted when its files began, and at the end of the last interval. */
struct base {
	u64 started, kernel_ios, accounts[BLKLAT_ACCOUNTS];
	bool kernel_known;
};
struct last {
	u32 number;			/* see struct frame */
	struct watch_counts counts;
};

/* --- the accounts of a file ---------------------------------------------------------------------- */

static const struct watch_counts *last_of(const struct archiver *r, u32 number)
{
	for (u32 i = 0; i < r->n_last; i++)
		if (r->last[i].number == number)
			return &r->last[i].counts;
	return NULL;
}

/*
 * What is taken off the counts of @f from now on. Starts are taken off so that they agree with the IOs that had
 * completed. The kernel's count can only be compared from a moment on in which nothing moved.
 */
static struct base base_of(const struct frame *f, const struct watch_counts *last)
{
	u64 completed = f->accounting.completed;
	struct base base = { 0 };

	if (f->watch->part)
		return base;
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		completed -= f->ops[op].ios;
	if (last)
		memcpy(base.accounts, last->accounts, sizeof(base.accounts));
	base.started = completed + base.accounts[BLKLAT_REQUEUED] + base.accounts[BLKLAT_OVERWRITTEN];
	base.kernel_ios = last ? last->kernel_ios : 0;
	base.kernel_known = last ? last->kernel_known && accounting_still(last) : !completed;
	return base;
}

static u64 less(u64 n, u64 base)
{
	return n > base ? n - base : 0;
}

static void rebase(struct watch_counts *w, const struct base *base)
{
	w->started = less(w->started, base->started);
	w->started_after = less(w->started_after, base->started);
	for (u32 i = 0; i < BLKLAT_ACCOUNTS; i++)
		w->accounts[i] = less(w->accounts[i], base->accounts[i]);
	w->kernel_ios = less(w->kernel_ios, base->kernel_ios);
	w->kernel_known = w->kernel_known && base->kernel_known;
}

static int remember(struct archiver *r, const struct frames *fs)
{
	if (array_grow(&r->last, sizeof(*r->last), fs->n + 1))
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++)
		r->last[i] = (struct last){ fs->f[i].number, *fs->f[i].counts };
	r->n_last = fs->n;
	r->last_skipped = fs->now->skipped;
	return 0;
}

/* --- files --------------------------------------------------------------------------------------- */

static int file_write(struct archiver_file *f, const struct frames *fs, struct problem *p)
{
	int err = f->sink->ops->interval(f->sink, fs);

	if (err)
		recorder_problem(f->sink, p);
	return err;
}

/* Writes the intervals that were added up, if there are any. */
static int write_held(struct archiver *r, struct problem *p)
{
	const struct snapshot before = { 0 };
	int err = 0;

	r->held.frames.before = &before;
	if (r->held.frames.reads)
		err = file_write(&r->coarse, &r->held.frames, p);
	held_drop(&r->held);
	return err;
}

static void file_end(struct archiver_file *f, bool in_memory)
{
	bool empty = f->sink && !recorder_intervals(f->sink);

	sink_close(TAKE(f->sink));
	if (empty && !in_memory)
		recording_delete(f->path);
}

static void files_end(struct archiver *r)
{
	struct problem p;

	if (r->coarse.sink)
		write_held(r, &p);
	file_end(&r->fine, r->kind == ARCHIVER_MEMORY);
	file_end(&r->coarse, false);
	r->begins_ns = r->second_ns = 0;
}

static int file_begin(struct archiver *r, struct archiver_file *f, bool coarse, u64 idle_gap_ns, struct problem *p)
{
	struct recorder_config cfg = { .lazy = true };
	char name[ARCHIVE_NAME];

	cfg.in_memory = r->kind == ARCHIVER_MEMORY;
	if (r->kind == ARCHIVER_INCIDENTS)
		archive_incident_name(name, r->second_ns, r->incident.reason);
	else
		archive_name(name, r->second_ns, coarse);
	free(f->path);
	if (asprintf(&f->path, "%s%s%s", r->cfg->folder ?: "", r->cfg->folder ? "/" : "", name) < 0)
		return problem_set(p, -ENOMEM, "out of memory");
	f->origin = *r->cfg->origin;
	f->origin.interval_s = coarse ? ARCHIVE_COARSE_S : r->run->interval_s;
	f->origin.idle_gap_ns = idle_gap_ns;
	f->run = *r->run;
	f->run.origin = &f->origin;
	f->run.interval_s = f->origin.interval_s;
	f->run.most_watches = f->run.n_watches;
	cfg.file = f->path;
	return recorder_open(&f->run, &cfg, &f->sink, p);
}

/* A service that was restarted may have begun files in the same second, or the clock was set back. */
static int files_begin(struct archiver *r, const struct frames *fs, struct problem *p)
{
	int err = -EEXIST;

	for (u32 i = 0; err == -EEXIST && i < 60; i++) {
		r->second_ns = (r->kind == ARCHIVER_INCIDENTS ? r->incident.wall_ns : r->begins_ns) + i * NSEC_PER_SEC;
		err = file_begin(r, &r->fine, false, fs->idle_gap_ns, p);
		if (!err && r->kind == ARCHIVER_HOURS && r->run->interval_s < ARCHIVE_COARSE_S)
			err = file_begin(r, &r->coarse, true, fs->idle_gap_ns, p);
		if (err)
			file_end(&r->fine, r->kind == ARCHIVER_MEMORY);
	}
	r->skipped = r->last_skipped;
	for (u32 i = 0; i < fs->n; i++)
		r->base[i] = base_of(&fs->f[i], last_of(r, fs->f[i].number));
	return err;
}

/* --- an interval --------------------------------------------------------------------------------- */

static int write_interval(struct archiver *r, const struct frames *fs, struct problem *p)
{
	const struct snapshot before = { 0 };
	struct snapshot now = *fs->now;
	int err;

	now.skipped = less(now.skipped, r->skipped);
	frames_choose_there(&r->shown, fs);	/* all of them: a service sends no others */
	r->shown.now = &now;
	r->shown.before = &before;
	for (u32 i = 0; i < fs->n; i++) {
		r->shown.f[i].counts = &r->counts[i];
		r->counts[i] = *fs->f[i].counts;
		rebase(&r->counts[i], &r->base[i]);
	}
	err = file_write(&r->fine, &r->shown, p);
	if (err || !r->coarse.sink)
		return err;
	if (held_add(&r->held, r->run, r->run->watches, &r->shown))
		return problem_set(p, -ENOMEM, "out of memory");
	return r->held.frames.interval_s < ARCHIVE_COARSE_S - fs->interval_s / 2 ? 0 : write_held(r, p);
}

/*
 * Deletes the oldest files until there is room for the next interval, and notes whether those that are written have
 * their share.
 */
static int make_room(struct archiver *r, s64 now_ns, struct problem *p)
{
	u64 share = r->cfg->max_bytes / FILE_SHARE;
	struct archive_sizes sizes;
	const struct archive_limits limits = {
		.keep_ns = r->cfg->keep_ns, .max_bytes = r->cfg->max_bytes - min_u64(share, SPARE_BYTES),
	};
	int err = archive_trim(r->cfg->folder, &limits, now_ns, r->second_ns, &sizes, p);

	r->full = sizes.current > share;
	r->cfg->state->bytes = sizes.all;
	return err;
}

/* Whether its watches are those of the last interval, and not others that look the same. */
static bool is_next(const struct archiver *r, const struct frames *fs)
{
	bool same = r->n_last == fs->n;

	for (u32 i = 0; same && i < fs->n; i++)
		same = r->last[i].number == fs->f[i].number;
	return same;
}

static s64 hour_of(s64 wall_ns)
{
	return wall_ns / FILE_NS;
}

static int record(struct archiver *r, const struct frames *fs, struct problem *p)
{
	s64 begins_ns = fs->now->wall_ns - llround(fs->interval_s * NSEC_PER_SEC);
	int err;

	if (r->fine.sink && (r->full || hour_of(begins_ns) != hour_of(r->begins_ns) || !is_next(r, fs)))
		files_end(r);
	err = make_room(r, fs->now->wall_ns, p);
	if (!err && !r->fine.sink) {
		r->begins_ns = begins_ns;
		err = files_begin(r, fs, p);
	}
	return err ?: write_interval(r, fs, p);
}

/* One that is created again at the same path is out of reach, see confine_to_folder(). */
static bool folder_is_gone(const struct archiver *r)
{
	struct stat st;

	return stat(r->cfg->folder, &st) && errno == ENOENT;
}

/* A failure is told once, and tried to overcome again and again. What could not be written meanwhile is missing. */
static void record_hours(struct archiver *r, const struct frames *fs)
{
	struct problem p, told;
	int err;

	if (now_ns() < r->retry_ns)
		return;
	err = fs->n ? record(r, fs, &p) : 0;
	if (err) {
		files_end(r);
		problem_set(&told, err, "%.400s; what is served now is not recorded%s", p.text,
			    folder_is_gone(r) ? " until the service is restarted" : "");
	} else if (r->retry_ns) {
		problem_set(&told, 0, "recording goes on in %s", r->fine.path);
	}
	if (!err != !r->retry_ns)
		command_fail(r->cfg->who, 0, &told);
	r->cfg->state->failures += err && !r->retry_ns;
	if (!err)
		r->cfg->state->last_ns = fs->now->wall_ns;
	r->retry_ns = err ? now_ns() + RETRY_NS : 0;
}

static int begin_incident(struct archiver *r, const struct frames *fs, struct problem *p)
{
	struct problem told;
	int err;

	r->begins_ns = fs->now->wall_ns;
	err = files_begin(r, fs, p);
	if (err)
		return err;
	problem_set(&told, 0, "%.200s; the minutes around this are kept in %.200s", r->incident.why.text, r->fine.path);
	command_fail(r->cfg->who, 0, &told);
	r->cfg->state->incidents++;
	r->cfg->state->incident_ns = r->incident.wall_ns;
	return 0;
}

static void record_incident(struct archiver *r, const struct frames *fs)
{
	struct problem p, told;
	struct stat st;
	int err = 0;

	if (!r->incident.wall_ns || r->full)
		return;
	if (r->fine.sink && !is_next(r, fs))
		files_end(r);
	if (!r->fine.sink)
		err = begin_incident(r, fs, &p);
	err = err ?: write_interval(r, fs, &p);
	r->full = err || (!stat(r->fine.path, &st) && st.st_size > (off_t)(r->cfg->max_bytes / FILE_SHARE));
	if (!err)
		return;
	files_end(r);
	problem_set(&told, err, "%.300s; the minutes around an incident are not kept: %.200s", p.text, r->incident.why.text);
	command_fail(r->cfg->who, 0, &told);
	r->cfg->state->failures++;
}

/* A failure stays. */
static int record_all(struct archiver *r, const struct frames *fs)
{
	struct problem p;
	int err = 0;

	r->begins_ns = r->begins_ns ?: fs->now->wall_ns;
	if (!r->fine.sink)
		err = files_begin(r, fs, &p);
	return err ?: write_interval(r, fs, &p);
}

int archiver_add(struct archiver *r, const struct frames *fs)
{
	int err = 0;

	if (r->kind == ARCHIVER_HOURS)
		record_hours(r, fs);
	else if (r->kind == ARCHIVER_INCIDENTS && !r->only_remembers)
		record_incident(r, fs);
	else if (!r->only_remembers)
		err = record_all(r, fs);
	return err ?: remember(r, fs);
}

void archiver_begin(struct archiver *r, const struct incident *incident)
{
	files_end(r);
	r->incident = *incident;
	r->full = false;
}

/* --- a run --------------------------------------------------------------------------------------- */

static void end_run(struct archiver *r)
{
	files_end(r);
	free(TAKE(r->base));
	free(TAKE(r->shown.f));
	free(TAKE(r->counts));
}

int archiver_run(struct archiver *r, const struct run_info *run)
{
	u32 n = run->n_watches;

	end_run(r);
	r->run = run;
	r->base = calloc(n + 1, sizeof(*r->base));
	r->shown = (struct frames){ .f = calloc(n + 1, sizeof(*r->shown.f)) };
	r->counts = calloc(n + 1, sizeof(*r->counts));
	return r->base && r->shown.f && r->counts ? 0 : -ENOMEM;
}

int archiver_bytes(struct archiver *r, char **ret, size_t *ret_len, struct problem *p)
{
	if (!r->fine.sink)
		return problem_set(p, -ENODATA, "no interval has ended yet");
	return recorder_bytes(r->fine.sink, ret, ret_len, p);
}

u64 archiver_run_bytes(const struct archiver *r)
{
	return r->run->n_watches * (replay_watch_bytes() + BLKLAT_OPS * replay_op_bytes(r->run->scale));
}

void archiver_init(struct archiver *r, const struct serve_recorder_config *cfg, enum archiver_kind kind)
{
	*r = (struct archiver){ .cfg = cfg, .kind = kind, .relayed.keeps_run = true };
}

void archiver_uninit(struct archiver *r)
{
	end_run(r);
	free(r->last);
	free(r->fine.path);
	free(r->coarse.path);
	relayed_uninit(&r->relayed);
}

/* --- messages ------------------------------------------------------------------------------------ */

int archiver_take(struct archiver *r, u32 kind, struct wire_in *bytes)
{
	int err = relayed_take(&r->relayed, kind, bytes);

	if (err > 0)
		return archiver_run(r, &r->relayed.run.info);
	return err || kind != RELAY_INTERVAL ? err : archiver_add(r, &r->relayed.frames);
}

static int play_one(struct archiver *r, const struct recent_message *m)
{
	struct wire_in bytes = { m->data, m->data + m->len, false };

	return archiver_take(r, m->kind, &bytes);
}

int archiver_play(struct archiver *r, const struct recent *from)
{
	bool gap = from->gap;
	int err = from->run ? play_one(r, from->run) : 0;

	for (const struct recent_message *m = from->first; m && !err; m = m->next) {
		r->only_remembers = gap;
		gap &= m->kind != RELAY_INTERVAL;
		err = play_one(r, m);
		if (m == from->last)
			break;
	}
	return err;
}
