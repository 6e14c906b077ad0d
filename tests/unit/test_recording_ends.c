// SPDX-License-Identifier: GPL-2.0-only
/* However a recording ends, and wherever it lies: it opens, or one sentence says why not. */
#include "recording_feed.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define NOBODY 65534

/* What a child process does, judged by its exit status: 0 as expected, else a line. */
#define EXPECT(what) do { if (!(what)) _exit(__LINE__ % 256); } while (0)

static void must_be(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed: status %x, line modulo 256: %d", status, WEXITSTATUS(status));
}

static void pause_us(u32 us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&t, NULL);
}

/* Counts the intervals of a recording; the last snapshot goes to @last. */
static u32 count_intervals(const char *file, struct snapshot *last)
{
	struct capture *c = replay(file, -1);
	struct problem p = { "" };
	u32 n = 0;
	int err = c->ops->read(c, last, &p);

	assert_int_equal(err, 0);
	while (!(err = c->ops->read(c, last, &p)))
		n++;
	if (err != -ENODATA)
		fail_msg("%s", p.text);
	c->ops->close(c);
	return n;
}

/* Writes intervals until it is killed, telling of each that is written. */
static void write_for_ever(struct feed *f, const char *file, u64 max_bytes, int tell)
{
	EXPECT(!feed_open(f, file, max_bytes));
	for (u32 n = 1;; n++) {
		feed_make(f);
		EXPECT(!feed_write(f));
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
	}
}

static u32 last_told(int from)
{
	u32 n = 0, read_last;

	while (read(from, &read_last, sizeof(read_last)) == sizeof(read_last))
		n = read_last;
	return n;
}

/* The file tells of all that was told and at most of one interval more, and of nothing else. */
static void check_killed(const char *file, u32 told, bool ring)
{
	struct snapshot last;
	struct feed f;
	u32 n;

	feed_init(&f, 2, 6);
	assert_int_equal(snapshot_init(&last, 2, 6), 0);
	n = count_intervals(file, &last);
	if (!ring)
		assert_in_range(n, told, told + 1);
	for (n = 0; f.now.mono_ns < last.mono_ns; n++)
		feed_make(&f);
	assert_true(f.now.mono_ns == last.mono_ns);
	assert_in_range(n, told, told + 1);
	for (u32 i = 0; i < 2; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			assert_memory_equal(f.now.w[i].ops[op].hist.cells, last.w[i].ops[op].hist.cells,
					    BLKLAT_CELLS(6) * sizeof(u64));
	snapshot_uninit(&last);
	feed_uninit(&f);
}

static void kill_one(u32 after_us, bool ring)
{
	struct place at;
	struct feed f;
	int tell[2];
	u32 told;
	pid_t pid;

	place_make(&at);
	feed_init(&f, 2, 6);
	assert_int_equal(pipe(tell), 0);
	pid = fork();
	if (!pid)
		write_for_ever(&f, at.file, ring ? recording_least_bytes(2) : 0, tell[1]);
	close(tell[1]);
	/* Not before it has begun: what was ended before the first interval is another test's. */
	assert_int_equal(read(tell[0], &told, sizeof(told)), sizeof(told));
	pause_us(after_us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	told = last_told(tell[0]) ?: 1;
	close(tell[0]);
	check_killed(at.file, told, ring);
	feed_uninit(&f);
	place_remove(&at);
}

static void killed_at_random_moments(void **state)
{
	(void)state;
	srand(getpid());
	for (u32 i = 0; i < 20; i++)
		kill_one(rand() % 40000, false);
}

static void killed_while_it_merges(void **state)
{
	(void)state;
	for (u32 i = 0; i < 6; i++)
		kill_one(400000 + rand() % 200000, true);
}

static void killed_before_the_first_interval(void **state)
{
	struct capture_config cfg = { .scale = -1 };
	struct capture *c = NULL;
	struct problem p;
	struct place at;
	pid_t pid;

	(void)state;
	place_make(&at);
	cfg.replay_file = at.file;
	pid = fork();
	if (!pid) {
		struct feed f;

		feed_init(&f, 1, 6);
		EXPECT(!feed_open(&f, at.file, 0));
		_exit(0);
	}
	must_be(pid);
	assert_int_equal(capture_replay.open(&cfg, &c, &p), -EBADMSG);
	assert_non_null(strstr(p.text, "/run.blklat: holds no interval: it was ended before the first one"));
	assert_null(c);
	place_remove(&at);
}

/* A reader sees what is there when it begins, and hinders nobody. */
static void read_while_it_is_recorded(void **state)
{
	struct snapshot last;
	struct place at;
	struct feed f;

	(void)state;
	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(snapshot_init(&last, 1, 6), 0);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	for (u32 n = 1; n <= 50; n++) {
		struct capture *c = n > 1 ? replay(at.file, -1) : NULL;
		struct problem p;

		feed_make(&f);
		assert_int_equal(feed_write(&f), 0);
		for (u32 i = 0; c && i < n; i++)
			assert_int_equal(c->ops->read(c, &last, &p), 0);
		if (c) {
			assert_false(c->origin->finished);
			assert_int_equal(c->ops->read(c, &last, &p), -ENODATA);
			c->ops->close(c);
		}
		assert_int_equal(count_intervals(at.file, &last), n);
	}
	f.sink->ops->close(f.sink);
	assert_int_equal(count_intervals(at.file, &last), 50);
	snapshot_uninit(&last);
	feed_uninit(&f);
	place_remove(&at);
}

/* --- marks ------------------------------------------------------------------------------------- */

static s64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (s64)NSEC_PER_SEC + t.tv_nsec;
}

/* By another process, as 'blklat mark' is: the locks are those between processes. */
static void marks_are_noted(void **state)
{
	s64 wall = clock_ns(CLOCK_REALTIME), mono = clock_ns(CLOCK_MONOTONIC);
	struct capture *c;
	struct place at;
	struct feed f;
	pid_t pid;

	(void)state;
	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	for (u32 n = 0; n < 3; n++) {
		feed_make(&f);
		assert_int_equal(feed_write(&f), 0);
		pid = fork();
		if (!pid) {
			struct problem p;

			EXPECT(!recording_mark(at.file, n == 1 ? "  QD \033[1m16\xff starts \n" : "QD 8 starts", &p));
			_exit(0);
		}
		must_be(pid);
	}
	f.sink->ops->close(f.sink);
	c = replay(at.file, -1);
	assert_int_equal(c->origin->n_marks, 3);
	assert_string_equal(c->origin->marks[0].text, "QD 8 starts");
	assert_string_equal(c->origin->marks[1].text, "QD ?[1m16? starts");
	for (u32 i = 0; i < 3; i++) {
		const struct mark *m = &c->origin->marks[i];

		assert_in_range(m->mono_ns, mono, clock_ns(CLOCK_MONOTONIC));
		assert_in_range(m->wall_ns, wall, clock_ns(CLOCK_REALTIME));
		mono = m->mono_ns;
		wall = m->wall_ns;
	}
	c->ops->close(c);
	feed_uninit(&f);
	place_remove(&at);
}

static void marks_that_cannot_be(void **state)
{
	char *longest CLEANUP(cleanup_free) = calloc(1, 2000);
	struct problem p;
	struct place at;
	struct feed f;

	(void)state;
	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(recording_mark(at.file, "x", &p), -ENOENT);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	memset(longest, 'x', 1025);
	assert_int_equal(recording_mark(at.file, longest, &p), -EINVAL);
	assert_int_equal(recording_mark(at.file, " \t", &p), -EINVAL);
	assert_string_equal(p.text, "a mark needs a text");
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	f.sink->ops->close(f.sink);
	assert_int_equal(recording_mark(at.file, "x", &p), -ENXIO);
	assert_non_null(strstr(p.text, "is not being recorded"));
	place_script(&at, "SQLite format 4");
	assert_int_equal(recording_mark(at.script, "x", &p), -EBADMSG);
	assert_int_equal(recording_mark(at.dir, "x", &p), -EBADMSG);
	feed_uninit(&f);
	place_remove(&at);
}

/* --- where it can't be written ------------------------------------------------------------------------ */

static void files_that_are_there(void **state)
{
	struct recording_config cfg = { .overwrite = true };
	struct sink *s = NULL;
	struct problem p;
	struct place at;
	struct feed f;

	(void)state;
	place_make(&at);
	cfg.file = at.file;
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	assert_int_equal(recording_open(&f.info, &cfg, &s, &p), -EBUSY);
	assert_non_null(strstr(p.text, "/run.blklat: is being recorded"));
	f.sink->ops->close(f.sink);
	assert_int_equal(feed_open(&f, at.file, 0), -EEXIST);
	assert_non_null(strstr(f.problem.text, "/run.blklat: is there already"));
	assert_int_equal(recording_open(&f.info, &cfg, &s, &p), 0);
	s->ops->close(s);
	cfg.file = at.dir;
	assert_int_equal(recording_open(&f.info, &cfg, &s, &p), -EINVAL);
	assert_non_null(strstr(p.text, "is no regular file"));
	cfg.file = "/nonexistent/run.blklat";
	assert_int_equal(recording_open(&f.info, &cfg, &s, &p), -ENOENT);
	assert_string_equal(p.text, "/nonexistent/run.blklat: can't be made: No such file or directory");
	feed_uninit(&f);
	place_remove(&at);
}

/* Names that mean something else to SQLite. */
static void names_of_any_kind(void **state)
{
	static const char *const names[] = { ":memory:", "file:a?mode=memory", "a%20b#c?d", "", "-x" };
	struct snapshot last;
	char before[4096];
	struct place at;
	struct feed f;

	(void)state;
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

static void deleted_meanwhile(void **state)
{
	struct place at;
	struct feed f;
	struct problem p = { "" };

	(void)state;
	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	recording_problem(f.sink, &p);
	assert_string_equal(p.text, "");
	place_remove(&at);
	feed_make(&f);
	assert_int_equal(feed_write(&f), -ENOENT);
	assert_int_equal(feed_write(&f), -ENOENT);
	recording_problem(f.sink, &p);
	assert_non_null(strstr(p.text, "/run.blklat: was deleted while it was being recorded"));
	f.sink->ops->close(f.sink);
	assert_int_equal(access(at.file, F_OK), -1);
	feed_uninit(&f);
}

/* Writes until that fails, with @err; what was written until then can be read. */
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
	recording_problem(f->sink, &p);
	EXPECT(strstr(p.text, "/run.blklat: can't be written: "));
	EXPECT(strstr(p.text, strerror(-err)));
	f->sink->ops->close(f->sink);
	EXPECT(n > 1);
	EXPECT(!snapshot_init(&last, 2, 6));
	EXPECT(count_intervals(at->file, &last) == n);
}

static void larger_than_a_file_may_be(void **state)
{
	struct place at;
	struct feed f;
	pid_t pid;

	(void)state;
	place_make(&at);
	feed_init(&f, 2, 6);
	pid = fork();
	if (!pid) {
		/* At a page's end: a page cut off is a full disk to SQLite. It does not keep EFBIG either. */
		const struct rlimit limit = { 32 + 170 * (24 + 4096), 32 + 170 * (24 + 4096) };

		signal(SIGXFSZ, SIG_IGN);
		EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
		write_until(&at, &f, -EIO);
		_exit(0);
	}
	must_be(pid);
	feed_uninit(&f);
	place_remove(&at);
}

/* A file system of the child's own, gone with it. */
static bool own_mount(const char *dir, const char *options)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", dir, "tmpfs", 0, options);
}

static void disk_full(void **state)
{
	struct place at;
	struct feed f;
	pid_t pid;

	(void)state;
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

/* A recording that was killed, with all that is beside it. */
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

/* What a user without rights sees in a directory that he can't write to. */
static void read_as_nobody(const struct place *at, u32 n, const char *says)
{
	pid_t pid;

	assert_int_equal(chmod(at->dir, 0555), 0);
	pid = fork();
	if (!pid) {
		const struct capture_config cfg = { .scale = -1, .replay_file = at->file };
		struct snapshot last;
		struct capture *c;
		struct problem p = { "" };

		if (!geteuid())
			EXPECT(!setegid(NOBODY) && !seteuid(NOBODY));
		EXPECT(!snapshot_init(&last, 1, 6));
		if (says) {
			EXPECT(capture_replay.open(&cfg, &c, &p) < 0);
			EXPECT(strstr(p.text, says));
		} else {
			EXPECT(count_intervals(at->file, &last) == n);
		}
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

static void read_where_nothing_can_be_written(void **state)
{
	struct place at;

	(void)state;
	place_make(&at);
	recording_of(&at, "tests/cli/replay/nvme.txt", -1, 0);
	read_as_nobody(&at, 3, NULL);
	place_remove(&at);
	place_make(&at);
	leave_killed(&at, 5);
	read_as_nobody(&at, 5, NULL);
	/* The index is missing, and can't be made. */
	remove_beside(&at, "-shm");
	read_as_nobody(&at, 0, "was cut off, and what is left in");
	/* Where it can be made it is. */
	{
		struct snapshot last;

		assert_int_equal(snapshot_init(&last, 1, 6), 0);
		assert_int_equal(count_intervals(at.file, &last), 5);
		snapshot_uninit(&last);
	}
	place_remove(&at);
}

/* All was copied but the WAL: what had reached the file by then is whole. */
static void copied_without_its_wal(void **state)
{
	struct capture_config cfg = { .scale = -1 };
	struct snapshot last;
	struct capture *c;
	struct problem p;
	struct place at;

	(void)state;
	place_make(&at);
	cfg.replay_file = at.file;
	leave_killed(&at, 3000);	/* beyond the first checkpoint */
	remove_beside(&at, "-shm");
	remove_beside(&at, "-wal");
	assert_int_equal(snapshot_init(&last, 1, 6), 0);
	assert_true(count_intervals(at.file, &last) > 0);
	assert_int_equal(capture_replay.open(&cfg, &c, &p), 0);
	c->ops->close(c);
	remove_beside(&at, "");		/* and nothing was left beside it */
	assert_int_equal(rmdir(at.dir), 0);
	snapshot_uninit(&last);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_random_moments),
		cmocka_unit_test(killed_while_it_merges),
		cmocka_unit_test(killed_before_the_first_interval),
		cmocka_unit_test(read_while_it_is_recorded),
		cmocka_unit_test(marks_are_noted),
		cmocka_unit_test(marks_that_cannot_be),
		cmocka_unit_test(files_that_are_there),
		cmocka_unit_test(names_of_any_kind),
		cmocka_unit_test(deleted_meanwhile),
		cmocka_unit_test(larger_than_a_file_may_be),
		cmocka_unit_test(disk_full),
		cmocka_unit_test(read_where_nothing_can_be_written),
		cmocka_unit_test(copied_without_its_wal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
