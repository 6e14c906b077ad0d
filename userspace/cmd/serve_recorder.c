// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that records what the service serves, see cmd/serve.h: a file for each hour, and another one when a device comes or
 * the file has its share of the space.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "cmd/served_file.h"
#include "recording/archive.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define NICE 10			/* recording gives way to serving */
#define FILE_NS (3600 * (s64)NSEC_PER_SEC)
#define FILE_SHARE 8		/* a file gets no more than one in this many of all bytes, so that one dropped loses little */
#define SPARE_BYTES (16u << 20)	/* stay free for what the next interval may take, or one in FILE_SHARE of all bytes */
#define RETRY_NS (5 * NSEC_PER_SEC)

struct recorder {
	struct sink_source source;
	struct sink sink;
	const struct serve_recorder_config *cfg;
	struct served_file file;
	bool full;			/* the file has its share */
	bool failed;
	u64 retry_ns;			/* CLOCK_MONOTONIC */
};

/* Deletes the oldest files until there is room for the next interval, and notes whether this one has its share. */
static int make_room(struct recorder *r, s64 now_ns, struct problem *p)
{
	u64 share = r->cfg->max_bytes / FILE_SHARE, bytes = 0;
	const struct archive_limits limits = {
		.keep_ns = r->cfg->keep_ns, .max_bytes = r->cfg->max_bytes - min_u64(share, SPARE_BYTES),
	};
	int err = archive_trim(r->cfg->folder, &limits, now_ns, r->file.sink ? r->file.name : "", &bytes, p);

	r->full = bytes > share;
	return err;
}

static s64 hour_of(s64 wall_ns)
{
	return wall_ns / FILE_NS;
}

static int record(struct recorder *r, const struct frames *fs, struct problem *p)
{
	s64 begins_ns = fs->now->wall_ns - llround(fs->interval_s * NSEC_PER_SEC);
	struct served_file *f = &r->file;
	int err;

	if (f->sink && (r->full || hour_of(begins_ns) != hour_of(f->begins_ns) || !served_file_fits(f, fs)))
		served_file_end(f);
	err = make_room(r, fs->now->wall_ns, p);
	if (!err && !f->sink)
		err = served_file_begin(f, fs, begins_ns, p);
	return err ?: served_file_write(f, fs, p);
}

/* A failure is told once, and tried to overcome again and again. What could not be written meanwhile is missing. */
static int on_interval(struct sink *of, const struct frames *fs)
{
	struct recorder *r = (struct recorder *)((char *)of - offsetof(struct recorder, sink));
	struct problem p, told;
	int err;

	if (r->failed && now_ns() < r->retry_ns)
		return served_file_remember(&r->file, fs);
	err = fs->n ? record(r, fs, &p) : 0;
	if (err) {
		served_file_end(&r->file);
		r->retry_ns = now_ns() + RETRY_NS;
		problem_set(&told, err, "%.400s; what is served now is not recorded", p.text);
	} else if (r->failed) {
		problem_set(&told, 0, "recording goes on in %s/%s", r->cfg->folder, r->file.name);
	}
	if (!err != !r->failed)
		command_fail(r->cfg->who, 0, &told);
	r->failed = err;
	return served_file_remember(&r->file, fs);
}

/* --- the process -------------------------------------------------------------------------------- */

static void on_close(struct sink *of)
{
	(void)of;	/* the recorder goes on to live, see recorder_process() */
}

static const struct sink_ops recorder_sink = {
	.interval = on_interval,
	.summary = sink_without_summary,
	.close = on_close,
};

static int on_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct recorder *r = (struct recorder *)of;

	r->file.given = run;
	*ret = &r->sink;
	return 0;
}

static void on_stopped(void *recorder, const char *why)
{
	(void)recorder, (void)why;
}

static int take(void *relayed, u32 kind, struct wire_in *bytes)
{
	return relayed_take(relayed, kind, bytes);
}

static int record_all(const struct relayed_config *sinks, int messages)
{
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	struct relayed *relayed;
	int err = relayed_new(sinks, &relayed);

	while (!err) {
		struct pollfd fd = { .fd = messages, .events = POLLIN };

		poll(&fd, 1, -1);
		err = channel_read(&reader, take, relayed);
	}
	relayed_free(relayed);
	return err == -EPIPE ? 0 : err;
}

int recorder_process(const void *of, pid_t parent, int messages, int taken, int alive)
{
	const struct serve_recorder_config *cfg = of;
	struct recorder r = {
		.source.open = on_open, .sink.ops = &recorder_sink, .cfg = cfg, .file = { .folder = cfg->folder, .described = cfg->origin },
	};
	const struct relayed_config sinks = { .n_sinks = 1, .sinks = { &r.source }, .stopped = on_stopped, .into = &r };
	struct problem p;
	int err = confine_to_folder(cfg->folder, parent, &p);

	(void)taken, (void)alive;
	if (err)
		return command_fail(cfg->who, STATUS_FAILED, &p);
	setpriority(PRIO_PROCESS, 0, NICE);
	err = record_all(&sinks, messages);
	served_file_uninit(&r.file);
	if (!err)
		return STATUS_DONE;
	problem_set(&p, err, "the recorder failed: %s", strerror(-err));
	return command_fail(cfg->who, STATUS_FAILED, &p);
}
