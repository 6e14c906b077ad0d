/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: what one user of /dev/blklat watches, and its counters. It is made whole, then probes
 * read it without a lock; only the epoch, the counters and a target's mark "gone" change.
 */
#ifndef KMOD_SESSION_H
#define KMOD_SESSION_H

#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/types.h>

#include "blklat/abi.h"
#include "cgroups.h"

struct blklat_bio_table;
struct blklat_in_flight;
struct blklat_teller;
struct blklat_throttle;

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

/* No object's address, nor NULL, which a request without a partition has. */
#define BLKLAT_NO_KEY ((const void *)1)

/* One queue, disk or partition that IO can belong to, with what is watched of it. */
struct blklat_target {
	const void *key;			/* BLKLAT_NO_KEY: an empty bucket */
	const void *plain_key;			/* the same if stage device is all there is to look for, else BLKLAT_NO_KEY */
	u32 watch[BLKLAT_STAGES];		/* number + 1; 0: stage not watched */
	u32 first_slot[2];			/* of stages device and queue */
	u32 queues;
	u32 stride;
	u32 tags;
	dev_t number;
	bool gone;				/* the device was removed: nothing starts any more */
	u64 seen_ns;				/* in pauses.h, of requests */
} ____cacheline_aligned;

struct blklat_session {
	struct blklat_target *targets;	/* hash, linear probing */
	u32 buckets;			/* a power of two */
	u32 shift;			/* from a 64-bit hash to a bucket */
	u32 cpus;
	u32 watches;			/* with those that are parts */
	u32 by;				/* enum blklat_by */
	u32 parts;			/* of each whole, which they follow */
	u32 cgroups;			/* of these, those that cgroups have; 0: it is not divided by them */
	struct blklat_in_flight *in_flight;	/* [watch], in parts.h; NULL: it is not counted */
	struct blklat_teller *slow;	/* in slow.h; NULL: slow IOs are not told */
	u32 scale;
	u32 merged;			/* BLKLAT_SCALE_MAX - scale: from a bin there to one here */
	u32 series_bytes;
	u64 cpu_bytes;			/* of a CPU's series */
	bool stages[BLKLAT_STAGES];	/* watched on some device */
	bool partitions;		/* a partition is watched */
	bool remapped;			/* stage total is watched on a device without requests */
	bool marks;			/* times in slots have more bits than the clock's: of pauses, of parts */
	struct blklat_header *header;	/* begin of the region that userspace maps */
	void *series;			/* [cpu][watch][op], series_bytes each */
	u64 *accounts;			/* [cpu][watch][BLKLAT_ACCOUNTS] */
	struct blklat_slots *slots;
	u64 n_slots;
	u64 idle_gap_ns;		/* 0: pauses are not looked for, and there is nothing of the next three */
	void *idle;			/* [watch][op], idle_bytes each */
	u32 idle_bytes;
	u64 *bios_seen_ns;		/* [watch], in pauses.h; NULL unless stage total is watched */
	u64 bytes;			/* of the region */
	struct blklat_bio_table *bios;	/* NULL unless stage total is watched */
	u32 hooked;			/* in probe.c: bit i: its hook i is registered */
	struct blklat_throttle *throttle;	/* in probe.c; NULL: what waits for a limit is not seen */
	struct blklat_cgroups_user cgroups_user;	/* in cgroups.c */
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

/* The bucket of a collision. */
static inline u32 blklat_next_bucket(const struct blklat_session *s, u32 bucket)
{
	return (bucket + 1) & (s->buckets - 1);
}

static inline void blklat_target_gone(struct blklat_target *t)
{
	WRITE_ONCE(t->plain_key, BLKLAT_NO_KEY);
	WRITE_ONCE(t->gone, true);
}

static __always_inline u64 blklat_bucket_of(const struct blklat_session *s, const void *key)
{
	return (u64)(unsigned long)key * GOLDEN_RATIO_64 >> s->shift;
}

/* What @key, an address, leads to; NULL: not watched. */
struct blklat_target *blklat_find_target(const struct blklat_session *s, const void *key);

/* The same for what is usual, at one look; NULL: look with blklat_target_of(). */
static __always_inline struct blklat_target *blklat_plain_target_of(const struct blklat_session *s, const void *key)
{
	struct blklat_target *t = &s->targets[blklat_bucket_of(s, key)];

	return likely(READ_ONCE(t->plain_key) == key) ? t : NULL;
}

static __always_inline struct blklat_target *blklat_target_of(const struct blklat_session *s, const void *key)
{
	struct blklat_target *t = &s->targets[blklat_bucket_of(s, key)];

	return likely(t->key == key) ? t : blklat_find_target(s, key);
}

#endif
