/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's news of block devices (NETLINK_KOBJECT_UEVENT): added, removed, changed. Takes no privilege. */
#ifndef CORE_UEVENTS_H
#define CORE_UEVENTS_H

#include "util/types.h"

/* Returns a descriptor that can be polled, or a negative errno where the kernel sends no news (in a container). */
int uevents_open(void);

/* The same, and SIGIO comes to this process when there is something to take. */
int uevents_open_signalled(void);

/*
 * Takes all that are there. Returns whether one of them was of a block device, or may have been. *@ret_gone: and of one that
 * may have gone, or have got another medium; many come at once when many devices are added.
 */
bool uevents_take(int fd, bool *ret_gone);

#endif
