/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the suites of slow IOs: sessions that report them, the IOs, and the reader of the ring. The
 * region is read as abi.h and slow.h describe it in words.
 */
#ifndef KMOD_KUNIT_SLOW_H
#define KMOD_KUNIT_SLOW_H

#include <linux/string.h>

#include "kunit_session.h"
#include "slow.h"

enum { READ_IO = BLKLAT_OP_READ, WRITE_IO = BLKLAT_OP_WRITE, BYTES = 8192, SECTOR = 123456 };
enum { DEVICE_WATCH, QUEUE_WATCH, TOTAL_WATCH, PLACES = 4, NOTES = 256 };
enum { RING_BEGIN = 128, PLACE = 248, AT_NEXT = 240 };

static const struct fake_watch slow_stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };

static inline struct blklat_session *slow_session(struct kunit *test, u32 places, u32 notes, u32 owners, u32 n)
{
	struct fake *f = test->priv;

	f->slow_places = places;
	f->notes = notes;
	f->owners = owners;
	return fake_session(test, 0, 6, FAKE_MAX_BIOS, slow_stages, n);
}

/* --- the reader ---------------------------------------------------------------------------- */

static inline void *ring_of(const struct blklat_session *s)
{
	return (void *)s->header + s->header->slow_ring_offset;
}

static inline u32 *taken_of(const struct blklat_session *s)
{
	return ring_of(s);
}

static inline u64 untold_of(const struct blklat_session *s, u32 watch)
{
	return ((u64 *)((void *)s->header + s->header->slow_untold_offset))[watch];
}

static inline void set_limit(const struct blklat_session *s, u32 watch, u32 op, u64 ns)
{
	((u64 *)((void *)s->header + s->header->slow_from_offset))[watch * BLKLAT_OPS + op] = ns;
}

static inline void all_slow(const struct blklat_session *s)
{
	u32 watch, op;

	for (watch = 0; watch < s->watches; watch += 1 + s->parts)
		for (op = 0; op < BLKLAT_OPS; op++)
			set_limit(s, watch, op, 0);
}

/* Takes the next report; false: there is none. */
static inline bool take(const struct blklat_session *s, struct blklat_slow *ret)
{
	u32 number = *taken_of(s);
	void *place = ring_of(s) + RING_BEGIN + number % s->slow->places * PLACE;

	if (smp_load_acquire((u32 *)(place + AT_NEXT)) != number + 1)
		return false;
	memcpy(ret, place, sizeof(*ret));
	smp_store_release(taken_of(s), number + 1);
	return true;
}

static inline u32 n_told(const struct blklat_session *s)
{
	struct blklat_slow io;
	u32 n = 0;

	while (take(s, &io))
		n++;
	return n;
}

static inline void expect_untold(struct kunit *test, const struct blklat_session *s, u32 d, u32 q, u32 t)
{
	EXPECT_U64(test, untold_of(s, DEVICE_WATCH), d);
	EXPECT_U64(test, untold_of(s, QUEUE_WATCH), q);
	EXPECT_U64(test, untold_of(s, TOTAL_WATCH), t);
}

/* --- requests and bios --------------------------------------------------------------------- */

static inline struct request *slow_request(struct kunit *test, u32 flags)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, flags, BYTES);

	rq->__sector = SECTOR;
	rq->bio->bi_iter.bi_sector = SECTOR;
	return rq;
}

static inline void note_bio(struct blklat_session *s, struct bio *bio)
{
	preempt_disable();
	blklat_note_bio(s, bio);
	preempt_enable();
}

#endif
