/* SPDX-License-Identifier: GPL-2.0-only */
/* From a file descriptor to the block layer's objects of that device, and news of its removal. */
#ifndef KMOD_DEVICE_H
#define KMOD_DEVICE_H

#include "session.h"

/*
 * Finds the objects of the open block device @fd, without a reference to it. Returns 0, -EBADF (not
 * open), -ENOTBLK, -ENODEV (it went away) or -ENOMEM.
 */
int blklat_device_of(int fd, struct blklat_device *ret);

/*
 * Between join and leave, targets of the session whose device is removed are marked as gone. leave
 * accepts a session that never joined. To find devices removed before the join, look them up once more
 * after it; and likewise that of a watch that is added later, after a grace period.
 */
void blklat_device_join(struct blklat_session *s);
void blklat_device_leave(struct blklat_session *s);

/* Called when the module is unloaded and there are no sessions any more. */
void blklat_device_exit(void);

#endif
