/* SPDX-License-Identifier: GPL-2.0-only */
/* From a file descriptor to what the block layer calls that device; and news of its removal. */
#ifndef KMOD_DEVICE_H
#define KMOD_DEVICE_H

#include "session.h"

/*
 * What the open block device @fd is. No reference to it is kept. Returns 0, -EBADF (not open),
 * -ENOTBLK, -ENODEV (it went away) or -ENOMEM.
 */
int blklat_device_of(int fd, struct blklat_device *ret);

/*
 * From join to leave, devices of the session that are removed are marked as gone. leave takes a
 * session that never joined. Whoever looks for them once more after the join finds those that were removed before it.
 */
void blklat_device_join(struct blklat_session *s);
void blklat_device_leave(struct blklat_session *s);

/* At the module's end, when there is no session any more. */
void blklat_device_exit(void);

#endif
