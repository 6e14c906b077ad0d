// SPDX-License-Identifier: GPL-2.0-only
/* Wherever a recording lies, it can be written or read, or one sentence says why not. */
#include "recording_feed.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define NOBODY 65534

/* --- where it can't be written ------------------------------------------------------------------------ */

TEST(file_that_is_being_recorded)
{
	const struct recorder_config cfg = { .file = at.file, .overwrite = true };
	struct sink *s = NULL;

	feed_begin(1);
	assert_int_equal(feed_open(0), 0);
	feed_interval();
	assert_int_equal(recorder_open(&f.info, &cfg, &s, &p), -EBUSY);
	assert_non_null(strstr(p.text, "/run.blklat: is being recorded"));
	feed_close();
	assert_int_equal(feed_open_as(&cfg), 0);
}

/* Mounts a file system of the child's own, which goes away with it. */
static void own_mount(void)
{
	EXPECT(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", at.dir, "tmpfs", 0, "size=1m"));
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("not root: no file system of its own\n");
	skip();
}

static void replace_on_read_only(void)
{
	const struct recorder_config cfg = { .file = at.file, .overwrite = true };

	own_mount();
	EXPECT(!feed_open(0));
	feed_close();
	EXPECT(!mount(NULL, at.dir, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	EXPECT(feed_open_as(&cfg) == -EROFS);
	EXPECT(strstr(p.text, "/run.blklat: can't be replaced: Read-only file system"));
}

TEST(file_that_can_not_be_replaced)
{
	need_root();
	feed_begin(1);
	in_child(replace_on_read_only);
}

TEST(deleted_meanwhile)
{
	feed_begin(1);
	assert_int_equal(feed_open(0), 0);
	feed_interval();
	recorder_problem(f.sink, &p);
	assert_string_equal(p.text, "");
	place_remove();
	feed_make();
	assert_int_equal(feed_write(), -ENOENT);
	assert_int_equal(feed_write(), -ENOENT);
	recorder_problem(f.sink, &p);
	assert_non_null(strstr(p.text, "/run.blklat: was deleted while it was being recorded"));
	feed_close();
	assert_int_equal(access(at.file, F_OK), -1);
}

/* Writes until it fails with @err; what was written until then must be readable. */
static void write_until(int err)
{
	u32 n = 0;
	int got;

	EXPECT(!feed_open(0));
	do {
		feed_make();
		got = feed_write();
		n += !got;
	} while (!got && n < 10000);
	EXPECT(got == err);
	EXPECT(feed_write() == err);
	recorder_problem(f.sink, &p);
	EXPECT(strstr(p.text, "/run.blklat: can't be written: "));
	EXPECT(strstr(p.text, strerror(-err)));
	feed_close();
	EXPECT(n > 1);
	EXPECT(count_intervals(at.file) == n);
}

static void write_too_much(void)
{
	/* To SQLite, a WAL page that is cut off is a full disk. EFBIG comes from the file. */
	const struct rlimit limit = { 32 + 170 * (24 + 4096), 32 + 170 * (24 + 4096) };

	signal(SIGXFSZ, SIG_IGN);
	EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
	write_until(-EFBIG);
}

TEST(larger_than_a_file_may_be)
{
	feed_begin(2);
	in_child(write_too_much);
}

static void end_in_no_room(void)
{
	const struct rlimit limit = { 4096, 4096 };

	EXPECT(!feed_open(0));
	feed_make();
	EXPECT(!feed_write());
	signal(SIGXFSZ, SIG_IGN);
	EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
	EXPECT(f.sink->ops->summary(f.sink, &f.is));
	recorder_problem(f.sink, &p);
	EXPECT(strstr(p.text, "/run.blklat: can't be written: "));
	feed_close();
}

/* The last mark is lost, which is told; and the file does not claim to be whole. */
TEST(a_mark_that_finds_no_room_at_the_end)
{
	static struct mark late = { 1ULL << 60, 2, "late" };

	feed_begin(1);
	f.origin.marks = &late;
	f.origin.n_marks = 1;
	in_child(end_in_no_room);
	assert_int_equal(count_intervals(at.file), 1);
	replay(at.file, -1);
	assert_true(!c->origin->finished && !c->origin->n_marks);
}

/* --- where it lies is not for writing ---------------------------------------------------------------- */

static u32 intervals;

static void write_and_leave(void)
{
	EXPECT(!feed_open(0));
	for (u32 i = 0; i < intervals; i++) {
		feed_make();
		EXPECT(!feed_write());
	}
	_exit(0);	/* without closing */
}

/* Leaves a recording whose writer was killed, with all the files beside it. */
static void leave_killed(u32 n)
{
	intervals = n;
	feed_begin(1);
	in_child(write_and_leave);
}

TEST(killed_before_the_first_interval)
{
	leave_killed(0);
	assert_int_equal(open_replay(at.file, -1), -ENODATA);
	assert_non_null(strstr(p.text, "/run.blklat: has no intervals: it ended before the first one was complete"));
	assert_null(c);
}

static void read_without_privileges(void)
{
	if (!geteuid())
		EXPECT(!setegid(NOBODY) && !seteuid(NOBODY));
	EXPECT(count_intervals(at.file) == intervals);
}

/* Reads as a user without privileges, in a directory that can't be written to. */
static void read_as_nobody(u32 n)
{
	intervals = n;
	assert_int_equal(chmod(at.dir, 0555), 0);
	in_child(read_without_privileges);
	assert_int_equal(chmod(at.dir, 0755), 0);
}

TEST(read_where_nothing_can_be_written)
{
	recording_of("tests/cli/replay/nvme.txt", -1);
	read_as_nobody(3);
	assert_int_equal(unlink(at.file), 0);
	leave_killed(5);
	read_as_nobody(5);
}

/* Everything but the WAL was copied: what had reached the file by then is intact. */
TEST(copied_without_its_wal)
{
	leave_killed(3000);	/* beyond the first checkpoint */
	assert_int_equal(unlink(beside("-mark")), 0);
	assert_int_equal(unlink(beside("-wal")), 0);
	assert_true(count_intervals(at.file) > 0);
	assert_int_equal(unlink(at.file), 0);	/* nothing was left beside it */
	assert_int_equal(rmdir(at.dir), 0);
}
