// SPDX-License-Identifier: GPL-2.0-only
/* blklat record: watches devices and keeps every interval in a file, while a command runs or until Ctrl-C. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/run_capture.h"
#include "core/origin.h"
#include "live/formats.h"
#include "recording/recorder.h"
#include "util/cleanup.h"
#include "util/shell.h"
#include "util/units.h"
#include "util/utf8.h"

/* Replaces one of its texts by @text, made printable. Returns 0 or -ENOMEM. */
static int origin_text(char **ret, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	text_clean(copy);
	free(*ret);
	*ret = copy;
	return 0;
}

#define IDLE_GAP_S 0.1		/* unless the user says otherwise */

struct record {
	struct capture_options o;
	const char *file;
	char by_time[64];		/* its name, if none is given */
	const char *label;
	bool overwrite;
	bool quiet;
	u64 max_size;
	char **command;			/* NULL: none */
	struct child child;
	struct origin origin;
};

#define INTO struct record

static const struct option_row option_list[] = {
	OPTION("output", 'o', "FILE", "The file to make (default: blklat-DATE-TIME.blklat)", TO(WORD, file)),
	OPTION("overwrite", 0, NULL, "Replace FILE if it is a recording", TO(SWITCH, overwrite)),
	OPTION("label", 0, "TEXT", "What reports call the run (default: the file's name)", TO(WORD, label)),
	OPTION("max-size", 0, "SIZE", "Largest size of the file: the oldest intervals are merged into longer "
	  "ones, then dropped", TO(SIZE, max_size)),
	OPTION("quiet", 'q', NULL, "Show nothing during the recording", TO(SWITCH, quiet)),
	{ 0 },
};

static int take_argument(void *into, const char *value, struct problem *p)
{
	if (!value[strspn(value, "0123456789.")] || means_devices(value))
		return capture_options_take_argument(&((struct record *)into)->o, value, p);
	return problem_set(p, -EINVAL, "unexpected argument '%s': no device has this name, and a command comes "
			   "after --", value);
}

static void take_command(char **words, void *into)
{
	((struct record *)into)->command = words;
}

static const struct options options = {
	.about = "Records the latency of every IO of block devices in FILE, while COMMAND runs or until "
		 "Ctrl-C."
		 "\v"
		 "'blklat report FILE' draws it, 'blklat mark FILE TEXT' notes an event in it while it is "
		 "made. With a COMMAND the intervals are shown on the standard error, and the exit status is the "
		 "command's; without one: 0 done, 1 it failed while running, 2 the command line is wrong.",
	.arguments = "[DEV...] [S [N]] [-- COMMAND...]",
	.list = option_list,
	.shared = capture_option_list,
	.shared_at = offsetof(struct record, o),
	.argument = take_argument,
	.take_command = take_command,
};

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* "blklat-20261127-034212.blklat", by local time, in the working directory: names in the order of time. */
static void name_by_time(struct record *r)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };

	localtime_r(&now, &tm);
	strftime(r->by_time, sizeof(r->by_time), "blklat-%Y%m%d-%H%M%S.blklat", &tm);
	r->file = r->by_time;
}

static int check(struct record *r, struct problem *p)
{
	int err = capture_options_check(&r->o, p);

	if (err)
		return err;
	if (!r->file)
		name_by_time(r);
	if (!*r->file)
		return problem_set(p, -EINVAL, "the name of the file to make is empty: -o FILE");
	if (r->o.replay && r->command)
		return problem_set(p, -EINVAL, "--replay takes no command: it plays what has already happened");
	if (r->o.replay && same_file(r->o.replay, r->file))
		return problem_set(p, -EINVAL, "'%s' can't be replayed into itself", r->file);
	return 0;
}

/* Makes the recording's description of itself. @line is the command line as typed. */
static int make_origin(struct record *r, const struct run_capture *c, const char *line)
{
	const struct origin *from = c->info.origin;
	int err = from ? origin_copy(&r->origin, from) : run_capture_origin(&r->origin, line);

	if (err)
		return err;
	if (!from) {
		r->origin.interval_s = r->o.interval_s;
		r->origin.idle_gap_ns = c->config.capture.idle_gap_ns;
	}
	err = origin_text(&r->origin.file, r->file);
	return !err && r->label ? origin_text(&r->origin.label, r->label) : err;
}

static void warn_of_placement(const struct record *r, const struct run_capture *c)
{
	struct problem p;

	if (!r->o.replay && placement_disturbs(c->info.devices, c->info.watches, c->info.n_watches, r->file, &p))
		command_fail(c->who, 0, &p);
}

/* The exit status for a command that did not start, as shells have it. */
static int start_status(int err)
{
	if (err == -ENOMEM || err == -EAGAIN)
		return STATUS_FAILED;
	return err == -ENOENT ? 127 : 126;
}

/*
 * The command may outlive the recording: if the recording is done, it is asked to end; if the recording
 * failed, it is waited for.
 */
static int end_child(struct record *r, const char *who, int status)
{
	struct child *child = &r->child;
	bool own = child->ended;

	if (status == STATUS_DONE) {
		child_end(child);
	} else if (child->pid) {
		fprintf(stderr, "%s: the recording has ended; waiting for '%s' to exit\n", who, child->argv[0]);
		child_wait(child, UINT64_MAX);
	}
	if (child->pid)
		fprintf(stderr, "%s: '%s' (process %d) did not exit, not even after SIGKILL; it was left running\n", who,
			child->argv[0], child->pid);
	return own && status == STATUS_DONE ? child_status(child) : status;
}

static u32 count_devices(const struct run_info *info)
{
	u32 n = 0;

	for (u32 i = 0; i < info->n_watches; i++) {
		bool known = false;

		for (u32 j = 0; j < i; j++)
			known |= info->watches[j].device == info->watches[i].device;
		n += !known;
	}
	return n;
}

/* Prints what was recorded, and what can be done with it. */
static void print_end(const struct record *r, const struct run_info *info, u64 intervals)
{
	char *words[] = { (char *)r->file, NULL };
	char *file CLEANUP(cleanup_free) = shell_line(words);
	char size[UNITS_TEXT];
	u32 n = count_devices(info);
	struct stat st;

	if (!file || stat(r->file, &st))
		return;
	fprintf(stderr, "%s: %llu interval%s of %u device%s, %s; 'blklat report %s -o report.html' draws it\n", file,
		intervals, intervals == 1 ? "" : "s", n, n == 1 ? "" : "s", units_memory(size, st.st_size), file);
}

static int record(struct record *r, struct run_capture *c)
{
	FILE *out = r->command ? stderr : stdout;
	struct look look = terminal_look(out);
	struct recorder_config cfg = { .file = r->file, .overwrite = r->overwrite, .max_bytes = r->max_size };
	struct sink *sink = NULL;
	enum loop_end end;
	u64 intervals;
	struct problem p;
	int status, err;

	warn_of_placement(r, c);
	look.devices = r->o.top;
	if (!r->quiet && format_open(r->o.format, &c->info, &look, r->o.bins, &cfg.also))
		return command_no_memory(c->who);
	err = recorder_open(&c->info, &cfg, &sink, &p);
	if (err)
		return command_fail(c->who, err == -ENOSPC || err == -EIO || err == -ENOMEM ? STATUS_FAILED :
				    STATUS_USAGE, &p);
	end = run_capture_loop(c, sink, &p);
	if (end == LOOP_FAILED)
		recorder_problem(sink, &p);
	intervals = recorder_intervals(sink);
	sink_close(sink);
	status = run_capture_status(c, end, &p);
	if (r->child.start_err) {
		unlink(r->file);
		return start_status(r->child.start_err);
	}
	if (!r->quiet)
		print_end(r, &c->info, intervals);
	return r->command ? end_child(r, c->who, status) : status;
}

static int capture_and_record(struct record *r, const char *line, const char *who)
{
	CLEANUP(run_capture_end) struct run_capture c = { 0 };
	int status = run_capture_begin(&c, &r->o, r->command ? &r->child : NULL, who);

	if (status >= 0)
		return status;
	if (make_origin(r, &c, line))
		return command_no_memory(who);
	c.info.origin = &r->origin;
	return record(r, &c);
}

static void record_uninit(struct record *r)
{
	capture_options_uninit(&r->o);
	child_uninit(&r->child);
	origin_uninit(&r->origin);
}

static int run(int argc, char **argv)
{
	CLEANUP(record_uninit) struct record r = { 0 };
	char *line CLEANUP(cleanup_free) = run_capture_line(argv);
	struct problem p;
	int status, err;

	if (!line)
		return command_no_memory(argv[0]);
	capture_options_init(&r.o);
	r.o.default_idle_gap_s = IDLE_GAP_S;
	status = options_parse(&options, argc, argv, &r);
	if (status >= 0)
		return status;
	if (check(&r, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	err = r.command ? child_init(&r.child, r.command, &p) : 0;
	if (err)
		return command_fail(argv[0], start_status(err), &p);
	return capture_and_record(&r, line, argv[0]);
}

const struct command command_record = {
	.name = "record",
	.about = "watch devices and keep each interval in a file, for report and compare",
	.run = run,
};
