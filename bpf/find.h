/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/find.bpf.c tells userspace of each block device that it was asked for. */
#ifndef FIND_H
#define FIND_H

#include <linux/types.h>

struct found_device {
	__u32 fd;		/* of the device's directory in sysfs */
	__u32 dev;		/* major << 20 | minor, to be sure that it is what was asked for */
	__u64 queue;		/* struct request_queue: what requests of the whole device carry */
	__u64 disk;		/* struct gendisk: what bios of the whole device lead to */
	__u64 part;		/* struct block_device (hd_struct until 5.10): what a partition's carry */
};

#endif
