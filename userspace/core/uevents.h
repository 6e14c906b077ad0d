/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's events of block devices (NETLINK_KOBJECT_UEVENT): added, removed, changed. Needs no privileges. */
#ifndef CORE_UEVENTS_H
#define CORE_UEVENTS_H

#include "util/types.h"

/* Returns a descriptor to poll, or a negative errno if the kernel sends no events (in a container). */
int uevents_open(void);

/*
 * Takes all waiting events. Returns whether one was about a block device, or may have been. Sets *@ret_gone if a
 * device may have gone or got another medium. Events of added devices, of which many may come at once, do not set it.
 */
bool uevents_take(int fd, bool *ret_gone);

#endif
