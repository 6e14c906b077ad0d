// SPDX-License-Identifier: GPL-2.0-only
/* However a recording ends, even by SIGKILL, and while it still goes on: it opens, and has what was written. */
#include "recording_feed.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "recording/ring.h"

#define USUAL_PAUSE_US 1000000	/* of a recorder between two intervals */

/* Another process writes intervals until it is killed, and reports each that is written. */
static struct {
	pid_t pid;
	int from;	/* where it reports them */
	u32 told;	/* the last one */
	volatile u32 *pause_us;	/* after each; shared with it */
} writer;

static void write_for_ever(u64 max_bytes, int tell)
{
	EXPECT(!feed_open(max_bytes));
	for (u32 n = 1;; n++) {
		feed_make();
		EXPECT(!feed_write());
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
		if (*writer.pause_us)
			usleep(*writer.pause_us);
	}
}

/* Starts it, and waits for its first interval: another test ends it before that. */
static void start_writer(u64 max_bytes, u32 pause_us)
{
	int tell[2];

	if (!writer.pause_us)
		writer.pause_us = mmap(NULL, sizeof(*writer.pause_us), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(writer.pause_us, MAP_FAILED);
	*writer.pause_us = pause_us;
	assert_int_equal(pipe(tell), 0);
	writer.pid = fork();
	if (!writer.pid)
		write_for_ever(max_bytes, tell[1]);
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

/*
 * If it could not be copied, the writer pauses twice as long from now on. Beside one that pauses as long as recorders do
 * it can be.
 */
static void read_beside_writer(void)
{
	u32 least = hear_writer(), n = read_to_end();

	if (!n)
		*writer.pause_us *= 2;
	else
		assert_true(n >= least);
	if (*writer.pause_us > USUAL_PAUSE_US)
		fail_msg("%s", p.text);
}

/* Begins with pauses of @pause_us, and sets how long they were at last. */
static void stop_writer_and_read(u32 times, u32 *pause_us)
{
	u32 read_first = 0;

	feed_begin(2);
	f.cells = 20;
	start_writer(0, *pause_us);
	assert_int_equal(fcntl(writer.from, F_SETFL, O_NONBLOCK), 0);
	for (u32 i = 0; i < times; i++) {
		u32 least;

		read_beside_writer();
		usleep(rand() % 4000);
		assert_int_equal(kill(writer.pid, SIGSTOP), 0);
		assert_int_equal(waitpid(writer.pid, NULL, WUNTRACED), writer.pid);
		least = hear_writer();
		assert_in_range(read_to_end(), least, least + 1);
		read_first = read_first ?: least;
		assert_int_equal(kill(writer.pid, SIGCONT), 0);
	}
	while (hear_writer() == read_first)
		usleep(1000);
	*pause_us = *writer.pause_us;
	kill_writer();
}

/*
 * It is stopped at any point, be it in a transaction or while its log is moved into the file, and read while it goes
 * on. It begins anew now and then, as the longer its file, the longer does it grow while it is read.
 */
TEST(read_while_another_records)
{
	u32 pause_us = 300;

	srand(getpid());
	for (u32 turn = 0; turn < 6; turn++) {
		stop_writer_and_read(10, &pause_us);
		place_remove();
		place_make();
	}
}
