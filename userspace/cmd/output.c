// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/cleanup.h"

static int failed(const struct output *o, int err, struct problem *p)
{
	return problem_set(p, err, "could not write %s: %s", o->file ?: "the output", strerror(-err));
}

static const char *temporary;	/* for the handler, to which nothing can be passed */

static void forget(struct output *o)
{
	temporary = NULL;
	free(TAKE(o->unfinished));
}

static void remove_temporary(int number)
{
	unlink(temporary);
	raise(number);
}

/* A signal ends us as it does any program, but leaves no temporary file. */
static void remove_on_signal(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction action = { .sa_handler = remove_temporary, .sa_flags = SA_RESETHAND };
	struct sigaction before;

	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* Makes a new file with the usual permissions, unlike mkstemp(), whose file only the user can read. */
static int open_unfinished(struct output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	o->unfinished = joined(o->file, ".XXXXXX");
	if (!o->unfinished)
		return -ENOMEM;
	temporary = o->unfinished;
	remove_on_signal();
	fd = mkstemp(o->unfinished);
	if (fd < 0) {
		int err = -errno;

		forget(o);
		return err;
	}
	if (!fchmod(fd, 0666 & ~mask))
		o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	close(fd);
	return -errno;
}

int output_begin(struct output *o, const char *file, struct problem *p)
{
	struct stat is;
	int err = 0;

	*o = (struct output){ .file = file };
	if (!file) {
		o->f = stdout;
		return 0;
	}
	is.st_mode = S_IFREG;	/* a file that does not exist yet will be one */
	if (!stat(file, &is) && S_ISBLK(is.st_mode))
		/* Nobody wants to overwrite a disk, but somebody who may make links here could have us do it. */
		return problem_set(p, -EINVAL, "could not write %s: it is a block device", file);
	if (!S_ISREG(is.st_mode)) {
		o->f = fopen(file, "we");
		err = o->f ? 0 : -errno;
	} else {
		err = open_unfinished(o);
	}
	return err ? failed(o, err, p) : 0;
}

int output_end(struct output *o, int err, struct problem *p)
{
	errno = 0;
	if (!err && (fflush(o->f) || ferror(o->f)))
		err = errno ? -errno : -EIO;
	if (!o->file)
		return !err || err == -EPIPE ? 0 : failed(o, err, p);
	if (fclose(TAKE(o->f)) && !err)
		err = -errno;
	if (!err && o->unfinished && rename(o->unfinished, o->file))
		err = -errno;
	if (err)
		return failed(o, err, p);
	forget(o);
	return 0;
}

void output_drop(struct output *o)
{
	if (o->f && o->file)
		fclose(o->f);
	if (o->unfinished)
		unlink(o->unfinished);
	forget(o);
	*o = (struct output){ 0 };
}

struct json_object *json_name(const char *text)
{
	return text[0] ? json_text(text) : NULL;
}

struct json_object *json_stages(u32 stages)
{
	struct json_object *a = json_new_array(BLKLAT_STAGES);

	for (u32 s = 0; s < BLKLAT_STAGES; s++)
		if (stages >> s & 1)
			json_append(a, json_text(stage_names[s]));
	return a;
}

int json_print(struct json_object *o)
{
	const char *text = json_line(o);

	if (text)
		puts(text);
	json_object_put(o);
	return text ? 0 : -ENOMEM;
}

u32 terminal_columns(int fd)
{
	struct winsize w = { 0 };

	return ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col ? 80 : w.ws_col;
}

/* Whether to write colours to @fd: it is a terminal, and NO_COLOR (no-color.org) is not set. */
static bool terminal_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

struct look terminal_look(FILE *out)
{
	/* stdout is a stream of our own (util/stream.h) without a descriptor. */
	int fd = out == stderr ? STDERR_FILENO : STDOUT_FILENO;

	return (struct look){
		.out = out,
		.colour = terminal_colour(fd),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.columns = terminal_columns(fd),
	};
}

int finish_output(const char *who)
{
	struct problem p;

	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return STATUS_DONE;
	problem_set(&p, 0, "could not write the output: %s", strerror(errno));
	return command_fail(who, STATUS_FAILED, &p);
}

/* The block device of a mount, from its source: files of btrfs have a device number that belongs to no device. */
static dev_t mount_source(u64 mount_id)
{
	CLEANUP(cleanup_fclose) FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line CLEANUP(cleanup_free) = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		char *source = strstr(line, " - "), path[4096];
		unsigned long long id;
		struct stat st;

		if (!source || sscanf(line, "%llu ", &id) != 1 || id != mount_id)
			continue;
		if (sscanf(source, " - %*s %4095s", path) == 1 && !stat(path, &st) && S_ISBLK(st.st_mode))
			return st.st_rdev;
	}
	return 0;
}

/* The device that the directory of @file is on; 0 if it is on none. */
static dev_t device_of(const char *file)
{
	char *copy CLEANUP(cleanup_free) = strdup(file);
	struct statx st;
	dev_t dev;

	if (!copy || statx(AT_FDCWD, dirname(copy), 0, STATX_BASIC_STATS | STATX_MNT_ID, &st))
		return 0;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return !st.stx_dev_major && st.stx_mask & STATX_MNT_ID ? mount_source(st.stx_mnt_id) : dev;
}

static bool shares(const struct device_table *t, const bool *below, const struct device *d)
{
	bool *other CLEANUP(cleanup_free) = calloc(t->n, sizeof(*other));
	bool any = false;

	if (!other)
		return false;
	device_mark_below(t, d - t->d, other);
	for (u32 i = 0; i < t->n; i++)
		any |= below[i] && other[i];
	return any;
}

static bool find_disturbed(const struct device_table *t, const struct watch *w, u32 n, u32 home,
			   const bool *below, struct problem *p)
{
	for (u32 i = 0; i < n; i++)
		if (below[w[i].device - t->d])
			return problem_set(p, true, "the recording is on %s: the figures of %s include writing it; "
					   "another disk or a tmpfs would be better", t->d[home].name,
					   w[i].device->name);
	for (u32 i = 0; i < n; i++)
		if (shares(t, below, w[i].device))
			return problem_set(p, true, "the recording is on %s, which shares a disk with %s: writing it "
					   "competes with the measured IOs; another disk or a tmpfs would be better",
					   t->d[home].name, w[i].device->name);
	return false;
}

bool placement_disturbs(const struct device_table *t, const struct watch *w, u32 n, const char *file, struct problem *p)
{
	bool *below CLEANUP(cleanup_free) = calloc(t->n + 1, sizeof(*below));
	dev_t dev = device_of(file);

	for (u32 i = 0; dev && below && i < t->n; i++) {
		if (t->d[i].hidden || makedev(t->d[i].major, t->d[i].minor) != dev)
			continue;
		device_mark_below(t, i, below);
		return find_disturbed(t, w, n, i, below, p);
	}
	return false;
}
