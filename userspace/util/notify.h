/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells the service manager about a service's state. This is only the protocol of sd_notify(3): a
 * datagram to the socket that NOTIFY_SOCKET names. Without that variable everything here does nothing.
 */
#ifndef UTIL_NOTIFY_H
#define UTIL_NOTIFY_H

#include "util/types.h"

struct notify {
	int fd;			/* connected; -1: there is nobody to notify */
	u64 watchdog_ns;	/* the longest time between two beats; 0: none are expected */
};

/*
 * Connects now, since later the process may not be allowed to open sockets. A socket that can't be
 * reached is treated as none.
 */
void notify_init(struct notify *n);
void notify_uninit(struct notify *n);

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...", several separated by newlines. Never blocks. */
void notify_send(const struct notify *n, const char *state);

#endif
