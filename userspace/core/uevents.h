/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's events of block devices (NETLINK_KOBJECT_UEVENT): added, removed, changed. Needs no privileges. */
#ifndef CORE_UEVENTS_H
#define CORE_UEVENTS_H

#include "core/monitor.h"

/* Returns a descriptor to poll, or a negative errno if the kernel sends no events (in a container). */
int uevents_open(void);

/*
 * Takes all waiting events. Returns whether any was about a block device, or may have been; and whether a device may
 * have gone or got another medium, as events of added devices, of which many may come at once, do not mean. Takes -1.
 */
enum monitor_news uevents_take(int fd);

#endif
