/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the suites: sessions of fake devices, fake requests and bios, and reading a session's region. The
 * region is read as abi.h describes it in words, not with the module's structs and functions, so that
 * the two check each other.
 */
#ifndef KMOD_KUNIT_SESSION_H
#define KMOD_KUNIT_SESSION_H

#include <linux/preempt.h>
#include <kunit/test.h>

#include "bios.h"
#include "blklat/parts.h"
#include "capture.h"
#include "kernel.h"
#include "session.h"

/* One type on both sides: KUnit of 5.10 refuses two. */
#define EXPECT_U64(test, got, wanted) KUNIT_EXPECT_EQ(test, (u64)(got), (u64)(wanted))
#define EXPECT_U64_MSG(test, got, wanted, ...) KUNIT_EXPECT_EQ_MSG(test, (u64)(got), (u64)(wanted), __VA_ARGS__)

/* Offsets in u64 from the beginning of a series. */
enum { AT_SUM, AT_BYTES, AT_ERRORS, AT_OCTAVES, AT_MAX, AT_NOT_MIN = AT_MAX + 2, AT_BINS = AT_NOT_MIN + 2 };

/* 32 slots: their times, their starts and their ends, in u32 from the beginning. */
enum { AT_STARTED = 64, AT_ENDED = 96, WORDS_OF_32_SLOTS = 128 };

/* The geometry of each fake disk. */
enum { FAKE_QUEUES = 3, FAKE_STRIDE = 32, FAKE_SLOTS = FAKE_QUEUES * FAKE_STRIDE };

enum { FAKE_WATCHES = 6, FAKE_MAX_BIOS = 64, FAKE_CGROUPS = 3, FAKE_CPU = 5 };

/*
 * A disk with a partition. Its queue and gendisk are only addresses, which is all that the module may
 * look at.
 */
struct fake_disk {
	u64 queue, disk;
	struct block_device *bdev[2];		/* the whole device's and the partition's */
	struct blk_mq_hw_ctx *hctx[FAKE_QUEUES + 1];
	/* larger than a blk_mq_ctx, whose layout is private; filled with FAKE_CPU */
	u32 *ctx;
};

struct fake {
	struct fake_disk *disk[2];
	struct blklat_session *s[2];		/* NULL, or freed by fake_exit() */
	struct blklat_watch watch[2][FAKE_WATCHES];
	u64 idle_gap_ns;			/* this and the following are for the next sessions */
	u32 by;
	u32 slow_places, notes, owners;
	u32 spare;				/* series that no CPU gets; 0: see fake_give() */
	/* for watches that come later, and beyond those that the first ones have */
	u32 room, more_slots;
};

static inline u64 fake_random(u64 *state)	/* splitmix64 */
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline void *fake_alloc(struct kunit *test, size_t bytes)
{
	void *p = kunit_kzalloc(test, bytes, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p);
	return p;
}

static inline struct fake_disk *fake_disk_new(struct kunit *test)
{
	struct fake_disk *d = fake_alloc(test, sizeof(*d));
	u32 i;

	for (i = 0; i < 2; i++) {
		d->bdev[i] = fake_alloc(test, sizeof(*d->bdev[i]));
		d->bdev[i]->bd_disk = (void *)&d->disk;
	}
	for (i = 0; i <= FAKE_QUEUES; i++) {
		d->hctx[i] = fake_alloc(test, sizeof(*d->hctx[i]));
		d->hctx[i]->queue_num = i;
	}
	d->ctx = fake_alloc(test, 1024 * sizeof(u32));
	for (i = 0; i < 1024; i++)
		d->ctx[i] = FAKE_CPU;
	return d;
}

static inline int fake_init(struct kunit *test)
{
	struct fake *f = fake_alloc(test, sizeof(*f));

	f->disk[0] = fake_disk_new(test);
	f->disk[1] = fake_disk_new(test);
	test->priv = f;
	return 0;
}

static inline void fake_exit(struct kunit *test)
{
	struct fake *f = test->priv;

	if (!f)
		return;
	blklat_session_free(f->s[0]);
	blklat_session_free(f->s[1]);
}

/* --- a session ----------------------------------------------------------------------------- */

/* A device and the stage at which to watch it. */
struct fake_watch {
	u32 stage;
	u32 disk;		/* which of the two */
	bool partition;
	bool no_requests;	/* the disk is like md and dm */
};

static inline struct blklat_device fake_device(const struct fake_disk *d, bool partition, bool no_requests)
{
	return (struct blklat_device){
		.queue = no_requests ? NULL : &d->queue,
		.passes_bios_on = no_requests,
		.disk = &d->disk,
		.part = d->bdev[partition],
		.partition = partition,
	};
}

/* Its slots begin at @slot, which is moved behind them. */
static inline struct blklat_watch fake_geometry(u32 stage, u32 number, u32 *slot)
{
	struct blklat_watch w = { .stage = stage, .number = number };

	if (BLKLAT_OF_BIOS(stage))
		return w;
	w.queues = FAKE_QUEUES;
	w.stride = FAKE_STRIDE;
	w.first_slot = *slot;
	*slot += FAKE_SLOTS;
	return w;
}

/* The two stages of watch @k's device that have slots share them. */
static inline void fake_share_slots(const struct fake_watch *w, struct blklat_watch *watch, u32 k)
{
	u32 i;

	for (i = 0; i < k; i++)
		if (w[i].stage + w[k].stage == BLKLAT_STAGE_QUEUE && w[i].disk == w[k].disk &&
		    w[i].partition == w[k].partition)
			watch[k].first_slot = watch[i].first_slot;
}

/*
 * Gives each CPU @n of every two of its spare series. At first each has one of two, so that all suites count in shared
 * ones and in others.
 */
static inline void fake_give(const struct blklat_session *s, u32 n)
{
	u32 *own = (void *)s->header + s->header->own_offset, row, op;

	for (row = 0; row < s->cpus * s->watches; row++)
		for (op = 0; op < BLKLAT_OPS; op++)
			own[row * 10 + op] = (row + op) % 2 < n ? (s->watches + row) * BLKLAT_OPS + op : 0;
}

/* Makes session @i (instead of the one before) with watches 0 to @n - 1. */
static inline struct blklat_session *fake_session(struct kunit *test, u32 i, u32 scale, u32 max_bios,
						  const struct fake_watch *w, u32 n)
{
	struct blklat_setup setup = {
		.version = BLKLAT_ABI_VERSION, .watches = n, .scale = scale, .max_bios = max_bios,
	};
	struct blklat_device device[FAKE_WATCHES];
	struct fake *f = test->priv;
	u32 k;

	setup.idle_gap_ns = f->idle_gap_ns;
	setup.by = f->by;
	setup.slow_places = f->slow_places;
	setup.notes = f->notes;
	setup.owners = f->owners;
	setup.cgroups = blklat_has_owners(f->by) ? FAKE_CGROUPS : 0;
	setup.room = f->room;
	setup.spare = f->spare ?: nr_cpu_ids * (n + f->room) * (1 + blklat_parts(f->by, setup.cgroups)) * BLKLAT_OPS;
	blklat_session_free(f->s[i]);
	f->s[i] = NULL;
	for (k = 0; k < n; k++) {
		device[k] = fake_device(f->disk[w[k].disk], w[k].partition, w[k].no_requests);
		f->watch[i][k] = fake_geometry(w[k].stage, k, &setup.slots);
		fake_share_slots(w, f->watch[i], k);
	}
	setup.slots += f->more_slots;
	KUNIT_ASSERT_EQ(test, blklat_session_new(&setup, f->watch[i], device, &f->s[i]), 0);
	if (!f->spare)
		fake_give(f->s[i], 1);
	return f->s[i];
}

/* --- requests and bios --------------------------------------------------------------------- */

static inline struct bio *fake_bio(struct kunit *test, struct fake_disk *d, bool partition, u32 flags, u32 bytes)
{
	struct bio *bio = fake_alloc(test, sizeof(*bio));

#if BLKLAT_BIO_HAS_BDEV
	bio->bi_bdev = d->bdev[partition];
#else
	bio->bi_disk = (void *)&d->disk;
#endif
	bio->bi_opf = flags;
	bio->bi_iter.bi_size = bytes;
	if (bytes)
		bio->bi_io_vec = fake_alloc(test, sizeof(*bio->bi_io_vec));
	return bio;
}

/* A request with a bio, tag 3 of queue 1, and no scheduler. */
static inline struct request *fake_request(struct kunit *test, struct fake_disk *d, bool partition, u32 flags,
					   u32 bytes)
{
	struct request *rq = fake_alloc(test, sizeof(*rq));

	rq->q = (void *)&d->queue;
	rq->part = (void *)d->bdev[partition];
	rq->mq_hctx = d->hctx[1];
	rq->mq_ctx = (void *)d->ctx;
	rq->tag = 3;
	rq->internal_tag = -1;
	rq->cmd_flags = flags;
	rq->__data_len = bytes;
	rq->deadline = 1;
	rq->bio = fake_bio(test, d, partition, flags, bytes);
	return rq;
}

/* --- events -------------------------------------------------------------------------------- */

enum { FAKE_ERROR = 10 };

/* The block layer takes the bytes that ended off the request after the event. */
static inline void fake_complete(struct blklat_session *s, struct request *rq, int error, u32 bytes)
{
	blklat_capture_complete(s, rq, error, bytes);
	rq->__data_len -= min(bytes, rq->__data_len);
}

static inline void fake_event(struct blklat_session *s, struct request *rq, char event)
{
	switch (event) {
	case 'I':	/* the letters of blktrace: insert */
		return blklat_capture_insert(s, rq);
	case 'M':	/* merge */
		return blklat_capture_merge(s, rq);
	case 'D':	/* issue */
		return blklat_capture_issue(s, rq);
	case 'R':	/* requeue */
		return blklat_capture_requeue(s, rq);
	case 'C':	/* complete all that remains */
		return fake_complete(s, rq, 0, rq->__data_len);
	case 'E':	/* the same with an error */
		return fake_complete(s, rq, FAKE_ERROR, rq->__data_len);
	case 'p':	/* complete half of what remains */
		return fake_complete(s, rq, 0, rq->__data_len / 2);
	case 'e':
		return fake_complete(s, rq, FAKE_ERROR, rq->__data_len / 2);
	case 'z':	/* no bytes: a step of a flush sequence */
		return fake_complete(s, rq, 0, 0);
	case 'x':
		return fake_complete(s, rq, FAKE_ERROR, 0);
	case 'n':	/* from here on it is the next request with this tag */
		rq->__data_len = rq->bio->bi_iter.bi_size;
		return;
	case 'u':	/* the same, and it is never issued */
		rq->deadline = 0;
		rq->__data_len = rq->bio->bi_iter.bi_size;
		return;
	case 'g':	/* the device is removed */
		blklat_target_gone(blklat_target_of(s, rq->q));
		return;
	}
	WARN_ON(1);
}

static inline void fake_events(struct blklat_session *s, struct request *rq, const char *names)
{
	for (; *names; names++) {
		preempt_disable();
		fake_event(s, rq, *names);
		preempt_enable();
	}
}

/* --- reading the region -------------------------------------------------------------------- */

static inline u32 fake_cells(u32 scale)
{
	return 33 * (1U << scale) + 2;
}

/* From one series to the next, in u64: rounded up to whole cache lines. */
static inline u32 fake_series_words(u32 scale)
{
	return (AT_BINS + fake_cells(scale) + 7) / 8 * 8;
}

/* @row: 0 is the series that CPUs share, cpu + 1 the one that fake_give() gives. */
static inline u64 *fake_series(const struct blklat_session *s, u32 row, u32 watch, u32 op)
{
	u64 *first = (void *)s->header + s->header->series_offset;

	return first + ((size_t)(row * s->watches + watch) * BLKLAT_OPS + op) * fake_series_words(s->scale);
}

/* One cell, summed over all series of a watch and op: a test does not choose the CPU that counts. */
static inline u64 fake_sum(const struct blklat_session *s, u32 watch, u32 op, u32 at)
{
	u32 row, rows = s->n_series / (s->watches * BLKLAT_OPS);
	u64 sum = 0;

	for (row = 0; row < rows; row++)
		sum += fake_series(s, row, watch, op)[at];
	return sum;
}

static inline u64 fake_ios(const struct blklat_session *s, u32 watch, u32 op)
{
	u64 sum = 0;
	u32 cell;

	for (cell = 0; cell < fake_cells(s->scale); cell++)
		sum += fake_sum(s, watch, op, AT_BINS + cell);
	return sum;
}

static inline u64 fake_account(const struct blklat_session *s, u32 watch, u32 cell)
{
	u64 *first = (void *)s->header + s->header->accounts_offset, sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < s->cpus; cpu++)
		sum += first[(cpu * s->wholes + watch / (1 + s->parts)) * BLKLAT_ACCOUNTS + cell];
	return sum;
}

/* An idle series: its sum, then its bins. */
static inline u64 *fake_idle(const struct blklat_session *s, u32 watch, u32 op)
{
	u32 words = 1 + fake_cells(s->scale < 3 ? s->scale : 3);
	u64 *first = (void *)s->header + s->header->idle_offset;

	return first + (watch * BLKLAT_OPS + op) * words;
}

static inline u32 *fake_slots(const struct blklat_session *s, u32 number)
{
	return (void *)s->header + s->header->slots_offset + number / 32 * WORDS_OF_32_SLOTS * sizeof(u32);
}

/* The time of a slot. */
static inline u64 *fake_slot(const struct blklat_session *s, u32 number)
{
	return (u64 *)fake_slots(s, number) + number % 32;
}

/*
 * What began in a slot began @ns earlier. If the machine has not been up for so long, the time wraps, and back at the
 * end.
 */
static inline void fake_age(const struct blklat_session *s, u32 number, u64 ns)
{
	u64 *at = fake_slot(s, number), marks = *at & 7ULL << 61;

	*at = ((*at - ns) & ~(7ULL << 61)) | marks;
}

/* @at: AT_STARTED or AT_ENDED. */
static inline u32 fake_slot_count(const struct blklat_session *s, u32 number, u32 at)
{
	return fake_slots(s, number)[at + number % 32];
}

/* All that a watch counts except times. Fields that an initializer does not name are 0. */
struct fake_totals {
	u32 ios[BLKLAT_OPS], bytes[BLKLAT_OPS], errors[BLKLAT_OPS];
	u32 accounts[BLKLAT_BUSY];
	/* slots; at stage queue, where they count nothing, what follows from the rest */
	u32 started, ended, occupied;
};

static inline struct fake_totals fake_totals_of(const struct blklat_session *s, const struct blklat_watch *w,
						u32 watch)
{
	struct fake_totals t = { .started = 0 };
	bool queue = w->stage == BLKLAT_STAGE_QUEUE;
	u32 i;

	for (i = 0; i < BLKLAT_OPS; i++) {
		t.ios[i] = fake_ios(s, watch, i);
		t.bytes[i] = fake_sum(s, watch, i, AT_BYTES);
		t.errors[i] = fake_sum(s, watch, i, AT_ERRORS);
	}
	for (i = 0; i < BLKLAT_BUSY; i++)
		t.accounts[i] = fake_account(s, watch, i);
	for (i = w->first_slot; i < w->first_slot + w->queues * w->stride; i++) {
		u64 ns = *fake_slot(s, i);

		t.started += queue ? 0 : fake_slot_count(s, i, AT_STARTED);
		t.ended += queue ? 0 : fake_slot_count(s, i, AT_ENDED);
		t.occupied += ns > 1 && (ns >> 61 & 1) == queue;
	}
	if (!queue)
		return t;
	swap(t.started, t.accounts[BLKLAT_STARTED]);
	t.ended = t.accounts[BLKLAT_REQUEUED];
	for (i = 0; i < BLKLAT_OPS; i++)
		t.ended += t.ios[i];
	return t;
}

/* Expects a watch of session @i to have counted exactly @wanted. */
static inline void fake_expect(struct kunit *test, u32 i, u32 watch, const char *what,
			       const struct fake_totals *wanted)
{
	static const char *const names[] = {
		"read ios", "write ios", "flush ios", "discard ios", "other ios",
		"read bytes", "write bytes", "flush bytes", "discard bytes", "other bytes",
		"read errors", "write errors", "flush errors", "discard errors", "other errors",
		"requeued", "no start", "overwritten", "tag range", "table full", "before", "unissued",
		"empty flush", "started", "slots' starts", "slots' ends", "slots in use",
	};
	struct fake *f = test->priv;
	struct fake_totals got = fake_totals_of(f->s[i], &f->watch[i][watch], watch);
	u32 k;

	BUILD_BUG_ON(ARRAY_SIZE(names) * sizeof(u32) != sizeof(got));
	for (k = 0; k < ARRAY_SIZE(names); k++)
		EXPECT_U64_MSG(test, ((u32 *)&got)[k], ((const u32 *)wanted)[k], "%s: %s of session %u, watch %u",
			       what, names[k], i, watch);
}

static inline void fake_bio_queue(struct blklat_session *s, struct bio *bio)
{
	preempt_disable();
	blklat_capture_bio_queue(s, bio);
	preempt_enable();
}

/* A bio's size is what remains, so it is 0 at the end. The error is in the bio. */
static inline void fake_bio_end(struct blklat_session *s, struct bio *bio, blk_status_t status)
{
	bio->bi_iter.bi_size = 0;
	bio->bi_status = status;
	preempt_disable();
	blklat_capture_bio_complete(s, bio);
	preempt_enable();
}

static inline u64 fake_bios_in_flight(struct kunit *test, const struct blklat_session *s, u32 watch)
{
	struct blklat_bio_count *counts = fake_alloc(test, s->watches * sizeof(*counts));

	blklat_bio_count(s->bios, counts, s->watches);
	return counts[watch].in_flight;
}

#endif
