// SPDX-License-Identifier: GPL-2.0-only
/* Slow IOs: which are reported, with what, and whose notes are found. The ring is in slow_ring_kunit.c. */
#include <linux/sched.h>

#include "kunit_slow.h"

/* --- which IOs are reported ---------------------------------------------------------------- */

/* At first no IO is slow, but failed IOs are reported. */
static void blklat_slow_test_limits(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, NOTES, 1, 1);
	struct request *rq = slow_request(test, READ_IO);
	struct blklat_slow io;

	fake_events(s, rq, "DCn");
	EXPECT_U64(test, n_told(s), 0);
	fake_events(s, rq, "DEn");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.error, FAKE_ERROR);
	set_limit(s, DEVICE_WATCH, WRITE_IO, 0);
	fake_events(s, rq, "DCn");
	EXPECT_U64(test, n_told(s), 0);
	set_limit(s, DEVICE_WATCH, READ_IO, 0);
	fake_events(s, rq, "DCn");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.error, 0);
	/* With a limit equal to what it took, the IO is slow; with a higher one it is not. */
	fake_events(s, rq, "D");
	fake_age(s, FAKE_STRIDE + 3, 1000000000000ULL);
	set_limit(s, DEVICE_WATCH, READ_IO, 1000000000000ULL);
	fake_events(s, rq, "Cn");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	KUNIT_EXPECT_TRUE(test, io.latency_ns >= 1000000000000ULL);
	set_limit(s, DEVICE_WATCH, READ_IO, io.latency_ns * 2);
	fake_events(s, rq, "DCn");
	EXPECT_U64(test, n_told(s), 0);
	EXPECT_U64(test, untold_of(s, DEVICE_WATCH), 0);
	/* Each is counted once, whichever way it went. */
	EXPECT_U64(test, fake_ios(s, DEVICE_WATCH, READ_IO), 6);
	EXPECT_U64(test, fake_sum(s, DEVICE_WATCH, READ_IO, AT_BYTES), 6 * BYTES);
	EXPECT_U64(test, fake_sum(s, DEVICE_WATCH, READ_IO, AT_ERRORS), 1);
}

/*
 * For rows of events, the number of reports at the two stages if all IOs are slow; see the rules in
 * capture_kunit.c. Stage device alone goes another way, to the same reports.
 */
static void blklat_slow_test_rules(struct kunit *test)
{
	static const struct {
		const char *events;
		u32 device, queue;
	} rules[] = {
		{ "D", 0, 0 }, { "DC", 1, 0 }, { "DE", 1, 0 }, { "ID", 0, 1 }, { "IDC", 1, 1 }, { "IM", 0, 0 }, { "DR", 0, 0 },
		{ "IDRIDC", 1, 2 }, { "C", 0, 0 }, { "E", 0, 0 }, { "DCnC", 1, 0 }, { "DCnE", 1, 0 },
		/* Portions are reported only if they failed. */
		{ "Dp", 0, 0 }, { "DpC", 1, 0 }, { "De", 1, 0 }, { "DeC", 2, 0 }, { "DeE", 2, 0 },
		{ "gIDC", 0, 0 }, { "DgC", 1, 0 }, { "IgDC", 0, 1 },
	};
	struct blklat_slow io;
	u32 n;

	for (n = 0; n < 2 * ARRAY_SIZE(rules); n++) {
		u32 i = n / 2, stages = 1 + n % 2, found[2] = { 0 };
		struct blklat_session *s = slow_session(test, 64, NOTES, 1, stages);

		all_slow(s);
		fake_events(s, slow_request(test, READ_IO), rules[i].events);
		while (take(s, &io))
			found[io.watch]++;
		EXPECT_U64_MSG(test, found[0], rules[i].device, "%s: device, %u stages", rules[i].events, stages);
		EXPECT_U64_MSG(test, found[1], stages > 1 ? rules[i].queue : 0, "%s: queue, %u stages", rules[i].events, stages);
	}
}

/* --- what a report contains ---------------------------------------------------------------- */

static void expect_sender(struct kunit *test, const struct blklat_slow *io, bool known)
{
	u32 submitter = BLKLAT_SLOW_SUBMITTER | (current->flags & PF_KTHREAD ? BLKLAT_SLOW_KERNEL_THREAD : 0);

	EXPECT_U64(test, io->known & (BLKLAT_SLOW_SUBMITTER | BLKLAT_SLOW_KERNEL_THREAD), known ? submitter : 0);
	EXPECT_U64(test, io->submitter, known ? current->tgid : 0);
	KUNIT_EXPECT_STREQ(test, io->comm, known ? current->comm : "");
}

static void blklat_slow_test_request(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, NOTES, 1, 3);
	struct request *rq = slow_request(test, WRITE_IO);
	u64 before = ktime_get_mono_fast_ns(), queue_ns;
	struct blklat_slow io;

	all_slow(s);
	note_bio(s, rq->bio);
	fake_events(s, rq, "ID");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, QUEUE_WATCH);
	EXPECT_U64(test, io.latency_ns, fake_sum(s, QUEUE_WATCH, WRITE_IO, AT_SUM));
	EXPECT_U64(test, io.queue_ns, 0);
	queue_ns = io.latency_ns;
	fake_events(s, rq, "E");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, DEVICE_WATCH);
	EXPECT_U64(test, io.latency_ns, fake_sum(s, DEVICE_WATCH, WRITE_IO, AT_SUM));
	EXPECT_U64(test, io.queue_ns, queue_ns);
	EXPECT_U64(test, io.device_ns, 0);
	KUNIT_EXPECT_TRUE(test, io.end_ns >= before + io.latency_ns && io.end_ns <= ktime_get_mono_fast_ns());
	EXPECT_U64(test, io.sector, SECTOR);
	EXPECT_U64(test, io.bytes, BYTES);
	EXPECT_U64(test, io.op, WRITE_IO);
	EXPECT_U64(test, io.error, FAKE_ERROR);
	EXPECT_U64(test, io.hw_queue, 1);
	EXPECT_U64(test, io.start_cpu, FAKE_CPU);
	EXPECT_U64(test, io.cgroup, 0);
	EXPECT_U64(test, io.known & (BLKLAT_SLOW_SECTOR | BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU),
		   BLKLAT_SLOW_SECTOR | BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU);
	expect_sender(test, &io, true);
	EXPECT_U64(test, n_told(s), 0);
}

/* A flush has no sector, and neither has a request whose sector is -1. */
static void blklat_slow_test_no_place(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, 0, 0, 1);
	struct request *rq = slow_request(test, (__force u32)REQ_OP_FLUSH);
	struct blklat_slow io;

	all_slow(s);
	fake_events(s, rq, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.op, BLKLAT_OP_FLUSH);
	EXPECT_U64(test, io.known, BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU);
	rq = slow_request(test, READ_IO);
	rq->__sector = (sector_t)-1;
	rq->bio = NULL;
	fake_events(s, rq, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.known, BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU);
	expect_sender(test, &io, false);
}

static const struct {
	u32 flags, bytes, class;
} classes[] = {
	{ REQ_OP_READ, BYTES, BLKLAT_FLAGS_SYNC }, { REQ_OP_READ | REQ_RAHEAD, BYTES, BLKLAT_FLAGS_READAHEAD },
	{ REQ_OP_WRITE, BYTES, BLKLAT_FLAGS_WRITE_BACK }, { REQ_OP_WRITE | REQ_SYNC, BYTES, BLKLAT_FLAGS_SYNC },
	{ REQ_OP_WRITE | REQ_META, BYTES, BLKLAT_FLAGS_METADATA }, { REQ_OP_WRITE | REQ_SYNC | REQ_FUA, BYTES, BLKLAT_FLAGS_FUA },
	{ REQ_OP_WRITE | REQ_PREFLUSH, 0, BLKLAT_FLAGS_FUA }, { REQ_OP_DISCARD, BYTES, BLKLAT_FLAGS_OTHER },
};

/* A bio's come from its note, and are not known without one. */
static void blklat_slow_test_flags(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, NOTES, 0, 3);
	struct blklat_slow io;
	u32 i, noted;

	all_slow(s);
	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		struct request *rq = slow_request(test, classes[i].flags);
		struct bio *bio = rq->bio;

		bio->bi_iter.bi_size = classes[i].bytes;
		rq->bio = NULL;
		fake_events(s, rq, "DC");
		KUNIT_ASSERT_TRUE(test, take(s, &io));
		EXPECT_U64_MSG(test, io.flags, classes[i].class, "request %u", i);
		for (noted = 0; noted < 2; noted++) {
			fake_bio_queue(s, bio);
			if (noted)
				note_bio(s, bio);
			fake_bio_end(s, bio, BLK_STS_OK);
			KUNIT_ASSERT_TRUE(test, take(s, &io));
			EXPECT_U64_MSG(test, io.flags, noted ? classes[i].class : 0, "bio %u", i);
		}
	}
}

static void blklat_slow_test_bio(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, NOTES, 1, 3);
	struct request *rq = slow_request(test, READ_IO);
	u64 device_ns, queue_ns;
	struct blklat_slow io;

	set_limit(s, TOTAL_WATCH, READ_IO, 0);
	fake_bio_queue(s, rq->bio);
	note_bio(s, rq->bio);
	fake_events(s, rq, "IDE");
	queue_ns = fake_sum(s, QUEUE_WATCH, READ_IO, AT_SUM);
	device_ns = fake_sum(s, DEVICE_WATCH, READ_IO, AT_SUM);
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, DEVICE_WATCH);	/* reported because it failed */
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, TOTAL_WATCH);
	EXPECT_U64(test, io.latency_ns, fake_sum(s, TOTAL_WATCH, READ_IO, AT_SUM));
	EXPECT_U64(test, io.queue_ns, queue_ns);
	EXPECT_U64(test, io.device_ns, device_ns);
	EXPECT_U64(test, io.sector, SECTOR);
	EXPECT_U64(test, io.bytes, BYTES);
	EXPECT_U64(test, io.op, READ_IO);
	EXPECT_U64(test, io.error, FAKE_ERROR);
	EXPECT_U64(test, io.known & BLKLAT_SLOW_QUEUE, 0);
	EXPECT_U64(test, io.known & BLKLAT_SLOW_SECTOR, BLKLAT_SLOW_SECTOR);
	expect_sender(test, &io, true);

	/* A bio that ends by itself, with its own status. One that will be sent again is not reported. */
	fake_bio_queue(s, rq->bio);
	fake_bio_end(s, rq->bio, BLK_STS_MEDIUM);
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.error, (__force int)BLK_STS_MEDIUM);
	fake_bio_queue(s, rq->bio);
	fake_bio_end(s, rq->bio, BLK_STS_AGAIN);
	EXPECT_U64(test, n_told(s), 0);
}

/* The report has the part's watch; the limit is that of the whole. */
static void blklat_slow_test_parts(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s;
	struct request *rq = slow_request(test, READ_IO);
	struct blklat_slow io;

	f->by = BLKLAT_BY_SIZE;
	s = slow_session(test, 2, NOTES, 1, 3);
	EXPECT_U64(test, s->parts, 9);
	all_slow(s);
	fake_bio_queue(s, rq->bio);
	fake_events(s, rq, "ID");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, QUEUE_WATCH * 10 + 2);
	fake_events(s, rq, "C");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.watch, DEVICE_WATCH * 10 + 2);
	/*
	 * The reader claims not to have taken the two reports, so the ring is full and the next IO is
	 * counted as untold in its whole's row.
	 */
	fake_bio_queue(s, rq->bio);
	*taken_of(s) -= 2;
	fake_bio_end(s, rq->bio, BLK_STS_OK);
	EXPECT_U64(test, untold_of(s, TOTAL_WATCH * 10), 1);
}

/* --- notes --------------------------------------------------------------------------------- */

/*
 * A note is found for a request's first bio, or for the bio from which that one was split off, and for
 * no other.
 */
static void blklat_slow_test_whose(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = slow_session(test, 64, NOTES, 1, 1);
	struct request *rq = slow_request(test, READ_IO), *piece = slow_request(test, READ_IO),
		       *other = slow_request(test, READ_IO);
	struct bio *elsewhere = fake_bio(test, f->disk[1], false, READ_IO, BYTES);
	struct blklat_slow io;

	all_slow(s);
	note_bio(s, rq->bio);
	piece->bio->bi_private = rq->bio;
	fake_events(s, piece, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, true);
	fake_events(s, other, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	/* A bio on a device that is not watched gets no note. */
	note_bio(s, elsewhere);
	other->bio = elsewhere;
	fake_events(s, other, "nDC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	/* Without owners, a note still has the sector and the CPU that sent the bio. */
	s = slow_session(test, 64, NOTES, 0, 3);
	all_slow(s);
	fake_bio_queue(s, rq->bio);
	note_bio(s, rq->bio);
	fake_bio_end(s, rq->bio, BLK_STS_OK);
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	EXPECT_U64(test, io.known, BLKLAT_SLOW_SECTOR | BLKLAT_SLOW_START_CPU);
	EXPECT_U64(test, io.sector, SECTOR);
}

/* Many bios and two places: a note belongs to its bio or is gone. */
static void blklat_slow_test_displaced(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, 64, 2, 1, 3);
	struct bio *bio[16];
	struct blklat_slow io;
	u32 i, known = 0;

	set_limit(s, TOTAL_WATCH, READ_IO, 0);
	for (i = 0; i < ARRAY_SIZE(bio); i++) {
		bio[i] = slow_request(test, READ_IO)->bio;
		bio[i]->bi_iter.bi_sector = 1000 + i;
		fake_bio_queue(s, bio[i]);
		note_bio(s, bio[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bio); i++) {
		fake_bio_end(s, bio[i], BLK_STS_OK);
		KUNIT_ASSERT_TRUE(test, take(s, &io));
		if (io.known & BLKLAT_SLOW_SECTOR) {
			EXPECT_U64(test, io.sector, 1000 + i);
			known++;
		} else {
			EXPECT_U64(test, io.sector, 0);
		}
	}
	KUNIT_EXPECT_TRUE(test, known >= 1 && known <= 2);
}

/* --- the cost without reports -------------------------------------------------------------- */

/* The fast path is taken if only stage device is watched, whether slow IOs are reported or not. */
static void blklat_slow_test_usual_way(struct kunit *test)
{
	struct fake *f = test->priv;
	const void *queue = &f->disk[0]->queue;

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, blklat_plain_target_of(slow_session(test, 0, 0, 0, 1), queue));
	KUNIT_EXPECT_TRUE(test, !f->s[0]->slow && !f->s[0]->slow_from && !f->s[0]->header->slow_ring_offset);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, blklat_plain_target_of(slow_session(test, 2, 2, 1, 1), queue));
	KUNIT_EXPECT_TRUE(test, !blklat_plain_target_of(slow_session(test, 2, 0, 0, 2), queue));
}

static struct kunit_case blklat_slow_test_cases[] = {
	KUNIT_CASE(blklat_slow_test_limits),
	KUNIT_CASE(blklat_slow_test_rules),
	KUNIT_CASE(blklat_slow_test_request),
	KUNIT_CASE(blklat_slow_test_no_place),
	KUNIT_CASE(blklat_slow_test_flags),
	KUNIT_CASE(blklat_slow_test_bio),
	KUNIT_CASE(blklat_slow_test_parts),
	KUNIT_CASE(blklat_slow_test_whose),
	KUNIT_CASE(blklat_slow_test_displaced),
	KUNIT_CASE(blklat_slow_test_usual_way),
	{}
};

static struct kunit_suite blklat_slow_test_suite = {
	.name = "blklat_slow",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_slow_test_cases,
};
kunit_test_suite(blklat_slow_test_suite);
