// SPDX-License-Identifier: GPL-2.0-only
/* Which threads hang when asked to end, and which only take long. Each test in a process of its own. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/ending.h"

#define CUT_OFF 7
#define LONGER_NS (ENDING_STILL_NS + NSEC_PER_SEC)
#define FOREVER_MS 30000

static void held_up(const char *where)
{
	(void)where;
	_exit(CUT_OFF);
}

static struct ending ending = { .again = true, .held_up = held_up };

static void begin(void)
{
	sigemptyset(&ending.signals);
	sigaddset(&ending.signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending.signals, NULL);
	if (ending_start(&ending))
		_exit(1);
}

static void hear(void)
{
	int number;

	sigwait(&ending.signals, &number);
}

/* Runs this in a process of its own. Returns its wait status. */
static int end_of(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		begin();
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void *work(void *unused)
{
	for (u64 end = now_ns() + LONGER_NS; now_ns() < end;)
		;
	return unused;
}

static void wait_for_work(void)
{
	pthread_t thread;

	kill(getpid(), SIGTERM);
	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_join(thread, NULL);
}

TEST(test_waiting_for_work_is_no_standstill)
{
	assert_int_equal(end_of(wait_for_work), 0);
}

static void stand_still(void)
{
	kill(getpid(), SIGTERM);
	poll(NULL, 0, FOREVER_MS);
}

static void hear_and_stand_still(void)
{
	kill(getpid(), SIGTERM);
	hear();
	ending_begin();
	poll(NULL, 0, FOREVER_MS);
}

static void need_threads_that_rest(void)
{
#ifdef __SANITIZE_THREAD__
	print_message("the thread sanitizer has a thread of its own, which runs all the time\n");
	skip();
#endif
}

TEST(test_standstill)
{
	need_threads_that_rest();
	assert_int_equal(WEXITSTATUS(end_of(stand_still)), CUT_OFF);
	assert_int_equal(WEXITSTATUS(end_of(hear_and_stand_still)), CUT_OFF);
}

static int freed[2];

static void free_and_hesitate(const char *where)
{
	(void)where;
	if (write(freed[1], "", 1) != 1)
		_exit(1);
	poll(NULL, 0, 500);
	_exit(CUT_OFF);
}

static void wait_to_be_freed(void)
{
	char byte;

	ending.held_up = free_and_hesitate;
	if (pipe(freed))
		_exit(1);
	kill(getpid(), SIGTERM);
	if (read(freed[0], &byte, 1) != 1)
		_exit(1);
}

/* Like a write to a terminal that nobody reads, which is flushed before the process ends. */
TEST(test_freed_at_the_last_moment)
{
	need_threads_that_rest();
	assert_int_equal(WEXITSTATUS(end_of(wait_to_be_freed)), CUT_OFF);
}

static void rest(void)
{
	if (ending_asked())
		_exit(1);
	poll(NULL, 0, LONGER_NS / (NSEC_PER_SEC / 1000));
}

static void pass_on(void)
{
	kill(getpid(), SIGTERM);
	if (!ending_asked())
		_exit(1);
	hear();
	rest();
}

TEST(test_nobody_asked)
{
	assert_int_equal(end_of(rest), 0);
	assert_int_equal(end_of(pass_on), 0);
}

TEST(test_without_a_start)
{
	assert_false(ending_asked());
	assert_int_equal(ending_fd(), -1);
}
