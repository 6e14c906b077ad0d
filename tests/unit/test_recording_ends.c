// SPDX-License-Identifier: GPL-2.0-only
/* However a recording ends, even by SIGKILL, and while it still goes on: it opens, and has what was written. */
#include "recording_child.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "recording/ring.h"

static void pause_us(u32 us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&t, NULL);
}

/* Writes intervals until it is killed, with @pause after each, and reports each that is written. */
static void write_for_ever(struct feed *f, const char *file, u64 max_bytes, u32 pause, int tell)
{
	EXPECT(!feed_open(f, file, max_bytes));
	for (u32 n = 1;; n++) {
		feed_make(f);
		EXPECT(!feed_write(f));
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
		if (pause)
			pause_us(pause);
	}
}

static u32 last_told(int from)
{
	u32 n = 0, read_last;

	while (read(from, &read_last, sizeof(read_last)) == sizeof(read_last))
		n = read_last;
	return n;
}

/* The file has every interval that was reported and at most one more, and nothing else. */
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
		write_for_ever(&f, at.file, ring ? ring_least_bytes(2) : 0, 0, tell[1]);
	close(tell[1]);
	/* Not before it has begun: another test ends it before the first interval. */
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

TEST(killed_at_random_moments)
{
	srand(getpid());
	for (u32 i = 0; i < 20; i++)
		kill_one(rand() % 40000, false);
}

TEST(killed_while_it_merges)
{
	for (u32 i = 0; i < 6; i++)
		kill_one(400000 + rand() % 200000, true);
}

TEST(killed_before_the_first_interval)
{
	struct capture_config cfg = { .scale = -1 };
	struct capture *c = NULL;
	struct problem p;
	struct place at;
	pid_t pid;

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

/* A reader sees what is there when it begins, and gets in nobody's way. */
TEST(read_while_it_is_recorded)
{
	struct snapshot last;
	struct place at;
	struct feed f;

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

/* Returns the last interval of a recording, having read all of it; 0: it was written to too fast to be copied. */
static u32 read_to_end(const char *file)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file };
	struct snapshot last;
	struct capture *c = NULL;
	struct problem p = { "" };
	int err = capture_replay.open(&cfg, &c, &p);
	u32 n = 0;

	if (err == -EAGAIN)
		return 0;
	if (err)
		fail_msg("%s", p.text);
	assert_int_equal(snapshot_init(&last, 2, 6), 0);
	assert_int_equal(c->ops->read(c, &last, &p), 0);
	while (!(err = c->ops->read(c, &last, &p)))
		n++;
	if (err != -ENODATA)
		fail_msg("%s", p.text);
	c->ops->close(c);
	snapshot_uninit(&last);
	return n;
}

static u32 told_by_now(int tell, u32 *told)
{
	while (read(tell, told, sizeof(*told)) == sizeof(*told))
		;
	return *told;
}

/*
 * Another process records: it is stopped at any point, be it in a transaction or while its log is moved into the
 * file, and it is read while it goes on.
 */
TEST(read_while_another_records)
{
	struct place at;
	struct feed f;
	int tell[2];
	u32 told, read_first = 0, copied = 0;
	pid_t pid;

	place_make(&at);
	feed_init(&f, 2, 6);
	f.cells = 20;
	assert_int_equal(pipe(tell), 0);
	pid = fork();
	if (!pid)
		write_for_ever(&f, at.file, 0, 300, tell[1]);
	close(tell[1]);
	assert_int_equal(read(tell[0], &told, sizeof(told)), sizeof(told));
	assert_int_equal(fcntl(tell[0], F_SETFL, O_NONBLOCK), 0);
	srand(getpid());
	for (u32 i = 0; i < 60; i++) {
		u32 n, least = told_by_now(tell[0], &told);

		n = read_to_end(at.file);
		copied += n > 0;
		assert_true(!n || n >= least);
		pause_us(rand() % 4000);
		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
		least = told_by_now(tell[0], &told);
		assert_in_range(read_to_end(at.file), least, least + 1);
		read_first = read_first ?: least;
		assert_int_equal(kill(pid, SIGCONT), 0);
	}
	assert_true(told > read_first);
	print_message("%u of 60 copied while it was written to, %u intervals\n", copied, told);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(tell[0]);
	feed_uninit(&f);
	place_remove(&at);
}
