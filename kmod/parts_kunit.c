// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts: in which one an IO is counted, whatever becomes of its bytes on the way. Watch n is row 10 n,
 * followed by the nine rows of its parts. The sums are compared with a session that is not divided.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/processor.h>

#include "bios.h"
#include "kunit_session.h"
#include "parts.h"
#include "pauses.h"

enum { PARTS = 9, ROWS = 1 + PARTS, KIB = 1024, READ_IO = BLKLAT_OP_READ, WRITE_IO = BLKLAT_OP_WRITE };
enum { DEVICE_ROW, QUEUE_ROW = ROWS, TOTAL_ROW = 2 * ROWS };

/* Long compared with any delay of a test. */
#define GAP_NS 1000000000000ULL
#define MARK (1ULL << 63)

static const struct fake_watch stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };

static struct blklat_session *session(struct kunit *test, u32 i, u32 by, u32 n)
{
	struct fake *f = test->priv;

	f->by = by;
	return fake_session(test, i, 6, FAKE_MAX_BIOS, stages, n);
}

/* Expects this many IOs and bytes in one part of a watch; other parts may have more. */
static void expect_part(struct kunit *test, const char *what, u32 whole, u32 part, u32 op, u64 ios, u64 bytes)
{
	struct fake *f = test->priv;

	EXPECT_U64_MSG(test, fake_ios(f->s[0], whole + part, op), ios, "%s: IOs of row %u, part %u", what, whole, part);
	EXPECT_U64_MSG(test, fake_sum(f->s[0], whole + part, op, AT_BYTES), bytes, "%s: bytes of row %u, part %u", what, whole,
		       part);
}

/* The sum of a cell over all rows of a watch. */
static u64 in_all(const struct blklat_session *s, u32 whole, u32 op, u32 at)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i <= s->parts; i++)
		sum += at == AT_BINS ? fake_ios(s, whole + i, op) : fake_sum(s, whole + i, op, at);
	return sum;
}

static void expect_in_all(struct kunit *test, const char *what, u32 whole, u32 op, u64 ios, u64 bytes)
{
	struct fake *f = test->priv;

	EXPECT_U64_MSG(test, in_all(f->s[0], whole, op, AT_BINS), ios, "%s: IOs of row %u in all", what, whole);
	EXPECT_U64_MSG(test, in_all(f->s[0], whole, op, AT_BYTES), bytes, "%s: bytes of row %u in all", what, whole);
}

static u64 *slot_of(const struct blklat_session *s)
{
	return fake_slot(s, FAKE_STRIDE + 3);
}

/* --- sizes --------------------------------------------------------------------------------- */

static const struct {
	u32 bytes, part;
} sizes[] = {
	{ 0, 1 }, { 1, 1 }, { 512, 1 }, { 4096, 1 }, { 4097, 2 }, { 4608, 2 }, { 8192, 2 }, { 8193, 3 }, { 16384, 3 },
	{ 16896, 4 }, { 32768, 4 }, { 33280, 5 }, { 65536, 5 }, { 66048, 6 }, { 131072, 6 }, { 131584, 7 }, { 262144, 7 },
	{ 262656, 8 }, { 524288, 8 }, { 524800, 9 }, { 1048576, 9 }, { 1048577, 9 }, { 1U << 31, 9 }, { U32_MAX, 9 },
};

static void blklat_parts_test_requests(struct kunit *test)
{
	struct fake *f = test->priv;
	char what[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 2);
		u32 bytes = sizes[i].bytes, part = sizes[i].part;
		struct request *rq = fake_request(test, f->disk[0], false, WRITE_IO, bytes);

		snprintf(what, sizeof(what), "%u bytes", bytes);
		fake_events(s, rq, "I");
		EXPECT_U64_MSG(test, *slot_of(s) >> 53, part | 1 << 8, "%s in the queue", what);
		fake_events(s, rq, "D");
		EXPECT_U64_MSG(test, *slot_of(s) >> 53, part, "%s at the device", what);
		fake_events(s, rq, "C");
		expect_part(test, what, DEVICE_ROW, part, WRITE_IO, 1, bytes);
		expect_in_all(test, what, DEVICE_ROW, WRITE_IO, 1, bytes);
		expect_part(test, what, QUEUE_ROW, part, WRITE_IO, 1, bytes);
		expect_in_all(test, what, QUEUE_ROW, WRITE_IO, 1, bytes);
	}
}

static void blklat_parts_test_bios(struct kunit *test)
{
	struct fake *f = test->priv;
	char what[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 3);
		u32 bytes = sizes[i].bytes, row = TOTAL_ROW + sizes[i].part;
		struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, bytes);

		snprintf(what, sizeof(what), "bio of %u bytes", bytes);
		fake_bio_queue(s, bio);
		EXPECT_U64_MSG(test, fake_bios_in_flight(test, s, row), 1, "%s", what);
		EXPECT_U64_MSG(test, fake_bios_in_flight(test, s, TOTAL_ROW), 0, "%s", what);
		fake_bio_end(s, bio, BLK_STS_OK);
		EXPECT_U64_MSG(test, fake_bios_in_flight(test, s, row), 0, "%s", what);
		EXPECT_U64_MSG(test, fake_account(s, row, BLKLAT_STARTED), 1, "%s", what);
		expect_part(test, what, TOTAL_ROW, sizes[i].part, READ_IO, 1, bytes);
		expect_in_all(test, what, TOTAL_ROW, READ_IO, 1, bytes);
	}
}

/* --- what becomes of a request ------------------------------------------------------------- */

/*
 * A write of 64 KiB that grows to 128 KiB while it waits keeps its part in the queue, and gets that of
 * its new size at the device.
 */
static void blklat_parts_test_merged(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 2);
	struct request *rq = fake_request(test, f->disk[0], false, WRITE_IO, 64 * KIB);

	fake_events(s, rq, "I");
	rq->__data_len = 128 * KIB;
	fake_events(s, rq, "DC");
	expect_part(test, "grown", QUEUE_ROW, 5, WRITE_IO, 1, 128 * KIB);
	expect_in_all(test, "grown", QUEUE_ROW, WRITE_IO, 1, 128 * KIB);
	expect_part(test, "grown", DEVICE_ROW, 6, WRITE_IO, 1, 128 * KIB);
	expect_in_all(test, "grown", DEVICE_ROW, WRITE_IO, 1, 128 * KIB);
	/* Its neighbour, which was merged into it, is not an IO. */
	fake_events(s, fake_request(test, f->disk[0], false, WRITE_IO, 64 * KIB), "IM");
	expect_in_all(test, "merged", QUEUE_ROW, WRITE_IO, 1, 128 * KIB);
	EXPECT_U64(test, fake_account(s, QUEUE_ROW, BLKLAT_REQUEUED), 1);
}

/* A request that completes in portions stays in the part in which it began, and so do its errors. */
static void blklat_parts_test_partial(struct kunit *test)
{
	static const struct {
		const char *events;
		u32 ios, bytes, errors;
	} cases[] = {
		{ "Dp", 0, 512 * KIB, 0 }, { "DpppC", 1, 1024 * KIB, 0 }, { "DppppppppppC", 1, 1024 * KIB, 0 },
		{ "De", 0, 512 * KIB, 1 }, { "DeE", 1, 1024 * KIB, 2 }, { "Dz", 0, 0, 0 }, { "DgpC", 1, 1024 * KIB, 0 },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 1);

		fake_events(s, fake_request(test, f->disk[0], false, READ_IO, 1024 * KIB), cases[i].events);
		expect_part(test, cases[i].events, DEVICE_ROW, 9, READ_IO, cases[i].ios, cases[i].bytes);
		expect_in_all(test, cases[i].events, DEVICE_ROW, READ_IO, cases[i].ios, cases[i].bytes);
		EXPECT_U64_MSG(test, fake_sum(s, 9, READ_IO, AT_ERRORS), cases[i].errors, "%s", cases[i].events);
	}
}

/* Issued again, the request is an IO with the size that was left. */
static void blklat_parts_test_requeued(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 1);

	fake_events(s, fake_request(test, f->disk[0], false, READ_IO, 1024 * KIB), "DpRDC");
	expect_part(test, "requeued", DEVICE_ROW, 9, READ_IO, 0, 512 * KIB);
	expect_part(test, "requeued", DEVICE_ROW, 8, READ_IO, 1, 512 * KIB);
	expect_in_all(test, "requeued", DEVICE_ROW, READ_IO, 1, 1024 * KIB);
	EXPECT_U64(test, fake_account(s, DEVICE_ROW, BLKLAT_REQUEUED), 1);
}

/* Ends and starts that did not make an IO are accounted to the whole. */
static void blklat_parts_test_accounts(struct kunit *test)
{
	static const struct {
		const char *events;
		int tag;
		u32 cell;
	} cases[] = {
		{ "DR", 3, BLKLAT_REQUEUED }, { "C", 3, BLKLAT_BEFORE }, { "DCnC", 3, BLKLAT_NO_START },
		{ "DCnE", 3, BLKLAT_UNISSUED }, { "D", FAKE_STRIDE, BLKLAT_TAG_RANGE },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 1);
		struct request *rq = fake_request(test, f->disk[0], false, READ_IO, 64 * KIB);

		rq->tag = cases[i].tag;
		fake_events(s, rq, cases[i].events);
		EXPECT_U64_MSG(test, fake_account(s, DEVICE_ROW, cases[i].cell), 1, "%s", cases[i].events);
	}
}

/* A missed end shows in the whole's slots. The next IO in that slot is counted in its own part. */
static void blklat_parts_test_missed_end(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 1);
	struct fake_totals t;

	fake_events(s, fake_request(test, f->disk[0], false, READ_IO, 1024 * KIB), "D");
	fake_events(s, fake_request(test, f->disk[0], false, READ_IO, 4 * KIB), "DC");
	expect_part(test, "missed", DEVICE_ROW, 1, READ_IO, 1, 4 * KIB);
	expect_in_all(test, "missed", DEVICE_ROW, READ_IO, 1, 4 * KIB);
	t = fake_totals_of(s, &f->watch[0][0], DEVICE_ROW);
	EXPECT_U64(test, t.started, 2);
	EXPECT_U64(test, t.ended, 1);
	EXPECT_U64(test, t.occupied, 0);
}

/* Bios are accounted to the whole as well: no room, end missed, must not wait. */
static void blklat_parts_test_bio_accounts(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 3);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 128 * KIB);
	u32 full, i;

	fake_bio_queue(s, bio);
	bio->bi_iter.bi_size = 8 * KIB;
	fake_bio_queue(s, bio);
	EXPECT_U64(test, fake_account(s, TOTAL_ROW, BLKLAT_OVERWRITTEN), 1);
	EXPECT_U64(test, fake_account(s, TOTAL_ROW, BLKLAT_STARTED), 2);
	fake_bio_end(s, bio, BLK_STS_AGAIN);
	EXPECT_U64(test, fake_account(s, TOTAL_ROW, BLKLAT_REQUEUED), 1);
	expect_in_all(test, "taken back", TOTAL_ROW, READ_IO, 0, 0);
	for (i = 0; i < 4 * FAKE_MAX_BIOS; i++)
		fake_bio_queue(s, fake_bio(test, f->disk[0], false, REQ_OP_READ, 16 * KIB));
	full = fake_account(s, TOTAL_ROW, BLKLAT_TABLE_FULL);
	KUNIT_EXPECT_TRUE(test, full > 0);
	EXPECT_U64(test, fake_account(s, TOTAL_ROW, BLKLAT_STARTED) + full, 2 + 4 * FAKE_MAX_BIOS);
	EXPECT_U64(test, fake_bios_in_flight(test, s, TOTAL_ROW + 3) + full, 4 * FAKE_MAX_BIOS);
}

/* --- sums ---------------------------------------------------------------------------------- */

/*
 * With IOs of random sizes and flags on two disks and a partition, the rows add up to the counts of a
 * session without parts.
 */
static void expect_sums(struct kunit *test, u32 by)
{
	static const struct fake_watch w[] = {
		{ BLKLAT_STAGE_DEVICE, 0 }, { BLKLAT_STAGE_QUEUE, 0 }, { BLKLAT_STAGE_DEVICE, 1 },
		{ BLKLAT_STAGE_DEVICE, 0, .partition = true },
	};
	static const char *const lives[] = { "IDC", "DC", "DpC", "DE", "DpRDC", "IM", "DR", "C", "DpppE", "IDRIDC" };
	static const u32 cells[] = { AT_BINS, AT_BYTES, AT_ERRORS };
	struct fake *f = test->priv;
	u32 i, op, k, rows = 1 + blklat_parts(by, blklat_has_owners(by) ? FAKE_CGROUPS : 0);
	u64 random = 7;

	f->by = by;
	fake_session(test, 0, 6, 0, w, ARRAY_SIZE(w));
	f->by = BLKLAT_BY_NOTHING;
	fake_session(test, 1, 6, 0, w, ARRAY_SIZE(w));
	for (i = 0; i < 500; i++) {
		u32 bytes = (fake_random(&random) % 4096 + 1) << fake_random(&random) % 10;
		u32 flags = fake_random(&random) % 4 | (u32)(fake_random(&random) << REQ_OP_BITS),
		    disk = fake_random(&random) % 2;
		bool partition = fake_random(&random) % 2;
		const char *life = lives[fake_random(&random) % ARRAY_SIZE(lives)];

		for (k = 0; k < 2; k++)
			fake_events(f->s[k], fake_request(test, f->disk[disk], partition, flags, bytes), life);
	}
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		for (op = 0; op < BLKLAT_OPS; op++)
			for (k = 0; k < ARRAY_SIZE(cells); k++)
				EXPECT_U64_MSG(test, in_all(f->s[0], i * rows, op, cells[k]),
					       cells[k] == AT_BINS ? fake_ios(f->s[1], i, op) :
								     fake_sum(f->s[1], i, op, cells[k]),
					       "by %u, watch %u, op %u, cell %u", by, i, op, cells[k]);
		for (k = 0; k < BLKLAT_BUSY; k++)
			EXPECT_U64_MSG(test, fake_account(f->s[0], i * rows, k), fake_account(f->s[1], i, k),
				       "by %u, watch %u, account %u", by, i, k);
	}
}

static void blklat_parts_test_sums(struct kunit *test)
{
	u32 by;

	for (by = BLKLAT_BY_SIZE; by < BLKLAT_BYS; by++)
		expect_sums(test, by);
}

/* --- time ---------------------------------------------------------------------------------- */

/*
 * The bits of the part do not affect the time, whether the clock has 0 there or is about to carry into
 * them.
 */
static void blklat_parts_test_latency(struct kunit *test)
{
	static const u64 begins[] = { 0, 1, (1ULL << 53) - 1000, (1ULL << 53) - 1, 1ULL << 53, (77ULL << 53) - 5, 1ULL << 60 };
	static const u64 latencies[] = { 0, 1, 999, 1000, 1001, 128000000000ULL, (1ULL << 52) - 1 };
	struct blklat_session *s = session(test, 0, BLKLAT_BY_DEPTH, 1);
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(begins); i++)
		for (k = 0; k < ARRAY_SIZE(latencies); k++)
			for (n = 0; n < ARRAY_SIZE(sizes); n++) {
				u64 start = blklat_parted_start(begins[i], sizes[n].part, n % 16);

				EXPECT_U64(test, blklat_part_of(s, start), sizes[n].part);
				EXPECT_U64(test, blklat_latency(s, begins[i] + latencies[k] - start), latencies[k]);
				EXPECT_U64(test, blklat_latency(s, begins[i] + latencies[k] - (start | MARK)),
					   latencies[k]);
			}
}

/* An IO after a pause is in its part's row of the idle series, with its latency, and in no other row. */
static void blklat_parts_test_pauses(struct kunit *test)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, 32 * KIB);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 256 * KIB);
	struct blklat_session *s;
	u64 ns;

	f->idle_gap_ns = GAP_NS;
	s = session(test, 0, BLKLAT_BY_SIZE, 3);
	blklat_target_of(s, rq->q)->seen_ns = ktime_get_mono_fast_ns() - 2 * GAP_NS;
	fake_events(s, rq, "D");
	EXPECT_U64(test, *slot_of(s) >> 53, 1 << 10 | 4);
	fake_events(s, rq, "C");
	ns = fake_sum(s, DEVICE_ROW + 4, READ_IO, AT_SUM);
	KUNIT_EXPECT_TRUE_MSG(test, ns && ns < GAP_NS, "%llu ns", ns);
	EXPECT_U64(test, fake_idle(s, DEVICE_ROW + 4, READ_IO)[0], ns);
	EXPECT_U64(test, fake_idle(s, DEVICE_ROW, READ_IO)[0], 0);
	expect_part(test, "after a pause", DEVICE_ROW, 4, READ_IO, 1, 32 * KIB);
	/* The device is in use now, whatever the size. */
	fake_events(s, fake_request(test, f->disk[0], false, READ_IO, 4 * KIB), "DC");
	EXPECT_U64(test, fake_idle(s, DEVICE_ROW + 1, READ_IO)[0], 0);

	s->bios_seen_ns[TOTAL_ROW] = ktime_get_mono_fast_ns() - 2 * GAP_NS;
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	ns = fake_sum(s, TOTAL_ROW + 7, READ_IO, AT_SUM);
	EXPECT_U64(test, fake_idle(s, TOTAL_ROW + 7, READ_IO)[0], ns);
	EXPECT_U64(test, fake_idle(s, TOTAL_ROW, READ_IO)[0], 0);
	bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	EXPECT_U64(test, fake_idle(s, TOTAL_ROW + 1, READ_IO)[0], 0);
	/* The end of a long IO is a use of the whole, too. */
	fake_bio_queue(s, bio);
	s->bios_seen_ns[TOTAL_ROW] = 1;
	ns = ktime_get_mono_fast_ns();
	while (ktime_get_mono_fast_ns() - ns <= BLKLAT_SEEN_EVERY_NS)
		cpu_relax();
	fake_bio_end(s, bio, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, s->bios_seen_ns[TOTAL_ROW] > 1);
}

/*
 * Userspace may write any part into the slots it maps: one that does not exist counts as the whole's
 * own, and no memory outside is written.
 */
static void blklat_parts_test_forged(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 part;

	for (part = 0; part <= 255; part++) {
		struct blklat_session *s = session(test, 0, BLKLAT_BY_SIZE, 2);
		struct request *rq = fake_request(test, f->disk[0], false, READ_IO, 4 * KIB);
		u32 watch;

		fake_events(s, rq, "I");
		*slot_of(s) = 1ULL << 61 | (u64)part << 53 | 1 << 30;
		fake_events(s, rq, "D");
		*slot_of(s) = (u64)part << 53 | 1 << 30;
		fake_events(s, rq, "C");
		for (watch = 0; watch < 2; watch++)
			expect_part(test, "forged", watch * ROWS, part > PARTS ? 0 : part, READ_IO, 1, 4 * KIB);
	}
}

static struct kunit_case blklat_parts_test_cases[] = {
	KUNIT_CASE(blklat_parts_test_requests),
	KUNIT_CASE(blklat_parts_test_bios),
	KUNIT_CASE(blklat_parts_test_merged),
	KUNIT_CASE(blklat_parts_test_partial),
	KUNIT_CASE(blklat_parts_test_requeued),
	KUNIT_CASE(blklat_parts_test_accounts),
	KUNIT_CASE(blklat_parts_test_missed_end),
	KUNIT_CASE(blklat_parts_test_bio_accounts),
	KUNIT_CASE(blklat_parts_test_sums),
	KUNIT_CASE(blklat_parts_test_latency),
	KUNIT_CASE(blklat_parts_test_pauses),
	KUNIT_CASE(blklat_parts_test_forged),
	{}
};

static struct kunit_suite blklat_parts_test_suite = {
	.name = "blklat_parts",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_parts_test_cases,
};
kunit_test_suite(blklat_parts_test_suite);
