// SPDX-License-Identifier: GPL-2.0-only
/* What becomes of bios at stage total: those that end by themselves, and those that end with a request. */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/ktime.h>

#include "bios.h"
#include "blklat/bins.h"
#include "kunit_session.h"

enum { BYTES = 4096, CHAIN = 3, READ_IO = BLKLAT_OP_READ, WRITE_IO = BLKLAT_OP_WRITE };

static const struct fake_watch total = { BLKLAT_STAGE_TOTAL };
static const struct fake_watch stacked = { BLKLAT_STAGE_TOTAL, .no_requests = true };
static const struct fake_totals nothing;
static const struct fake_totals on_its_way = { .accounts[BLKLAT_STARTED] = 1 };
static const struct fake_totals one_io = {
	.ios[READ_IO] = 1, .bytes[READ_IO] = BYTES, .accounts[BLKLAT_STARTED] = 1,
};

static void end(struct blklat_session *s, struct bio *bio, bool error)
{
	fake_bio_end(s, bio, error ? BLK_STS_IOERR : BLK_STS_OK);
}

static void end_request(struct blklat_session *s, struct request *rq, int error, u32 bytes)
{
	preempt_disable();
	blklat_capture_complete(s, rq, error, bytes);
	preempt_enable();
}

/* Op and bytes are those with which the bio was queued. */
static void blklat_capture_bios_test_ops(struct kunit *test)
{
	static const struct {
		u32 flags, bytes, op;
	} cases[] = {
		{ REQ_OP_READ, 512, READ_IO },
		{ REQ_OP_READ | REQ_RAHEAD, 512, READ_IO },
		{ REQ_OP_WRITE, 1 << 20, WRITE_IO },
		{ REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA, BYTES, WRITE_IO },
		{ REQ_OP_WRITE | REQ_PREFLUSH, 0, BLKLAT_OP_FLUSH },
		{ REQ_OP_WRITE, 0, WRITE_IO },
		{ REQ_OP_FLUSH, 0, BLKLAT_OP_FLUSH },
		{ REQ_OP_DISCARD, 1 << 30, BLKLAT_OP_DISCARD },
		{ REQ_OP_SECURE_ERASE, 512, BLKLAT_OP_OTHER },
		{ REQ_OP_WRITE_ZEROES, 512, BLKLAT_OP_OTHER },
		{ REQ_OP_ZONE_APPEND, 512, WRITE_IO },
		{ REQ_OP_ZONE_RESET, 0, BLKLAT_OP_OTHER },
	};
	struct fake *f = test->priv;
	u32 i, error;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (error = 0; error < 2; error++) {
			struct blklat_session *s = fake_session(test, 0, i % 7, FAKE_MAX_BIOS, &total, 1);
			struct bio *bio = fake_bio(test, f->disk[0], false, cases[i].flags, cases[i].bytes);
			struct fake_totals wanted = { .accounts[BLKLAT_STARTED] = 1 };

			fake_bio_queue(s, bio);
			fake_expect(test, 0, 0, "queued", &on_its_way);
			EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 1);
			bio->bi_opf = REQ_OP_DISCARD;
			end(s, bio, error);
			wanted.ios[cases[i].op] = 1;
			wanted.bytes[cases[i].op] = cases[i].bytes;
			wanted.errors[cases[i].op] = error;
			fake_expect(test, 0, 0, "ended", &wanted);
			EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
		}
}

static void blklat_capture_bios_test_latency(struct kunit *test)
{
	static const u32 waits_us[] = { 0, 1, 50, 2000 };
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(waits_us); i++) {
		struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, &total, 1);
		struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);
		u64 began = ktime_get_mono_fast_ns(), least, ns;

		fake_bio_queue(s, bio);
		least = ktime_get_mono_fast_ns();
		udelay(waits_us[i]);
		least = ktime_get_mono_fast_ns() - least;
		end(s, bio, false);
		ns = fake_sum(s, 0, READ_IO, AT_SUM);
		KUNIT_EXPECT_TRUE_MSG(test, least <= ns && ns <= ktime_get_mono_fast_ns() - began,
				      "%llu ns, at least %llu", ns, least);
		EXPECT_U64(test, fake_sum(s, 0, READ_IO, AT_BINS + blklat_cell(ns, 6)), 1);
		EXPECT_U64(test, fake_sum(s, 0, READ_IO, AT_MAX), ns);
		EXPECT_U64(test, ~fake_sum(s, 0, READ_IO, AT_NOT_MIN), ns);
	}
}

/*
 * Split off, queued before the capture began, ended twice, or of another disk: neither a loss nor an
 * IO.
 */
static void blklat_capture_bios_test_unknown(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);
	struct bio *others = fake_bio(test, f->disk[1], false, REQ_OP_READ, BYTES);

	end(s, fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES), true);
	fake_bio_queue(s, others);
	EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
	end(s, others, false);
	fake_expect(test, 0, 0, "unknown", &nothing);
	fake_bio_queue(s, bio);
	end(s, bio, false);
	end(s, bio, false);
	fake_expect(test, 0, 0, "known", &one_io);
}

static void blklat_capture_bios_test_overwritten(struct kunit *test)
{
	static const struct fake_totals wanted = {
		.ios[WRITE_IO] = 1, .bytes[WRITE_IO] = 512,
		.accounts = { [BLKLAT_STARTED] = 2, [BLKLAT_OVERWRITTEN] = 1 },
	};
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);

	fake_bio_queue(s, bio);
	bio->bi_opf = REQ_OP_WRITE;
	bio->bi_iter.bi_size = 512;
	fake_bio_queue(s, bio);
	EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 1);
	end(s, bio, false);
	fake_expect(test, 0, 0, "overwritten", &wanted);
}

/*
 * A bio that must not wait but would have had to: its start is taken back, whichever event ends it. No
 * error, no bytes.
 */
static void blklat_capture_bios_test_would_block(struct kunit *test)
{
	static const struct fake_totals taken_back = {
		.accounts = { [BLKLAT_STARTED] = 1, [BLKLAT_REQUEUED] = 1 },
	};
	static const struct fake_totals tried_again = {
		.ios[READ_IO] = 1, .bytes[READ_IO] = BYTES,
		.accounts = { [BLKLAT_STARTED] = 2, [BLKLAT_REQUEUED] = 1 },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
		struct request *rq = fake_request(test, f->disk[0], false, REQ_OP_READ | REQ_NOWAIT, BYTES);
		struct bio *bio = rq->bio;

		fake_bio_queue(s, bio);
		if (i)
			end_request(s, rq, BLKLAT_RQ_AGAIN, BYTES);
		else
			fake_bio_end(s, bio, BLK_STS_AGAIN);
		fake_expect(test, 0, 0, i ? "with its request" : "by itself", &taken_back);
		EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
		bio->bi_iter.bi_size = BYTES;
		fake_bio_queue(s, bio);
		end(s, bio, false);
		fake_expect(test, 0, 0, "tried again", &tried_again);
	}
}

/* More bios than the table has room for: those without room are accounted, and their ends do nothing. */
static void blklat_capture_bios_test_table_full(struct kunit *test)
{
	enum { N = 100 };
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, 8, &total, 1);
	struct fake_totals wanted = { .started = 0 };
	struct bio *bio[N];
	u32 i, room;

	for (i = 0; i < N; i++) {
		bio[i] = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);
		fake_bio_queue(s, bio[i]);
	}
	room = fake_bios_in_flight(test, s, 0);
	KUNIT_EXPECT_TRUE_MSG(test, room >= 8 && room < N, "room for %u", room);
	wanted.accounts[BLKLAT_STARTED] = room;
	wanted.accounts[BLKLAT_TABLE_FULL] = N - room;
	fake_expect(test, 0, 0, "full", &wanted);
	for (i = 0; i < N; i++)
		end(s, bio[i], false);
	wanted.ios[READ_IO] = room;
	wanted.bytes[READ_IO] = room * BYTES;
	fake_expect(test, 0, 0, "emptied", &wanted);
}

static void blklat_capture_bios_test_gone(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
	struct bio *before = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);
	struct bio *after = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);

	fake_bio_queue(s, before);
	blklat_target_gone(blklat_target_of(s, &f->disk[0]->disk));
	fake_bio_queue(s, after);
	end(s, after, false);
	fake_expect(test, 0, 0, "gone", &on_its_way);
	end(s, before, false);
	fake_expect(test, 0, 0, "gone, then ended", &one_io);
}

#if BLKLAT_BIO_HAS_BDEV
static void blklat_capture_bios_test_partition(struct kunit *test)
{
	static const struct fake_watch w[] = {
		{ BLKLAT_STAGE_TOTAL, .partition = true }, { BLKLAT_STAGE_TOTAL },
	};
	struct fake *f = test->priv;
	u32 n, partition;

	for (n = 1; n <= 2; n++)
		for (partition = 0; partition < 2; partition++) {
			struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, w, n);
			struct bio *bio = fake_bio(test, f->disk[0], partition, REQ_OP_READ, BYTES);

			fake_bio_queue(s, bio);
			fake_expect(test, 0, 0, "queued, partition", partition ? &on_its_way : &nothing);
			EXPECT_U64(test, fake_bios_in_flight(test, s, 0), partition);
			if (n == 2)
				EXPECT_U64(test, fake_bios_in_flight(test, s, 1), 1);
			end(s, bio, false);
			fake_expect(test, 0, 0, "partition", partition ? &one_io : &nothing);
			if (n == 2)
				fake_expect(test, 0, 1, "its disk", &one_io);
		}
}
#endif

/* --- with a request ------------------------------------------------------------------------ */

/* A request of CHAIN queued bios of BYTES each. */
static struct request *queued_chain(struct kunit *test, struct blklat_session *s, struct fake_disk *of)
{
	struct request *rq = fake_request(test, of, false, REQ_OP_READ, CHAIN * BYTES);
	struct bio **next = &rq->bio;
	u32 i;

	for (i = 0; i < CHAIN; i++) {
		*next = fake_bio(test, of, false, REQ_OP_READ, BYTES);
		fake_bio_queue(s, *next);
		next = &(*next)->bi_next;
	}
	return rq;
}

static void expect_chain(struct kunit *test, u32 i, const char *what, u32 ended, u32 errors)
{
	struct fake *f = test->priv;
	struct fake_totals wanted = { .accounts[BLKLAT_STARTED] = CHAIN };

	wanted.ios[READ_IO] = ended;
	wanted.bytes[READ_IO] = ended * BYTES;
	wanted.errors[READ_IO] = errors;
	fake_expect(test, i, 0, what, &wanted);
	EXPECT_U64_MSG(test, fake_bios_in_flight(test, f->s[i], 0), CHAIN - ended, "%s", what);
}

/* Only bios that lie completely within the completed bytes end. */
static void blklat_capture_bios_test_with_request(struct kunit *test)
{
	static const struct {
		u32 bytes, ended;
	} cases[] = {
		{ 0, 0 }, { 1, 0 }, { BYTES - 1, 0 }, { BYTES, 1 }, { BYTES + 1, 1 }, { 2 * BYTES - 1, 1 },
		{ 2 * BYTES, 2 }, { CHAIN * BYTES - 1, 2 }, { CHAIN * BYTES, 3 }, { U32_MAX, 3 },
	};
	struct fake *f = test->priv;
	char what[32];
	u32 i, error;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (error = 0; error < 2; error++) {
			struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
			struct request *rq = queued_chain(test, s, f->disk[0]);

			end_request(s, rq, error ? FAKE_ERROR : 0, cases[i].bytes);
			snprintf(what, sizeof(what), "%u bytes", cases[i].bytes);
			expect_chain(test, 0, what, cases[i].ended, error ? cases[i].ended : 0);
		}
}

/* In two steps. After the first, the block layer has advanced into the middle of the second bio. */
static void blklat_capture_bios_test_part_of_request(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
	struct request *rq = queued_chain(test, s, f->disk[0]);

	end_request(s, rq, 0, BYTES + 1024);
	expect_chain(test, 0, "first part", 1, 0);
	rq->bio = rq->bio->bi_next;
	rq->bio->bi_iter.bi_size -= 1024;
	rq->__data_len -= BYTES + 1024;
	end_request(s, rq, 0, rq->__data_len);
	expect_chain(test, 0, "all", CHAIN, 0);
}

/*
 * In a flush sequence, the end of the data does not end the bio. The last step has no bytes and no
 * flush flag.
 */
static void blklat_capture_bios_test_flush_sequence(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &total, 1);
	struct request *rq = fake_request(test, f->disk[0], false, REQ_OP_READ | REQ_FUA, BYTES);

	fake_bio_queue(s, rq->bio);
	rq->rq_flags = RQF_FLUSH_SEQ;
	end_request(s, rq, 0, BYTES);
	fake_expect(test, 0, 0, "data", &on_its_way);
	rq->rq_flags = (__force req_flags_t)0;
	rq->bio->bi_iter.bi_size = 0;
	rq->__data_len = 0;
	end_request(s, rq, 0, 0);
	fake_expect(test, 0, 0, "last step", &one_io);
}

/* A request of another disk ends a bio only if a watched device may have passed it on. */
static void blklat_capture_bios_test_handed_on(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, i ? &stacked : &total, 1);
		struct request *rq = queued_chain(test, s, f->disk[0]);

		rq->q = (void *)&f->disk[1]->queue;
		rq->part = (void *)f->disk[1]->bdev[0];
		end_request(s, rq, 0, CHAIN * BYTES);
		expect_chain(test, 0, i ? "handed on" : "another disk's", i ? CHAIN : 0, 0);
	}
}

/* --- split --------------------------------------------------------------------------------- */

enum { PIECES = 3 };

static const struct fake_totals one_failed = {
	.ios[READ_IO] = 1, .bytes[READ_IO] = BYTES, .errors[READ_IO] = 1, .accounts[BLKLAT_STARTED] = 1,
};

/* Requests of a bio that was split: the last one has what remained of it. The second piece was split off the first. */
static void split(struct kunit *test, struct blklat_session *s, struct request *ret[PIECES])
{
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < PIECES; i++)
		ret[i] = fake_request(test, f->disk[0], false, REQ_OP_READ, BYTES);
	fake_bio_queue(s, ret[PIECES - 1]->bio);
	ret[0]->bio->bi_private = ret[PIECES - 1]->bio;
	ret[1]->bio->bi_private = ret[0]->bio;
	preempt_disable();
	blklat_capture_bio_split(s, ret[0]->bio);
	blklat_capture_bio_split(s, ret[1]->bio);
	blklat_capture_bio_split(s, ret[1]->bio);	/* as block_bio_remap may tell of it again */
	preempt_enable();
}

/* It ends with the last of its pieces, in whatever order they end, and fails if any of them does. */
static void blklat_capture_bios_test_split(struct kunit *test)
{
	static const u32 orders[][PIECES] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	u32 i, k, failing;

	for (i = 0; i < ARRAY_SIZE(orders); i++)
		for (failing = 0; failing <= PIECES; failing++) {
			struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, &total, 1);
			struct fake_totals wanted = one_io;
			struct request *rq[PIECES];

			split(test, s, rq);
			for (k = 0; k < PIECES; k++) {
				EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 1);
				fake_expect(test, 0, 0, "on its way", &on_its_way);
				end_request(s, rq[orders[i][k]], orders[i][k] == failing ? FAKE_ERROR : 0, BYTES);
			}
			EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
			wanted.errors[READ_IO] = failing < PIECES;
			fake_expect(test, 0, 0, "ended", &wanted);
		}
}

/* Where a bio ends by itself, its pieces have ended before. One whose end was missed is not waited for. */
static void blklat_capture_bios_test_split_alone(struct kunit *test)
{
	u32 missed;

	for (missed = 0; missed < 2; missed++) {
		struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, &total, 1);
		struct request *rq[PIECES];

		split(test, s, rq);
		fake_bio_end(s, rq[0]->bio, BLK_STS_OK);
		if (!missed)
			fake_bio_end(s, rq[1]->bio, BLK_STS_IOERR);
		fake_expect(test, 0, 0, "on its way", &on_its_way);
		fake_bio_end(s, rq[2]->bio, BLK_STS_OK);
		EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
		/* The piece's end comes late. It is nobody's. */
		end_request(s, rq[1], 0, BYTES);
		fake_expect(test, 0, 0, "ended", missed ? &one_io : &one_failed);
	}
}

/* Both stages of a disk, and two sessions: each counts for itself. */
static void blklat_capture_bios_test_with_other_stages(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_TOTAL }, { BLKLAT_STAGE_DEVICE } };
	static const struct fake_totals request = {
		.ios[READ_IO] = 1, .bytes[READ_IO] = CHAIN * BYTES, .started = 1, .ended = 1,
	};
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, w, 2);
	struct request *rq = queued_chain(test, s, f->disk[0]), *other;

	other = queued_chain(test, fake_session(test, 1, 3, FAKE_MAX_BIOS, &total, 1), f->disk[0]);
	fake_events(s, rq, "D");
	end_request(s, rq, 0, CHAIN * BYTES);
	expect_chain(test, 0, "both stages", CHAIN, 0);
	fake_expect(test, 0, 1, "both stages", &request);
	expect_chain(test, 1, "another session", 0, 0);
	end_request(s, other, 0, CHAIN * BYTES);
	expect_chain(test, 1, "another session", 0, 0);
	end_request(f->s[1], other, 0, CHAIN * BYTES);
	expect_chain(test, 1, "the other session", CHAIN, 0);
}

static struct kunit_case blklat_capture_bios_test_cases[] = {
	KUNIT_CASE(blklat_capture_bios_test_ops),
	KUNIT_CASE(blklat_capture_bios_test_latency),
	KUNIT_CASE(blklat_capture_bios_test_unknown),
	KUNIT_CASE(blklat_capture_bios_test_overwritten),
	KUNIT_CASE(blklat_capture_bios_test_would_block),
	KUNIT_CASE(blklat_capture_bios_test_table_full),
	KUNIT_CASE(blklat_capture_bios_test_gone),
#if BLKLAT_BIO_HAS_BDEV
	KUNIT_CASE(blklat_capture_bios_test_partition),
#endif
	KUNIT_CASE(blklat_capture_bios_test_with_request),
	KUNIT_CASE(blklat_capture_bios_test_part_of_request),
	KUNIT_CASE(blklat_capture_bios_test_flush_sequence),
	KUNIT_CASE(blklat_capture_bios_test_handed_on),
	KUNIT_CASE(blklat_capture_bios_test_split),
	KUNIT_CASE(blklat_capture_bios_test_split_alone),
	KUNIT_CASE(blklat_capture_bios_test_with_other_stages),
	{}
};

static struct kunit_suite blklat_capture_bios_test_suite = {
	.name = "blklat_capture_bios",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_capture_bios_test_cases,
};
kunit_test_suite(blklat_capture_bios_test_suite);
