// SPDX-License-Identifier: GPL-2.0-only
/* However a recording ends, even by SIGKILL, and while it still goes on: it opens, and has what was written. */
#include "recording_feed.h"

#include <fcntl.h>
#include <signal.h>

#include "recording/ring.h"

/* Another process writes intervals until it is killed, and reports each that is written. */
static struct {
	pid_t pid;
	int from;	/* where it reports them */
	u32 told;	/* the last one */
} writer;

static void write_for_ever(u64 max_bytes, u32 pause, int tell)
{
	EXPECT(!feed_open(max_bytes));
	for (u32 n = 1;; n++) {
		feed_make();
		EXPECT(!feed_write());
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
		if (pause)
			usleep(pause);
	}
}

/* Starts it, and waits for its first interval: another test ends it before that. It pauses for so long after each. */
static void start_writer(u64 max_bytes, u32 pause)
{
	int tell[2];

	assert_int_equal(pipe(tell), 0);
	writer.pid = fork();
	if (!writer.pid)
		write_for_ever(max_bytes, pause, tell[1]);
	close(tell[1]);
	writer.from = tell[0];
	assert_int_equal(read(writer.from, &writer.told, sizeof(writer.told)), sizeof(writer.told));
}

/* All that it has reported by now. */
static u32 hear_writer(void)
{
	u32 told;

	while (read(writer.from, &told, sizeof(told)) == sizeof(told))
		writer.told = told;
	return writer.told;
}

static void kill_writer(void)
{
	assert_int_equal(kill(writer.pid, SIGKILL), 0);
	assert_int_equal(waitpid(writer.pid, NULL, 0), writer.pid);
	hear_writer();
	close(writer.from);
}

/* The file has every interval that was reported and at most one more, and nothing else. */
static void check_killed(bool ring)
{
	u32 n = count_intervals(at.file);
	u64 bytes[FEED_OPS] = { 0 };

	if (!ring)
		assert_in_range(n, writer.told, writer.told + 1);
	feed_begin(2);
	n = feed_again(sum.mono_ns, bytes);
	assert_in_range(n, writer.told, writer.told + 1);
	for (u32 i = 0; i < 2; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			assert_memory_equal(f.now.w[i].ops[op].hist.cells, sum.w[i].ops[op].hist.cells,
					    BLKLAT_CELLS(SCALE) * sizeof(u64));
}

static void kill_one(u32 after_us, bool ring)
{
	feed_begin(2);
	start_writer(ring ? ring_least_bytes(2) : 0, 0);
	usleep(after_us);
	kill_writer();
	check_killed(ring);
	place_remove();
	place_make();
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

/* Returns the last interval of a recording, having read all of it; 0: it was written to too fast to be copied. */
static u32 read_to_end(void)
{
	u32 n;
	int err = read_all(at.file, &n);

	if (err != -ENODATA && err != -EAGAIN)
		fail_msg("%s", p.text);
	return err == -EAGAIN ? 0 : n;
}

/* Returns how many of its readings could be made while it was written to. */
static u32 read_beside_writer(u32 times)
{
	u32 read_first = 0, copied = 0;

	feed_begin(2);
	f.cells = 20;
	start_writer(0, 300);
	assert_int_equal(fcntl(writer.from, F_SETFL, O_NONBLOCK), 0);
	for (u32 i = 0; i < times; i++) {
		u32 n, least = hear_writer();

		n = read_to_end();
		copied += n > 0;
		assert_true(!n || n >= least);
		usleep(rand() % 4000);
		assert_int_equal(kill(writer.pid, SIGSTOP), 0);
		assert_int_equal(waitpid(writer.pid, NULL, WUNTRACED), writer.pid);
		least = hear_writer();
		assert_in_range(read_to_end(), least, least + 1);
		read_first = read_first ?: least;
		assert_int_equal(kill(writer.pid, SIGCONT), 0);
	}
	assert_true(writer.told > read_first);
	kill_writer();
	return copied;
}

/*
 * It is stopped at any point, be it in a transaction or while its log is moved into the file, and read while it goes on. It begins
 * anew now and then, as the longer its file, the longer does it grow while it is read.
 */
TEST(read_while_another_records)
{
	u32 copied = 0;

	srand(getpid());
	for (u32 turn = 0; turn < 6; turn++) {
		copied += read_beside_writer(10);
		place_remove();
		place_make();
	}
	print_message("%u of 60 copied while it was written to\n", copied);
}
