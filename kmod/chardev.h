/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/blklat: the protocol of abi.h. */
#ifndef KMOD_CHARDEV_H
#define KMOD_CHARDEV_H

/* Creates the device; from then on it can be opened. Returns 0 or a negative errno. */
int blklat_chardev_init(void);
void blklat_chardev_exit(void);

#endif
