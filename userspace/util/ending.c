// SPDX-License-Identifier: GPL-2.0-only
#include "util/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Global, as nothing can be passed to a signal handler. */
static int signals[2] = { -1, -1 };	/* a pipe of struct ending_signal */
static bool passed_on;
static struct termios modes;
static volatile sig_atomic_t taken = -1;

void tty_is_taken(int fd)
{
	if (!tcgetattr(fd, &modes))
		taken = fd;
}

void tty_is_back(void)
{
	taken = -1;
}

static void tty_give_back(void)
{
	/* Sequences of xterm and its successors; other terminals ignore those that they do not know. */
	static const char back[] = "\033[0m\033[?1l\033>\033[?25h\033[?1049l\r\n";
	struct pollfd room = { .fd = taken, .events = POLLOUT };
	int null;

	if (taken < 0)
		return;
	tcflush(taken, TCOFLUSH);
	tcsetattr(taken, TCSANOW, &modes);
	if (poll(&room, 1, 0) > 0 && write(taken, back, strlen(back)) < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup3(null, taken, O_CLOEXEC);
	close(null);
	taken = -1;
}

static void act(void (*handler)(int, siginfo_t *, void *))
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before, action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&action.sa_mask, numbers[i]);
	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++) {
		bool hangup = numbers[i] == SIGHUP;

		sigaction(numbers[i], NULL, &before);
		if (hangup && before.sa_handler == SIG_IGN)
			continue;
		if (!handler)
			/* A terminal that goes away, and then its shell, each send SIGHUP. */
			action = (struct sigaction){ .sa_handler = hangup ? SIG_IGN : SIG_DFL };
		sigaction(numbers[i], &action, NULL);
	}
}

static void on_signal(int number, siginfo_t *info, void *unused)
{
	const struct ending_signal s = { number, info->si_code == SI_KERNEL };
	int err = errno;

	(void)unused;
	if (write(signals[1], &s, sizeof(s)) == sizeof(s) && !passed_on) {
		tty_give_back();
		act(NULL);
	}
	errno = err;
}

int ending_catch(bool pass_on)
{
	if (signals[0] < 0 && pipe2(signals, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	passed_on = pass_on;
	act(on_signal);
	return 0;
}

int ending_fd(void)
{
	return signals[0];
}

bool ending_take(struct ending_signal *ret)
{
	return read(signals[0], ret, sizeof(*ret)) == sizeof(*ret);
}
