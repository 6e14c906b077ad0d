/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what sysfs says about one device; for device_table.c. */
#ifndef CORE_DEVICE_READ_H
#define CORE_DEVICE_READ_H

#include "core/device.h"

#define SECTOR_BYTES 512	/* sysfs's unit, whatever the device's own sectors are */

/* The kernel name for a name in sysfs, where '!' stands for '/'. Returns 0 or -ENAMETOOLONG. */
int device_name(const char *entry, char ret[DEVICE_NAME_MAX]);

/* Reads disk @entry from its directory, open as @dir. Returns 0 or a negative errno; -ENODEV: gone, or not a device. */
int device_read_disk(struct device *d, int dir, const char *entry, const char *root);

/* The same for a partition of @disk. Its requests go through the disk's queue, so the queue's properties are copied. */
int device_read_partition(struct device *d, int dir, const char *entry, const struct device *disk);

#endif
