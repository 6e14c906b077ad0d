// SPDX-License-Identifier: GPL-2.0-only
/*
 * The company of slow IOs: how many were in flight when one began, and the strongest of the others. All
 * IOs are slow here. A request's sector, and a bio's, is its place in the order of their starts.
 */

#include "kunit_slow.h"
#include "parts.h"

/* IOs in the order of their starts, and the kind beside each if none has ended. Each is at depth i + 1. */
static const struct {
	u32 flags, bytes, beside;
} starts[] = {
	{ REQ_OP_READ, 4096, BLKLAT_BESIDE_NOTHING }, { REQ_OP_READ, 4096, BLKLAT_KIND_READ },
	{ REQ_OP_WRITE, 4096, BLKLAT_KIND_READ }, { REQ_OP_WRITE, 1 << 20, BLKLAT_KIND_WRITE },
	{ REQ_OP_READ, 4096, BLKLAT_KIND_LARGE_WRITE }, { REQ_OP_WRITE_ZEROES, 4096, BLKLAT_KIND_LARGE_WRITE },
	{ REQ_OP_DISCARD, 4096, BLKLAT_KIND_OTHER }, { REQ_OP_WRITE, 4096, BLKLAT_KIND_DISCARD },
	{ REQ_OP_READ, 4096, BLKLAT_KIND_DISCARD },
};

enum { STARTS = ARRAY_SIZE(starts) };

/* The kind beside each if they start in the reverse order. */
static const u32 later[STARTS] = {
	BLKLAT_KIND_DISCARD, BLKLAT_KIND_DISCARD, BLKLAT_KIND_DISCARD, BLKLAT_KIND_DISCARD,   BLKLAT_KIND_DISCARD,
	BLKLAT_KIND_DISCARD, BLKLAT_KIND_WRITE,	  BLKLAT_KIND_READ,    BLKLAT_BESIDE_NOTHING,
};

static struct blklat_session *session_by(struct kunit *test, u32 by, u32 notes, u32 n)
{
	struct fake *f = test->priv;
	struct blklat_session *s;

	f->by = by;
	s = slow_session(test, 64, notes, 0, n);
	all_slow(s);
	return s;
}

static void expect_company(struct kunit *test, const struct blklat_session *s, u32 by, u32 depth, u32 beside,
			   u32 sector)
{
	const u32 part = by == BLKLAT_BY_DEPTH ? blklat_depth_part(depth) : beside;
	struct blklat_slow io;

	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64_MSG(test, io.sector, sector, "depth %u", depth);
	EXPECT_U64_MSG(test, io.depth, depth, "start %u, by %u", sector, by);
	EXPECT_U64_MSG(test, io.beside, beside, "start %u, by %u", sector, by);
	EXPECT_U64_MSG(test, io.watch % (1 + s->parts), part, "start %u, by %u", sector, by);
}

/* In both stages, and whichever of the two divides the watch. */
static void blklat_company_test_requests(struct kunit *test)
{
	struct fake *f = test->priv;
	struct request *rq[STARTS];
	u32 by, i;

	for (by = BLKLAT_BY_DEPTH; by <= BLKLAT_BY_BESIDE; by++) {
		struct blklat_session *s = session_by(test, by, 0, 2);

		for (i = 0; i < STARTS; i++) {
			rq[i] = fake_request(test, f->disk[0], false, starts[i].flags, starts[i].bytes);
			rq[i]->tag = i;
			rq[i]->__sector = i;
			fake_events(s, rq[i], "I");
		}
		for (i = STARTS; i--;) {
			fake_events(s, rq[i], "D");
			expect_company(test, s, by, i + 1, starts[i].beside, i);
		}
		/* They have begun stage device the other way round. */
		for (i = 0; i < STARTS; i++) {
			fake_events(s, rq[i], "C");
			expect_company(test, s, by, STARTS - i, later[i], i);
		}
		/* Those that have ended are no company. */
		fake_events(s, rq[0], "DC");
		expect_company(test, s, by, 1, BLKLAT_BESIDE_NOTHING, 0);
	}
}

static void queue_all(struct kunit *test, struct blklat_session *s, struct bio **bio)
{
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < STARTS; i++) {
		bio[i] = fake_bio(test, f->disk[0], false, starts[i].flags, starts[i].bytes);
		bio[i]->bi_iter.bi_sector = i;
		fake_bio_queue(s, bio[i]);
		note_bio(s, bio[i]);
	}
}

static bool share_place(const struct blklat_session *s, const struct bio *a, const struct bio *b)
{
	u32 shift = s->slow->note_shift;

	return blklat_note_place((uintptr_t)a, shift) == blklat_note_place((uintptr_t)b, shift);
}

/* Whether what is kept of bio[@i] has been replaced by what is kept of a later one. */
static bool displaced(const struct blklat_session *s, struct bio **bio, u32 i)
{
	u32 k;

	for (k = i + 1; k < STARTS; k++)
		if (share_place(s, bio[k], bio[i]))
			return true;
	return false;
}

/* With places for all, and with two: the company of a bio is its own, or not known. */
static void blklat_company_test_bios(struct kunit *test)
{
	static const u32 notes[] = { NOTES, 2 };
	struct bio *bio[STARTS];
	struct blklat_slow io;
	u32 by, i, n;

	for (n = 0; n < 2 * ARRAY_SIZE(notes); n++) {
		struct blklat_session *s =
			session_by(test, by = n % 2 ? BLKLAT_BY_DEPTH : BLKLAT_BY_BESIDE, notes[n / 2], 3);

		queue_all(test, s, bio);
		for (i = 0; i < STARTS; i++) {
			fake_bio_end(s, bio[i], BLK_STS_OK);
			if (!displaced(s, bio, i)) {
				expect_company(test, s, by, i + 1, starts[i].beside, i);
				continue;
			}
			KUNIT_ASSERT_TRUE(test, take(s, &io));
			EXPECT_U64(test, io.depth, 0);
			EXPECT_U64(test, io.beside, 0);
		}
	}
}

/* A bio held back by a limit keeps the company in which it began. */
static void blklat_company_test_held(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session_by(test, BLKLAT_BY_BESIDE, NOTES, 3);
	struct bio *held = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4096), *flush;
	struct blklat_slow io;
	bool kept;

	flush = fake_bio(test, f->disk[0], false, REQ_OP_WRITE | REQ_PREFLUSH, 0);
	kept = !share_place(s, held, flush);
	blklat_capture_bio_hold(s, held);
	fake_bio_queue(s, flush);
	fake_bio_queue(s, held);
	fake_bio_end(s, held, BLK_STS_OK);
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.depth, kept ? 1 : 0);
	EXPECT_U64(test, io.beside, kept ? BLKLAT_BESIDE_NOTHING : 0);
}

/* It is kept only where IOs in flight are counted anyway, and slow IOs are reported. */
static void blklat_company_test_not_kept(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s;
	struct blklat_slow io;
	u32 by;

	for (by = 0; by < BLKLAT_BYS; by++) {
		bool counted = by == BLKLAT_BY_DEPTH || by == BLKLAT_BY_BESIDE;

		s = session_by(test, by, NOTES, 3);
		EXPECT_U64(test, !!s->company, counted);
		EXPECT_U64(test, !!s->slow->bio_company, counted);
		fake_events(s, slow_request(test, READ_IO), "DC");
		KUNIT_ASSERT_TRUE(test, take(s, &io));
		EXPECT_U64_MSG(test, io.depth, counted, "by %u", by);
		EXPECT_U64_MSG(test, io.beside, counted ? BLKLAT_BESIDE_NOTHING : 0, "by %u", by);
	}
	f->by = BLKLAT_BY_DEPTH;
	s = slow_session(test, 0, 0, 0, 3);
	KUNIT_EXPECT_TRUE(test, s->in_flight && !s->company && !s->keeps_company);
}

static struct kunit_case blklat_company_test_cases[] = {
	KUNIT_CASE(blklat_company_test_requests),
	KUNIT_CASE(blklat_company_test_bios),
	KUNIT_CASE(blklat_company_test_held),
	KUNIT_CASE(blklat_company_test_not_kept),
	{}
};

static struct kunit_suite blklat_company_test_suite = {
	.name = "blklat_company",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_company_test_cases,
};
kunit_test_suite(blklat_company_test_suite);
