/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: what one user of /dev/blklat watches, and its counters. It is complete before probes see
 * it, and they read it without a lock. After that, only the epoch, own, the counters and the targets
 * change (targets.h).
 */
#ifndef KMOD_SESSION_H
#define KMOD_SESSION_H

#include <linux/atomic.h>
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
 * A device to watch: the objects by which the block layer refers to it. Addresses are only compared, so
 * no reference is held, and the device can be removed at any time.
 */
struct blklat_device {
	const void *queue;	/* request_queue of its requests; NULL: it has no requests */
	const void *disk;	/* gendisk of its bios */
	const void *part;	/* what request.part and bio.bi_bdev point to */
	dev_t number;
	bool partition;
	bool passes_bios_on;	/* as they are, to other devices, whose requests end them; only without requests */
	bool hides_splits;	/* it may split bios without block_split, and trace block_bio_remap for each piece */
};

/*
 * Not addresses of objects, and not NULL either, which is the part of a request without a partition. A search ends at a
 * bucket without a key, but not at one that has had a key.
 */
#define BLKLAT_NO_KEY ((const void *)1)
#define BLKLAT_OLD_KEY ((const void *)2)

/* A queue, disk or partition that IO can belong to, and what is watched there. */
struct blklat_target {
	const void *key;			/* also BLKLAT_NO_KEY, BLKLAT_OLD_KEY */
	const void *plain_key;			/* key if only stage device has to be handled, else BLKLAT_NO_KEY */
	u32 watch[BLKLAT_STAGES];		/* number + 1; 0: none. Only used at stages that are open. */
	u32 first_slot;
	u32 queues;				/* 0: no request has a slot */
	u32 stride;				/* slots of a hardware queue */
	u32 distance;				/* from them to the next one's: stride; 0: shared tags */
	atomic_t open;				/* bit set: BLKLAT_STARTS() and BLKLAT_ENDS() of stages */
	u64 seen_ns;				/* of requests, see pauses.h */
} ____cacheline_aligned;

/* IOs at a stage are counted when they start, or when they end. If the device was removed, nothing starts any more. */
#define BLKLAT_STARTS(stage) (1 << (stage))
#define BLKLAT_ENDS(stage) (1 << (BLKLAT_STAGES + (stage)))
#define BLKLAT_ALL_STARTS (BLKLAT_STARTS(BLKLAT_STAGES) - 1)

struct blklat_session {
	struct blklat_target *targets;	/* hash, linear probing */
	dev_t *numbers;			/* [bucket], of the target's device; 0: none */
	u32 buckets;			/* a power of two */
	u32 reach;			/* no key is farther than this from the bucket where its search begins */
	u32 shift;			/* from a 64-bit hash to a bucket */
	u32 cpus;
	u32 watches;			/* parts and room included */
	u32 wholes;			/* without parts */
	u32 by;				/* enum blklat_by */
	u32 parts;			/* of each whole; they follow it */
	u32 cgroups;			/* how many of the parts are for cgroups or processes; 0: not divided by them */
	struct blklat_in_flight *in_flight;	/* [watch], see parts.h; NULL: not counted */
	bool keeps_company;		/* IOs in flight are counted, and slow IOs tell their company */
	u32 *company;			/* [slot], if so: that of the request in it */
	struct blklat_teller *slow;	/* see slow.h; NULL: slow IOs are not reported */
	const u64 *slow_from;		/* [watch][op]: the latency from which an IO is slow; NULL likewise */
	u32 scale;
	u32 merged;			/* BLKLAT_SCALE_MAX - scale: bins at the finest scale are shifted by this */
	u32 series_bytes;
	u32 n_series;
	bool stages[BLKLAT_STAGES];	/* watched on some device */
	bool partitions;		/* a partition is watched */
	bool bios_anywhere;		/* bios may end with requests of a queue at which stage total is not watched */
	bool hides_splits;		/* or on one that hides splits */
	bool requests_only;		/* only stage device is watched, and only of whole devices */
	bool marks;			/* times in slots have marks of pauses, or parts */
	struct blklat_header *header;	/* the beginning of the region that userspace maps */
	void *series;			/* [watch][op], then the spare ones; series_bytes each */
	struct blklat_own *own;		/* [cpu][watch] */
	u64 *accounts;			/* [cpu][whole][BLKLAT_ACCOUNTS] */
	struct blklat_slots *slots;
	u32 n_slots;
	u64 idle_gap_ns;		/* 0: pauses are not looked for, and the next three are unused */
	void *idle;			/* [watch][op], idle_bytes each */
	u32 idle_bytes;
	u64 *bios_seen_ns;		/* [watch], see pauses.h; NULL unless stage total is watched */
	u64 bytes;			/* of the region */
	struct blklat_bio_table *bios;	/* NULL unless stage total is watched */
	u32 hooked;			/* in probe.c; bit i: hook i is registered */
	struct blklat_throttle *throttle;	/* in probe.c; NULL: bios held back by a limit are not seen */
	struct blklat_cgroups_user cgroups_user;	/* in cgroups.c */
	struct list_head list;		/* in device.c: sessions to be told of a removed device */
};

/*
 * Check a configuration, and a watch of a session with @slots, except for its device and number. Return 0, -EPROTO,
 * -EINVAL or -E2BIG, as abi.h says.
 */
int blklat_setup_check(const struct blklat_setup *setup);
int blklat_watch_check(const struct blklat_watch *watch, u32 slots);

/*
 * Makes a session from a checked configuration; @device has an entry for each of @watch, which are checked here.
 * Returns 0 or an errno, as abi.h says.
 */
int blklat_session_new(const struct blklat_setup *setup, const struct blklat_watch *watch,
		       const struct blklat_device *device, struct blklat_session **ret);

/* Frees a session that no probe can see any more. Takes NULL. */
void blklat_session_free(struct blklat_session *s);

/* The next bucket to try after a collision. */
static inline u32 blklat_next_bucket(const struct blklat_session *s, u32 bucket)
{
	return (bucket + 1) & (s->buckets - 1);
}

static __always_inline bool blklat_is_open(const struct blklat_target *t, u32 events)
{
	return atomic_read(&t->open) & events;
}

static inline void blklat_target_gone(struct blklat_target *t)
{
	WRITE_ONCE(t->plain_key, BLKLAT_NO_KEY);
	atomic_andnot(BLKLAT_ALL_STARTS, &t->open);
}

static __always_inline u64 blklat_bucket_of(const struct blklat_session *s, const void *key)
{
	return (u64)(unsigned long)key * GOLDEN_RATIO_64 >> s->shift;
}

/* The target with the address @key; NULL: not watched. */
struct blklat_target *blklat_find_target(const struct blklat_session *s, const void *key);

/* The same for the usual case, with a single lookup; NULL: look with blklat_target_of(). */
static __always_inline struct blklat_target *blklat_plain_target_of(const struct blklat_session *s, const void *key)
{
	struct blklat_target *t = &s->targets[blklat_bucket_of(s, key)];

	return likely(READ_ONCE(t->plain_key) == key) ? t : NULL;
}

static __always_inline struct blklat_target *blklat_target_of(const struct blklat_session *s, const void *key)
{
	struct blklat_target *t = &s->targets[blklat_bucket_of(s, key)];

	return likely(READ_ONCE(t->key) == key) ? t : blklat_find_target(s, key);
}

#endif
