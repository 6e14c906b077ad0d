// SPDX-License-Identifier: GPL-2.0-only
/* What the first signal does, and another one. Each test in a process of its own. */
#include "unit.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/ending.h"

/* Whether a wait ends at once: a signal has come, before it or within it. */
static bool asked(void)
{
	struct pollfd fd = { .fd = ending_fd(), .events = POLLIN };

	return poll_until(&fd, 1, 0) > 0;
}

/* Whoever runs us may have made us ignore it, as nohup(1) does. */
void set_up(void)
{
	signal(SIGHUP, SIG_DFL);
}

/* Has a process of its own catch signals and run this. Returns its wait status. */
static int end_of(bool pass_on, void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGINT, SIG_DFL);
		if (ending_catch(pass_on) || asked())
			_exit(1);
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int first, another;

static void get_both(void)
{
	raise(first);
	if (!asked() || !asked())
		_exit(1);
	raise(another);
	_exit(asked() ? 7 : 1);
}

TEST(test_another_one_kills)
{
	static const int firsts[] = { SIGINT, SIGTERM, SIGHUP }, others[] = { SIGINT, SIGTERM };

	for (u32 i = 0; i < ARRAY_SIZE(firsts); i++)
		for (u32 j = 0; j < ARRAY_SIZE(others); j++) {
			first = firsts[i];
			another = others[j];
			assert_int_equal(end_of(false, get_both), another);
		}
}

/* A terminal that goes away and its shell both send it. */
TEST(test_another_hangup_does_not)
{
	static const int firsts[] = { SIGINT, SIGHUP };

	another = SIGHUP;
	for (u32 i = 0; i < ARRAY_SIZE(firsts); i++) {
		first = firsts[i];
		assert_int_equal(WEXITSTATUS(end_of(false, get_both)), 7);
	}
}

static void send_another(int number)
{
	(void)number;
	raise(SIGINT);
}

/* Waits for a byte that never comes, and does not poll. */
static void hang(void)
{
	int fds[2];
	char byte;

	signal(SIGALRM, send_another);
	if (pipe(fds))
		_exit(1);
	raise(SIGTERM);
	alarm(1);
	if (read(fds[0], &byte, 1))
		_exit(1);
}

TEST(test_what_hangs_is_killed)
{
	assert_int_equal(end_of(false, hang), SIGINT);
}

static void pass_on(void)
{
	struct ending_signal s;

	for (u32 i = 0; i < 3; i++)
		raise(SIGTERM);
	raise(SIGINT);
	for (u32 i = 0; i < 4; i++)
		if (!asked() || !ending_take(&s) || s.number != (i < 3 ? SIGTERM : SIGINT) || s.of_terminal)
			_exit(1);
	_exit(asked() || ending_take(&s) ? 1 : 7);
}

TEST(test_what_is_passed_on_does_not_kill)
{
	assert_int_equal(WEXITSTATUS(end_of(true, pass_on)), 7);
}

static void hang_up(void)
{
	raise(SIGHUP);
	_exit(asked() ? 1 : 7);
}

TEST(test_nohup)
{
	signal(SIGHUP, SIG_IGN);
	assert_int_equal(WEXITSTATUS(end_of(false, hang_up)), 7);
}

TEST(test_nothing_is_caught)
{
	struct ending_signal s;

	assert_false(asked());
	assert_false(ending_take(&s));
	assert_int_equal(ending_fd(), -1);
}
