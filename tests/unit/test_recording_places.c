// SPDX-License-Identifier: GPL-2.0-only
/* Wherever a recording lies, it can be written or read, or one sentence says why not. */
#include "recording_child.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define NOBODY 65534

/* --- where it can't be written ------------------------------------------------------------------------ */

TEST(files_that_are_there)
{
	struct recorder_config cfg = { .overwrite = true };
	struct sink *s = NULL;
	struct problem p;
	struct place at;
	struct feed f;

	place_make(&at);
	cfg.file = at.file;
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	assert_int_equal(recorder_open(&f.info, &cfg, &s, &p), -EBUSY);
	assert_non_null(strstr(p.text, "/run.blklat: is being recorded"));
	f.sink->ops->close(f.sink);
	assert_int_equal(feed_open(&f, at.file, 0), -EEXIST);
	assert_non_null(strstr(f.problem.text, "/run.blklat: already exists"));
	assert_int_equal(recorder_open(&f.info, &cfg, &s, &p), 0);
	s->ops->close(s);
	cfg.file = at.dir;
	assert_int_equal(recorder_open(&f.info, &cfg, &s, &p), -EINVAL);
	assert_non_null(strstr(p.text, "is not a regular file"));
	cfg.file = "/nonexistent/run.blklat";
	assert_int_equal(recorder_open(&f.info, &cfg, &s, &p), -ENOENT);
	assert_string_equal(p.text, "/nonexistent/run.blklat: can't be made: No such file or directory");
	feed_uninit(&f);
	place_remove(&at);
}

/* Mounts a file system of the child's own, which goes away with it. */
static bool own_mount(const char *dir, const char *options)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", dir, "tmpfs", 0, options);
}

TEST(file_that_can_not_be_replaced)
{
	struct recorder_config cfg = { .overwrite = true };
	struct sink *s = NULL;
	struct problem p;
	struct place at;
	struct feed f;
	pid_t pid;

	if (geteuid()) {
		print_message("not root: no file system of its own to write-protect\n");
		skip();
	}
	place_make(&at);
	cfg.file = at.file;
	feed_init(&f, 1, 6);
	pid = fork();
	if (!pid) {
		EXPECT(own_mount(at.dir, "size=1m"));
		EXPECT(!feed_open(&f, at.file, 0));
		f.sink->ops->close(f.sink);
		EXPECT(!mount(NULL, at.dir, NULL, MS_REMOUNT | MS_RDONLY, NULL));
		EXPECT(recorder_open(&f.info, &cfg, &s, &p) == -EROFS);
		EXPECT(strstr(p.text, "/run.blklat: can't be replaced: Read-only file system"));
		_exit(0);
	}
	must_be(pid);
	feed_uninit(&f);
	place_remove(&at);
}

/* Names that would mean something special to SQLite. */
TEST(names_of_any_kind)
{
	static const char *const names[] = { ":memory:", "file:a?mode=memory", "a%20b#c?d", "", "-x" };
	struct snapshot last;
	char before[4096];
	struct place at;
	struct feed f;

	place_make(&at);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(at.dir), 0);
	assert_int_equal(snapshot_init(&last, 1, 6), 0);
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		feed_init(&f, 1, 6);
		if (feed_open(&f, names[i], 0)) {
			assert_int_equal(names[i][0], 0);
			feed_uninit(&f);
			continue;
		}
		feed_make(&f);
		assert_int_equal(feed_write(&f), 0);
		assert_int_equal(access(names[i], F_OK), 0);
		f.sink->ops->close(f.sink);
		assert_int_equal(count_intervals(names[i], &last), 1);
		feed_uninit(&f);
	}
	snapshot_uninit(&last);
	assert_int_equal(chdir(before), 0);
	place_remove(&at);
}

TEST(deleted_meanwhile)
{
	struct place at;
	struct feed f;
	struct problem p = { "" };

	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	recorder_problem(f.sink, &p);
	assert_string_equal(p.text, "");
	place_remove(&at);
	feed_make(&f);
	assert_int_equal(feed_write(&f), -ENOENT);
	assert_int_equal(feed_write(&f), -ENOENT);
	recorder_problem(f.sink, &p);
	assert_non_null(strstr(p.text, "/run.blklat: was deleted while it was being recorded"));
	f.sink->ops->close(f.sink);
	assert_int_equal(access(at.file, F_OK), -1);
	feed_uninit(&f);
}

/* Writes until it fails with @err; what was written until then must be readable. */
static void write_until(const struct place *at, struct feed *f, int err)
{
	struct snapshot last;
	struct problem p = { "" };
	u32 n = 0;
	int got;

	EXPECT(!feed_open(f, at->file, 0));
	do {
		feed_make(f);
		got = feed_write(f);
		n += !got;
	} while (!got && n < 10000);
	EXPECT(got == err);
	EXPECT(feed_write(f) == err);
	recorder_problem(f->sink, &p);
	EXPECT(strstr(p.text, "/run.blklat: can't be written: "));
	EXPECT(strstr(p.text, strerror(-err)));
	f->sink->ops->close(f->sink);
	EXPECT(n > 1);
	EXPECT(!snapshot_init(&last, 2, 6));
	EXPECT(count_intervals(at->file, &last) == n);
}

TEST(larger_than_a_file_may_be)
{
	struct place at;
	struct feed f;
	pid_t pid;

	place_make(&at);
	feed_init(&f, 2, 6);
	pid = fork();
	if (!pid) {
		/* To SQLite, a WAL page that is cut off is a full disk. EFBIG comes from the file. */
		const struct rlimit limit = { 32 + 170 * (24 + 4096), 32 + 170 * (24 + 4096) };

		signal(SIGXFSZ, SIG_IGN);
		EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
		write_until(&at, &f, -EFBIG);
		_exit(0);
	}
	must_be(pid);
	feed_uninit(&f);
	place_remove(&at);
}

TEST(disk_full)
{
	struct place at;
	struct feed f;
	pid_t pid;

	if (geteuid()) {
		print_message("not root: no file system of its own to fill\n");
		skip();
	}
	place_make(&at);
	feed_init(&f, 2, 6);
	pid = fork();
	if (!pid) {
		EXPECT(own_mount(at.dir, "size=1m"));
		write_until(&at, &f, -ENOSPC);
		_exit(0);
	}
	must_be(pid);
	feed_uninit(&f);
	place_remove(&at);
}

/* --- where it lies is not for writing ---------------------------------------------------------------- */

/* Leaves a recording whose writer was killed, with all the files beside it. */
static void leave_killed(struct place *at, u32 n)
{
	pid_t pid = fork();

	if (!pid) {
		struct feed f;

		feed_init(&f, 1, 6);
		EXPECT(!feed_open(&f, at->file, 0));
		for (u32 i = 0; i < n; i++) {
			feed_make(&f);
			EXPECT(!feed_write(&f));
		}
		_exit(0);	/* without closing */
	}
	must_be(pid);
}

/* Reads as a user without privileges, in a directory that can't be written to. */
static void read_as_nobody(const struct place *at, u32 n)
{
	pid_t pid;

	assert_int_equal(chmod(at->dir, 0555), 0);
	pid = fork();
	if (!pid) {
		struct snapshot last;

		if (!geteuid())
			EXPECT(!setegid(NOBODY) && !seteuid(NOBODY));
		EXPECT(!snapshot_init(&last, 1, 6));
		EXPECT(count_intervals(at->file, &last) == n);
		_exit(0);
	}
	must_be(pid);
	assert_int_equal(chmod(at->dir, 0755), 0);
}

static void remove_beside(const struct place *at, const char *end)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s", at->file, end);
	assert_int_equal(unlink(path), 0);
}

TEST(read_where_nothing_can_be_written)
{
	struct place at;

	place_make(&at);
	recording_of(&at, "tests/cli/replay/nvme.txt", -1, 0);
	read_as_nobody(&at, 3);
	place_remove(&at);
	place_make(&at);
	leave_killed(&at, 5);
	read_as_nobody(&at, 5);
	place_remove(&at);
}

/* Everything but the WAL was copied: what had reached the file by then is intact. */
TEST(copied_without_its_wal)
{
	struct capture_config cfg = { .scale = -1 };
	struct snapshot last;
	struct capture *c;
	struct problem p;
	struct place at;

	place_make(&at);
	cfg.replay_file = at.file;
	leave_killed(&at, 3000);	/* beyond the first checkpoint */
	remove_beside(&at, "-mark");
	remove_beside(&at, "-wal");
	assert_int_equal(snapshot_init(&last, 1, 6), 0);
	assert_true(count_intervals(at.file, &last) > 0);
	assert_int_equal(capture_replay.open(&cfg, &c, &p), 0);
	c->ops->close(c);
	remove_beside(&at, "");		/* nothing was left beside it */
	assert_int_equal(rmdir(at.dir), 0);
	snapshot_uninit(&last);
}
