/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what sysfs says of one device; for device_table.c. */
#ifndef CORE_DEVICE_READ_H
#define CORE_DEVICE_READ_H

#include "core/device.h"

#define SECTOR_BYTES 512	/* sysfs's unit, whatever the device's own sectors are */

/* The kernel name for a name in sysfs: a file's name can't hold a '/', so sysfs has '!' instead. Returns 0 or -ENAMETOOLONG. */
int device_name(const char *entry, char ret[DEVICE_NAME_MAX]);

/* Reads the disk whose directory is @entry, open as @dir. Returns 0 or a negative errno; -ENODEV: it went away, or is no device. */
int device_read_disk(struct device *d, int dir, const char *entry, const char *root);

/* The same for a partition of @disk. Its requests go through its disk's queue, so the queue's properties are copied. */
int device_read_partition(struct device *d, int dir, const char *entry, const struct device *disk);

#endif
