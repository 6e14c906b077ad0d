/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/find.bpf.c tells userspace about each block device that was asked for. */
#ifndef FIND_H
#define FIND_H

#include <linux/types.h>

struct found_device {
	__u32 fd;		/* the open directory of the device in sysfs */
	__u32 dev;		/* major << 20 | minor, to check that it is the device that was asked for */
	__u64 queue;		/* struct request_queue: which requests of the whole device point to */
	__u64 disk;		/* struct gendisk: which bios of the whole device lead to */
	__u64 part;		/* struct block_device (hd_struct until 5.10): the same for a partition */
	__u64 shared_tags;	/* not 0: known that its hardware queues share one set of tags, and of a scheduler's */
};

#endif
