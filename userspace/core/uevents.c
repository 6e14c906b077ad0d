// SPDX-License-Identifier: GPL-2.0-only
#include "core/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UEVENT_MAX 8192		/* the kernel's have up to 2048 bytes (UEVENT_BUFFER_SIZE) after a path */
#define KERNEL_GROUP 1		/* udev sends to group 2 */

int uevents_open(void)
{
	const struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT), err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* "ACTION@PATH", then KEY=VALUE, each ended by a zero byte. */
static bool of_block_device(const char *text, size_t len)
{
	static const char key[] = "SUBSYSTEM=block";

	return memmem(text, len, key, sizeof(key));
}

static bool of_new_device(const char *text, size_t len)
{
	static const char action[] = "add@";

	return len >= strlen(action) && !memcmp(text, action, strlen(action));
}

enum monitor_news uevents_take(int fd)
{
	enum monitor_news news = MONITOR_NO_NEWS;
	char text[UEVENT_MAX];

	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from, &size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOBUFS)
			return news;
		/* Only the kernel's messages count; other processes can send as well. */
		if (n >= 0 && (from.nl_pid || !of_block_device(text, n)))
			continue;
		/* If some were dropped, as too many came at once, they may have been about anything. */
		if (n < 0 || !of_new_device(text, n))
			news = MONITOR_DEVICES_GONE;
		else if (!news)
			news = MONITOR_DEVICES;
	}
}
