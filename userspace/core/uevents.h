/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's news of block devices (NETLINK_KOBJECT_UEVENT): added, removed, changed. Needs no privileges. */
#ifndef CORE_UEVENTS_H
#define CORE_UEVENTS_H

#include "util/types.h"

/* Returns a descriptor that can be polled, or a negative errno if the kernel sends no news (in a container). */
int uevents_open(void);

/*
 * Takes all messages that are there. Returns whether one of them was about a block device, or may have
 * been. *@ret_gone is set if a device may have gone or got another medium. Messages about added devices,
 * of which many may come at once, do not set it.
 */
bool uevents_take(int fd, bool *ret_gone);

#endif
