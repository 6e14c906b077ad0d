// SPDX-License-Identifier: GPL-2.0-only
/*
 * How requests are measured and in which session they are counted: latencies, partitions, several
 * sessions, devices that are not watched, and regions into which userspace wrote.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "blklat/bins.h"
#include "kunit_session.h"

enum { BYTES = 4096, READ_IO = BLKLAT_OP_READ };

static const struct fake_watch both_stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE } };
static const struct fake_totals nothing;
static const struct fake_totals one_io = {
	.ios[READ_IO] = 1, .bytes[READ_IO] = BYTES, .started = 1, .ended = 1,
};
static const struct fake_totals on_its_way = { .started = 1, .occupied = 1 };

/* --- latencies ----------------------------------------------------------------------------- */

/* Expects one IO in the watch: all its cells agree, and its latency is between @least and @most. */
static void expect_latency(struct kunit *test, const struct blklat_session *s, u32 watch, u64 least, u64 most)
{
	u64 ns = fake_sum(s, watch, READ_IO, AT_SUM);
	u32 cell = blklat_cell(ns, s->scale);

	KUNIT_EXPECT_TRUE_MSG(test, least <= ns && ns <= most, "%llu ns, must be in [%llu, %llu]", ns,
			      least, most);
	EXPECT_U64(test, fake_ios(s, watch, READ_IO), 1);
	EXPECT_U64_MSG(test, fake_sum(s, watch, READ_IO, AT_BINS + cell), 1, "%llu ns, scale %u", ns, s->scale);
	EXPECT_U64(test, fake_sum(s, watch, READ_IO, AT_OCTAVES), 1ULL << blklat_octave(cell, s->scale));
	EXPECT_U64(test, fake_sum(s, watch, READ_IO, AT_MAX), ns);
	/* All series but one have 0 there, so the sum is that one's value. */
	EXPECT_U64(test, ~fake_sum(s, watch, READ_IO, AT_NOT_MIN), ns);
	EXPECT_U64(test, fake_sum(s, watch, READ_IO, AT_MAX + 1), 0);
	EXPECT_U64(test, fake_sum(s, watch, READ_IO, AT_NOT_MIN + 1), 0);
}

/*
 * A start is made older by some time. The latency is at least that time, and at most that plus the time
 * that really passed.
 */
static void blklat_capture_sessions_test_latency(struct kunit *test)
{
	static const u64 ages[] = { 0, 1000, 59727, 1000000, 60000000, 1000000000, 90000000000, 130000000000 };
	struct fake *f = test->priv;
	u32 i, stage;

	for (i = 0; i < 2 * ARRAY_SIZE(ages); i++) {
		struct blklat_session *s = fake_session(test, 0, i % 7, 0, both_stages, 2);
		struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
		u64 began = ktime_get_mono_fast_ns(), *ns, age = ages[i / 2], queued;

		stage = i % 2;
		fake_events(s, rq, stage == BLKLAT_STAGE_QUEUE ? "I" : "D");
		ns = fake_slot(s, FAKE_STRIDE + 3);
		queued = stage == BLKLAT_STAGE_QUEUE ? 1ULL << 61 : 0;
		KUNIT_EXPECT_TRUE(test, *ns >= (began | queued) && *ns <= (ktime_get_mono_fast_ns() | queued));
		began = ktime_get_mono_fast_ns();
		*ns = began | queued;
		fake_age(s, FAKE_STRIDE + 3, age);
		fake_events(s, rq, stage == BLKLAT_STAGE_QUEUE ? "D" : "C");
		expect_latency(test, s, stage, age, age + ktime_get_mono_fast_ns() - began);
	}
}

/* A requeue takes the start back, so the time before it is not part of the IO's latency. */
static void blklat_capture_sessions_test_requeued_latency(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 6, 0, both_stages, 2);
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	u64 began;

	fake_events(s, rq, "D");
	fake_age(s, FAKE_STRIDE + 3, 60000000000);
	began = ktime_get_mono_fast_ns();
	fake_events(s, rq, "RDC");
	expect_latency(test, s, 0, 0, ktime_get_mono_fast_ns() - began);
}

/* A portion has no latency; the last one has that of the whole request. */
static void blklat_capture_sessions_test_partial_latency(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 6, 0, both_stages, 2);
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	u64 began, least = 60000000000;

	fake_events(s, rq, "D");
	began = *fake_slot(s, FAKE_STRIDE + 3);
	fake_age(s, FAKE_STRIDE + 3, least);
	fake_events(s, rq, "p");
	EXPECT_U64(test, fake_sum(s, 0, READ_IO, AT_SUM), 0);
	EXPECT_U64(test, fake_sum(s, 0, READ_IO, AT_MAX), 0);
	EXPECT_U64(test, fake_sum(s, 0, READ_IO, AT_OCTAVES), 0);
	fake_events(s, rq, "C");
	expect_latency(test, s, 0, least, least + ktime_get_mono_fast_ns() - began);
}

/* --- in which session ---------------------------------------------------------------------- */

/* A partition's requests are its disk's as well; each of the two has its own slots. */
static void blklat_capture_sessions_test_partitions(struct kunit *test)
{
	static const struct fake_watch w[] = {
		{ BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE },
		{ BLKLAT_STAGE_DEVICE, .partition = true }, { BLKLAT_STAGE_QUEUE, .partition = true },
	};
	static const struct fake_totals before = { .accounts[BLKLAT_BEFORE] = 1 };
	static const struct fake_totals requeued = { .accounts[BLKLAT_REQUEUED] = 1, .started = 1, .ended = 1 };
	static const struct {
		const char *events;
		const struct fake_totals *device, *queue;
	} cases[] = {
		{ "IDC", &one_io, &one_io }, { "I", &nothing, &on_its_way }, { "D", &on_its_way, &nothing },
		{ "C", &before, &nothing }, { "DR", &requeued, &nothing }, { "IM", &nothing, &requeued },
	};
	struct fake *f = test->priv;
	u32 i, partition;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const char *what = cases[i / 2].events;

		partition = i % 2;
		fake_events(fake_session(test, 0, 0, 0, w, 4),
			    fake_request(test, f->disk[0], partition, READ_IO, BYTES), what);
		fake_expect(test, 0, 0, what, cases[i / 2].device);
		fake_expect(test, 0, 1, what, cases[i / 2].queue);
		fake_expect(test, 0, 2, what, partition ? cases[i / 2].device : &nothing);
		fake_expect(test, 0, 3, what, partition ? cases[i / 2].queue : &nothing);
	}
}

/* Only the partition is watched, or only the disk. */
static void blklat_capture_sessions_test_partition_alone(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 watched, used;

	for (watched = 0; watched < 2; watched++)
		for (used = 0; used < 2; used++) {
			struct fake_watch w = { BLKLAT_STAGE_DEVICE, .partition = watched };

			fake_events(fake_session(test, 0, 0, 0, &w, 1),
				    fake_request(test, f->disk[0], used, READ_IO, BYTES), "IDC");
			fake_expect(test, 0, 0, watched ? "partition" : "disk",
				    watched && !used ? &nothing : &one_io);
		}
}

/* Expects the region to be equal to @copy. */
static void expect_region(struct kunit *test, const struct blklat_session *s, const void *copy, const char *what)
{
	const u64 *now = (void *)s->header, *before = copy;
	u64 i;

	for (i = 0; i < s->bytes / sizeof(u64); i++)
		if (now[i] != before[i]) {
			EXPECT_U64_MSG(test, now[i], before[i], "%s: word %llu", what, i);
			return;
		}
}

/* Requests of another queue, of none (such as those private to a driver), of another disk's partition. */
static void blklat_capture_sessions_test_not_watched(struct kunit *test)
{
	static const struct fake_watch w[] = {
		{ BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_DEVICE, .partition = true },
	};
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 6, 0, w, 3);
	struct request *rq = fake_request(test, f->disk[1], true, READ_IO, BYTES);
	void *copy = kvmalloc(s->bytes, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	memcpy(copy, s->header, s->bytes);
	fake_events(s, rq, "IDpRIDCnEnIMzx");
	expect_region(test, s, copy, "another disk");
	rq->part = NULL;
	fake_events(s, rq, "nIDpRIDCnEnIMzx");
	expect_region(test, s, copy, "no partition");
	rq->q = NULL;
	fake_events(s, rq, "nIDpRIDCnEnIMzx");
	expect_region(test, s, copy, "no queue");
	kvfree(copy);
}

/* Each session has its own watches, scale, slots and counts. */
static void blklat_capture_sessions_test_side_by_side(struct kunit *test)
{
	static const struct fake_watch other[] = { { BLKLAT_STAGE_DEVICE, 1 }, { BLKLAT_STAGE_DEVICE, 0 } };
	static const struct fake_totals two_ios = {
		.ios[READ_IO] = 2, .bytes[READ_IO] = 2 * BYTES, .started = 2, .ended = 2,
	};
	struct fake *f = test->priv;
	struct blklat_session *a = fake_session(test, 0, 6, 0, both_stages, 2);
	struct blklat_session *b = fake_session(test, 1, 2, 0, other, 2);
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);

	fake_events(a, rq, "ID");
	fake_expect(test, 1, 0, "not told", &nothing);
	fake_expect(test, 1, 1, "not told", &nothing);
	fake_events(b, rq, "ID");	/* it does not watch stage queue */
	fake_events(a, rq, "C");
	fake_expect(test, 0, 0, "ended", &one_io);
	fake_expect(test, 0, 1, "ended", &one_io);
	fake_expect(test, 1, 1, "not yet told", &on_its_way);
	fake_events(b, rq, "nC");
	fake_expect(test, 1, 1, "told", &one_io);
	rq->q = (void *)&f->disk[1]->queue;
	fake_events(a, rq, "nIDC");
	fake_events(b, rq, "nIDCnDC");
	fake_expect(test, 0, 0, "another disk", &one_io);
	fake_expect(test, 1, 0, "another disk", &two_ios);
	fake_expect(test, 1, 1, "another disk", &one_io);
}

/* Only one device of a session was removed, and only one session was told. */
static void blklat_capture_sessions_test_gone(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_DEVICE, 0 }, { BLKLAT_STAGE_DEVICE, 1 } };
	struct fake *f = test->priv;
	struct request *first = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	struct request *second = fake_request(test, f->disk[1], false, READ_IO, BYTES);
	struct blklat_session *s[] = { fake_session(test, 0, 0, 0, w, 2), fake_session(test, 1, 0, 0, w, 2) };
	u32 i;

	fake_events(s[0], first, "g");
	for (i = 0; i < 2; i++) {
		fake_events(s[i], first, "DCn");
		fake_events(s[i], second, "DCn");
		fake_expect(test, i, 0, "gone in session 0", i ? &one_io : &nothing);
		fake_expect(test, i, 1, "still there", &one_io);
	}
}

/* --- in which series ----------------------------------------------------------------------- */

/*
 * CPUs get series for themselves, or lose them, while IOs are in flight. Each is counted where the CPU counts when it
 * ends, or its portion does, and none is lost.
 */
static void blklat_capture_sessions_test_series(struct kunit *test)
{
	static const struct fake_watch w[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 3, FAKE_MAX_BIOS, w, 3);
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	struct bio *bio = fake_bio(test, f->disk[0], false, READ_IO, BYTES);
	u32 i, k, shared[3] = { 0 };

	for (i = 1; i <= 12; i++) {
		u32 before = i % 2, after = i / 2 % 2;		/* whether none has a series for itself */

		fake_events(s, rq, "nI");
		fake_give(s, before ? 0 : 2);
		fake_events(s, rq, "Dp");
		bio->bi_iter.bi_size = BYTES;
		fake_bio_queue(s, bio);
		fake_give(s, after ? 0 : 2);
		fake_events(s, rq, "C");
		fake_bio_end(s, bio, BLK_STS_OK);
		shared[0] += (before + after) * BYTES / 2;
		shared[1] += before * BYTES;
		shared[2] += after * BYTES;
		for (k = 0; k < 3; k++) {
			EXPECT_U64_MSG(test, fake_ios(s, k, READ_IO), i, "watch %u", k);
			EXPECT_U64_MSG(test, fake_sum(s, k, READ_IO, AT_BYTES), i * BYTES, "watch %u", k);
			EXPECT_U64_MSG(test, fake_series(s, 0, k, READ_IO)[AT_BYTES], shared[k], "watch %u", k);
		}
	}
}

/* --- a region into which userspace wrote --------------------------------------------------- */

/*
 * Whether a word, counted from the beginning of the region, is in a row in which this session may count
 * on any CPU.
 */
static bool may_change(const struct blklat_session *s, const struct blklat_header *was, u64 word)
{
	u64 series = was->series_offset / 8, own = was->own_offset / 8;
	u64 accounts = was->accounts_offset / 8, slots = was->slots_offset / 8;

	if (word < series)
		return false;
	/*
	 * The numbers in own may lead to any series; only the second half of own is the module's, and a word of both.
	 */
	if (word < own)
		return word - series < (u64)was->series * fake_series_words(s->scale);
	if (word < accounts)
		return word - own < s->cpus * 2 * 5 && (word - own) % 5 >= 2;
	if (word < slots)
		return word - accounts < (u64)s->cpus * 2 * BLKLAT_ACCOUNTS;
	word = (word - slots) % (FAKE_SLOTS / 32 * WORDS_OF_32_SLOTS / 2);
	/* The request's slot is number 35: place 3 of the second 32. */
	return word == 64 + 3 || word == 64 + AT_STARTED / 2 + 1 || word == 64 + AT_ENDED / 2 + 1;
}

/* Whatever is in the region, the header included, only the places of this request are written. */
static void blklat_capture_sessions_test_spoiled_region(struct kunit *test)
{
	struct fake *f = test->priv;
	u64 seed = 5, i, wrong, words;
	u32 round;

	for (round = 0; round < 12; round++) {
		struct blklat_session *s = fake_session(test, 0, round % 7, 0, both_stages, 2);
		struct blklat_header was = *s->header;
		u64 *word = (u64 *)s->header, *copy = kvmalloc(s->bytes, GFP_KERNEL);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
		words = s->bytes / sizeof(u64);
		for (i = 0; i < words; i++)
			word[i] = round == 0 ? U64_MAX : round == 1 ? 0 : fake_random(&seed) >> (round % 4 * 16);
		memcpy(copy, word, s->bytes);
		fake_events(s, fake_request(test, f->disk[0], false, READ_IO, BYTES),
			    "CRMzxIDpRIDCnDEnIMIDDnCnCgDCnIDR");
		for (i = 0, wrong = 0; i < words; i++)
			wrong += word[i] != copy[i] && !may_change(s, &was, i);
		EXPECT_U64_MSG(test, wrong, 0, "round %u: words that nobody owns changed", round);
		kvfree(copy);
	}
}

static struct kunit_case blklat_capture_sessions_test_cases[] = {
	KUNIT_CASE(blklat_capture_sessions_test_latency),
	KUNIT_CASE(blklat_capture_sessions_test_requeued_latency),
	KUNIT_CASE(blklat_capture_sessions_test_partial_latency),
	KUNIT_CASE(blklat_capture_sessions_test_partitions),
	KUNIT_CASE(blklat_capture_sessions_test_partition_alone),
	KUNIT_CASE(blklat_capture_sessions_test_not_watched),
	KUNIT_CASE(blklat_capture_sessions_test_side_by_side),
	KUNIT_CASE(blklat_capture_sessions_test_gone),
	KUNIT_CASE(blklat_capture_sessions_test_series),
	KUNIT_CASE(blklat_capture_sessions_test_spoiled_region),
	{}
};

static struct kunit_suite blklat_capture_sessions_test_suite = {
	.name = "blklat_capture_sessions",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_capture_sessions_test_cases,
};
kunit_test_suite(blklat_capture_sessions_test_suite);
