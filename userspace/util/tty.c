// SPDX-License-Identifier: GPL-2.0-only
#include "util/tty.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios modes;
static atomic_int taken = -1;

void tty_is_taken(int fd)
{
	if (!tcgetattr(fd, &modes))
		taken = fd;
}

void tty_is_back(void)
{
	taken = -1;
}

void tty_give_back(void)
{
	/* Sequences of xterm and its successors; other terminals ignore those that they do not know. */
	static const char back[] = "\033[0m\033[?1l\033>\033[?25h\033[?1049l\r\n";
	int fd = taken;
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (fd < 0)
		return;
	tcflush(fd, TCOFLUSH);
	tcsetattr(fd, TCSANOW, &modes);
	if (poll(&room, 1, 0) > 0 && write(fd, back, strlen(back)) < 0)
		return;
}
