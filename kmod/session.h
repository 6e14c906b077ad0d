/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: what one user of /dev/blklat watches, and its counters. It is made whole, then probes
 * read it without a lock; only the epoch, the counters and a target's mark "gone" change.
 */
#ifndef KMOD_SESSION_H
#define KMOD_SESSION_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/types.h>

#include "blklat/abi.h"

struct blklat_bio_table;

/*
 * A device to watch as the block layer's structs point to it. Addresses are only ever compared, so
 * no reference is held and nothing is kept from going away.
 */
struct blklat_device {
	const void *queue;	/* request_queue, of requests; NULL: it has none */
	const void *disk;	/* gendisk, of bios */
	const void *part;	/* what request.part and bio.bi_bdev say of the partition */
	dev_t number;
	bool partition;
};

/* One queue, disk or partition that IO can belong to, with what is watched of it. */
struct blklat_target {
	const void *key;			/* NULL: an empty bucket */
	u32 watch[BLKLAT_STAGES];		/* number + 1; 0: stage not watched */
	u32 first_slot[2];			/* of stages device and queue */
	u32 queues;
	u32 stride;
	u32 tags;
	dev_t number;
	bool gone;				/* the device was removed: nothing starts any more */
} ____cacheline_aligned;

struct blklat_session {
	struct blklat_target *targets;	/* hash with 1 << bits buckets, linear probing */
	u32 bits;
	u32 cpus;
	u32 watches;
	u32 scale;
	u32 series_bytes;
	bool stages[BLKLAT_STAGES];	/* watched on some device */
	bool partitions;		/* a partition is watched */
	bool remapped;			/* stage total is watched on a device without requests */
	struct blklat_header *header;	/* begin of the region that userspace maps */
	void *series;			/* [cpu][watch][op], series_bytes each */
	u64 *accounts;			/* [cpu][watch][BLKLAT_ACCOUNTS] */
	struct blklat_slots *slots;
	u64 n_slots;
	u64 bytes;			/* of the region */
	struct blklat_bio_table *bios;	/* NULL unless stage total is watched */
	u32 hooked;			/* in probe.c: bit i: its hook i is registered */
	struct list_head list;		/* in device.c: who is told of a removed device */
};

/*
 * Checks a configuration, but for its devices: counts, scale, geometry, reserved fields. @watch holds
 * setup->watches of them. Returns 0, -EPROTO, -EINVAL or -E2BIG, as abi.h says.
 */
int blklat_setup_check(const struct blklat_setup *setup);
int blklat_watch_check(const struct blklat_watch *watch);

/*
 * Makes a session of a checked configuration; @device stands beside @watch. Sets each watch's
 * first_slot. Returns 0, -EEXIST, -EINVAL, -EOPNOTSUPP, -E2BIG or -ENOMEM, as abi.h says.
 */
int blklat_session_new(const struct blklat_setup *setup, struct blklat_watch *watch,
		       const struct blklat_device *device, struct blklat_session **ret);

/* Frees it once no probe can see it. Takes NULL. */
void blklat_session_free(struct blklat_session *s);

/* What @key, an address, leads to; NULL: not watched. */
struct blklat_target *blklat_target_of(const struct blklat_session *s, const void *key);

#endif
