// SPDX-License-Identifier: GPL-2.0-only
#include "util/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The variables must be meant for this process, and not for the one that started it. */
static u64 watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long us;
	char *end;

	if (!usec || !*usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	us = strtoull(usec, &end, 10);
	return errno || *end || us > UINT64_MAX / 1000 ? 0 : us * 1000;
}

void notify_init(struct notify *n)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	*n = (struct notify){ .fd = -1 };
	/* '@' stands for the zero byte at the start of an abstract address. */
	if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd < 0)
		return;
	if (connect(n->fd, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + len)) {
		notify_uninit(n);
		return;
	}
	n->watchdog_ns = watchdog_ns();
}

void notify_uninit(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void notify_send(const struct notify *n, const char *state)
{
	if (n->fd >= 0)
		send(n->fd, state, strlen(state), MSG_NOSIGNAL);
}
