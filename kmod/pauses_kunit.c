// SPDX-License-Identifier: GPL-2.0-only
/* IOs after a pause: which requests and bios are counted as such, and where. */
#include <linux/ktime.h>

#include "blklat/bins.h"
#include "kunit_session.h"
#include "pauses.h"

enum { BYTES = 4096, READ_IO = BLKLAT_OP_READ, WRITE_IO = BLKLAT_OP_WRITE };

/* Long compared with any delay of a test. */
#define GAP_NS 1000000000000ULL
#define MARK (1ULL << 63)

static const struct fake_watch device = { BLKLAT_STAGE_DEVICE };

/*
 * A time in the past. If the machine has not been up for so long, it wraps around, and so does its
 * difference to now.
 */
static u64 ago(u64 ns)
{
	return ktime_get_mono_fast_ns() - ns;
}

static bool is_since(u64 ns, u64 began)
{
	return (s64)(ns - began) >= 0;
}

static struct blklat_session *session(struct kunit *test, u32 scale, const struct fake_watch *w, u32 n)
{
	struct fake *f = test->priv;

	f->idle_gap_ns = GAP_NS;
	return fake_session(test, 0, scale, FAKE_MAX_BIOS, w, n);
}

static u64 idle_ios(const struct blklat_session *s, u32 watch, u32 op)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < fake_cells(s->scale < 3 ? s->scale : 3); i++)
		n += fake_idle(s, watch, op)[1 + i];
	return n;
}

/* --- the rule ------------------------------------------------------------------------------ */

static void blklat_pauses_test_rule(struct kunit *test)
{
	const u64 now = 5000000000ULL, gap = 100000000;
	const struct {
		u64 seen_ns;
		bool follows, noted;
	} cases[] = {
		{ 0, false, true },			/* no use is known yet */
		{ now, false, false },
		{ now + 1, false, false },		/* noted by a CPU whose clock is ahead */
		{ now + 600000, false, false },
		{ now - 500000, false, false },		/* recent enough */
		{ now - 500001, false, true },
		{ now - gap, false, true },
		{ now - gap - 999999, false, true },	/* the time may be a ms old */
		{ now - gap - 1000000, true, true },
		{ now - 10 * gap, true, true },
		{ 1, true, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 issued = cases[i].seen_ns, used = cases[i].seen_ns;

		KUNIT_EXPECT_EQ_MSG(test, blklat_follows_pause(&issued, now, gap), cases[i].follows, "case %u", i);
		blklat_note_use(&used, now);
		EXPECT_U64_MSG(test, issued, cases[i].noted ? now : cases[i].seen_ns, "case %u", i);
		EXPECT_U64_MSG(test, used, issued, "case %u", i);
	}
}

/* --- requests ------------------------------------------------------------------------------ */

/*
 * Runs a request through @events. The device was last in use @seen_ago_ns ago (0: never). The start is
 * made older by @age_ns, which must not be more than the machine's uptime.
 */
static void one_life(struct kunit *test, struct blklat_session *s, u64 seen_ago_ns, u64 age_ns, const char *events)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	u64 *slot = fake_slot(s, FAKE_STRIDE + 3);

	blklat_target_of(s, rq->q)->seen_ns = seen_ago_ns ? ago(seen_ago_ns) : 0;
	fake_events(s, rq, "D");
	*slot = (*slot & MARK) | ((*slot - age_ns) & ~MARK);
	fake_events(s, rq, events);
}

static void blklat_pauses_test_requests(struct kunit *test)
{
	static const struct {
		u64 seen_ago_ns;
		const char *events;
		u32 ios, after_idle;
	} cases[] = {
		{ 0, "C", 1, 0 }, { 1000, "C", 1, 0 }, { GAP_NS / 2, "C", 1, 0 }, { 2 * GAP_NS, "C", 1, 1 },
		{ 2 * GAP_NS, "E", 1, 1 }, { 2 * GAP_NS, "ppC", 1, 1 }, { 2 * GAP_NS, "", 0, 0 },
		/*
		 * Taken back. When issued again, the request is like any other, as the device was in
		 * use just now.
		 */
		{ 2 * GAP_NS, "R", 0, 0 }, { 2 * GAP_NS, "RDC", 1, 0 },
		/*
		 * The next request with the tag does not follow a pause; one on a device that is gone
		 * keeps its mark.
		 */
		{ 2 * GAP_NS, "CnDC", 2, 1 }, { 2 * GAP_NS, "gC", 1, 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, i % 7, &device, 1);

		one_life(test, s, cases[i].seen_ago_ns, 0, cases[i].events);
		EXPECT_U64_MSG(test, fake_ios(s, 0, READ_IO), cases[i].ios, "case %u", i);
		EXPECT_U64_MSG(test, idle_ios(s, 0, READ_IO), cases[i].after_idle, "case %u", i);
		EXPECT_U64_MSG(test, idle_ios(s, 0, WRITE_IO), 0, "case %u", i);
	}
}

/* The IO is in both series, with the same latency, in the bin of each scale. */
static void blklat_pauses_test_latency(struct kunit *test)
{
	static const u64 ages[] = { 0, 59727, 2000000, 20000000 };
	u32 i, scale;

	for (i = 0; i < ARRAY_SIZE(ages); i++)
		for (scale = 0; scale <= 6; scale++) {
			struct blklat_session *s = session(test, scale, &device, 1);
			u64 *idle = fake_idle(s, 0, READ_IO), ns;

			one_life(test, s, 2 * GAP_NS, ages[i], "C");
			ns = fake_sum(s, 0, READ_IO, AT_SUM);
			KUNIT_EXPECT_TRUE_MSG(test, ns >= ages[i] && ns < GAP_NS, "%llu ns", ns);
			EXPECT_U64_MSG(test, idle[0], ns, "scale %u", scale);
			EXPECT_U64_MSG(test, idle[1 + blklat_cell(ns, scale < 3 ? scale : 3)], 1, "scale %u", scale);
			EXPECT_U64_MSG(test, fake_sum(s, 0, READ_IO, AT_BINS + blklat_cell(ns, scale)), 1, "scale %u", scale);
			EXPECT_U64_MSG(test, fake_sum(s, 0, READ_IO, AT_MAX), ns, "scale %u", scale);
		}
}

/* A start is always a use of the device; an end is if the IO took long. */
static void blklat_pauses_test_use(struct kunit *test)
{
	static const struct {
		u64 seen_ago_ns, age_ns;
		const char *events;
	} cases[] = {
		{ GAP_NS / 2, 0, "" }, { 2 * GAP_NS, 0, "" }, { 0, 0, "" },
		{ 0, 2000000, "C" }, { 0, 0, "R" },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, 6, &device, 1);
		struct blklat_target *t = blklat_target_of(s, &f->disk[0]->queue);
		u64 began = ktime_get_mono_fast_ns();

		one_life(test, s, cases[i].seen_ago_ns, cases[i].age_ns, "");
		KUNIT_EXPECT_TRUE_MSG(test, is_since(t->seen_ns, began), "case %u", i);
		t->seen_ns = ago(GAP_NS / 2);
		fake_events(s, fake_request(test, f->disk[0], false, READ_IO, BYTES), cases[i].events);
		KUNIT_EXPECT_EQ_MSG(test, is_since(t->seen_ns, began), *cases[i].events != 0, "case %u", i);
	}
}

/* The uses of a disk and of its partition are noted separately. */
static void blklat_pauses_test_partition(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_DEVICE, .partition = true } };
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 3, w, 2);

	blklat_target_of(s, &f->disk[0]->queue)->seen_ns = ago(GAP_NS / 2);
	blklat_target_of(s, f->disk[0]->bdev[1])->seen_ns = ago(2 * GAP_NS);
	fake_events(s, fake_request(test, f->disk[0], true, READ_IO, BYTES), "DC");
	EXPECT_U64(test, idle_ios(s, 0, READ_IO), 0);
	EXPECT_U64(test, idle_ios(s, 1, READ_IO), 1);
}

/* If pauses are not looked for, nothing is written for them. */
static void blklat_pauses_test_off(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };
	struct fake *f = test->priv;
	u32 n;

	for (n = 1; n <= ARRAY_SIZE(w); n++) {
		struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, w, n);

		EXPECT_U64(test, s->header->idle_offset, 0);
		one_life(test, s, 2 * GAP_NS, 0, "");
		EXPECT_U64(test, *fake_slot(s, FAKE_STRIDE + 3) & MARK, 0);
		KUNIT_EXPECT_TRUE(test, ago(blklat_target_of(s, &f->disk[0]->queue)->seen_ns) >= 2 * GAP_NS);
	}
}

/* --- bios ---------------------------------------------------------------------------------- */

static void blklat_pauses_test_bios(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_TOTAL } };
	static const struct {
		u64 seen_ago_ns;
		blk_status_t status;
		u32 ios, after_idle;
	} cases[] = {
		{ 0, BLK_STS_OK, 1, 0 }, { GAP_NS / 2, BLK_STS_OK, 1, 0 }, { 2 * GAP_NS, BLK_STS_OK, 1, 1 },
		{ 2 * GAP_NS, BLK_STS_IOERR, 1, 1 }, { 2 * GAP_NS, BLK_STS_AGAIN, 0, 0 },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, 6, w, 2);
		struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_WRITE, BYTES);
		u64 *seen_ns = &s->bios_seen_ns[1], began = ktime_get_mono_fast_ns();

		*seen_ns = cases[i].seen_ago_ns ? ago(cases[i].seen_ago_ns) : 0;
		fake_bio_queue(s, bio);
		KUNIT_EXPECT_TRUE_MSG(test, is_since(*seen_ns, began), "case %u", i);
		fake_bio_end(s, bio, cases[i].status);
		EXPECT_U64_MSG(test, fake_ios(s, 1, WRITE_IO), cases[i].ios, "case %u", i);
		EXPECT_U64_MSG(test, idle_ios(s, 1, WRITE_IO), cases[i].after_idle, "case %u", i);
		EXPECT_U64_MSG(test, fake_idle(s, 1, WRITE_IO)[0],
			       cases[i].after_idle ? fake_sum(s, 1, WRITE_IO, AT_SUM) : 0, "case %u", i);
		/* The use by requests is noted separately. */
		EXPECT_U64_MSG(test, blklat_target_of(s, &f->disk[0]->queue)->seen_ns, 0, "case %u", i);
	}
}

#if BLKLAT_BIO_HAS_BDEV
/* A bio on a partition counts for the disk too; each of the two may have its own pause. */
static void blklat_pauses_test_bios_of_both(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_TOTAL }, { BLKLAT_STAGE_TOTAL, .partition = true } };
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < 4; i++) {
		struct blklat_session *s = session(test, 3, w, 2);
		struct bio *bio = fake_bio(test, f->disk[0], true, REQ_OP_READ, BYTES);

		s->bios_seen_ns[0] = ago(i & 1 ? 2 * GAP_NS : GAP_NS / 2);
		s->bios_seen_ns[1] = ago(i & 2 ? 2 * GAP_NS : GAP_NS / 2);
		fake_bio_queue(s, bio);
		fake_bio_end(s, bio, BLK_STS_OK);
		EXPECT_U64_MSG(test, idle_ios(s, 0, READ_IO), i & 1, "case %u", i);
		EXPECT_U64_MSG(test, idle_ios(s, 1, READ_IO), i >> 1, "case %u", i);
	}
}
#endif

static struct kunit_case blklat_pauses_test_cases[] = {
	KUNIT_CASE(blklat_pauses_test_rule),
	KUNIT_CASE(blklat_pauses_test_requests),
	KUNIT_CASE(blklat_pauses_test_latency),
	KUNIT_CASE(blklat_pauses_test_use),
	KUNIT_CASE(blklat_pauses_test_partition),
	KUNIT_CASE(blklat_pauses_test_off),
	KUNIT_CASE(blklat_pauses_test_bios),
#if BLKLAT_BIO_HAS_BDEV
	KUNIT_CASE(blklat_pauses_test_bios_of_both),
#endif
	{}
};

static struct kunit_suite blklat_pauses_test_suite = {
	.name = "blklat_pauses",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_pauses_test_cases,
};
kunit_test_suite(blklat_pauses_test_suite);
