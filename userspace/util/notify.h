/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells the service manager how a service does (sd_notify(3), the protocol alone: a datagram to the socket
 * that NOTIFY_SOCKET names). Without one everything here does nothing.
 */
#ifndef UTIL_NOTIFY_H
#define UTIL_NOTIFY_H

#include "util/types.h"

struct notify {
	int fd;			/* connected; -1: nobody wants to be told */
	u64 watchdog_ns;	/* a beat is due within; 0: none is expected */
};

/* Connects, so that it works without leave to open sockets later. A socket that can't be reached is none. */
void notify_init(struct notify *n);
void notify_uninit(struct notify *n);

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...", several separated by newlines. Never blocks. */
void notify_send(const struct notify *n, const char *state);

#endif
