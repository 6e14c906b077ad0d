// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow IOs: which are reported and with what, and that the ring stays right whatever its reader writes.
 * The region is read as abi.h and slow.h describe it in words.
 */
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "kunit_session.h"
#include "slow.h"

enum { READ_IO = BLKLAT_OP_READ, WRITE_IO = BLKLAT_OP_WRITE, BYTES = 8192, SECTOR = 123456 };
enum { DEVICE_WATCH, QUEUE_WATCH, TOTAL_WATCH, PLACES = 4, NOTES = 256 };
enum { RING_BEGIN = 128, PLACE = 96, AT_NEXT = 88 };

static const struct fake_watch stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };

static struct blklat_session *session(struct kunit *test, u32 places, u32 notes, u32 owners, u32 n)
{
	struct fake *f = test->priv;

	f->slow_places = places;
	f->notes = notes;
	f->owners = owners;
	return fake_session(test, 0, 6, FAKE_MAX_BIOS, stages, n);
}

/* --- the reader ---------------------------------------------------------------------------- */

static void *ring_of(const struct blklat_session *s)
{
	return (void *)s->header + s->header->slow_ring_offset;
}

static u32 *taken_of(const struct blklat_session *s)
{
	return ring_of(s);
}

static u64 untold_of(const struct blklat_session *s, u32 watch)
{
	return ((u64 *)((void *)s->header + s->header->slow_untold_offset))[watch];
}

static void set_limit(const struct blklat_session *s, u32 watch, u32 op, u64 ns)
{
	((u64 *)((void *)s->header + s->header->slow_from_offset))[watch * BLKLAT_OPS + op] = ns;
}

static void all_slow(const struct blklat_session *s)
{
	u32 watch, op;

	for (watch = 0; watch < s->watches; watch += 1 + s->parts)
		for (op = 0; op < BLKLAT_OPS; op++)
			set_limit(s, watch, op, 0);
}

/* Takes the next report; false: there is none. */
static bool take(const struct blklat_session *s, struct blklat_slow *ret)
{
	u32 number = *taken_of(s);
	void *place = ring_of(s) + RING_BEGIN + number % s->slow->places * PLACE;

	if (smp_load_acquire((u32 *)(place + AT_NEXT)) != number + 1)
		return false;
	memcpy(ret, place, sizeof(*ret));
	smp_store_release(taken_of(s), number + 1);
	return true;
}

static u32 n_told(const struct blklat_session *s)
{
	struct blklat_slow io;
	u32 n = 0;

	while (take(s, &io))
		n++;
	return n;
}

static void expect_untold(struct kunit *test, const struct blklat_session *s, u32 d, u32 q, u32 t)
{
	EXPECT_U64(test, untold_of(s, DEVICE_WATCH), d);
	EXPECT_U64(test, untold_of(s, QUEUE_WATCH), q);
	EXPECT_U64(test, untold_of(s, TOTAL_WATCH), t);
}

/* --- requests and bios --------------------------------------------------------------------- */

static struct request *request(struct kunit *test, u32 flags)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, flags, BYTES);

	rq->__sector = SECTOR;
	rq->bio->bi_iter.bi_sector = SECTOR;
	return rq;
}

static void note(struct blklat_session *s, struct bio *bio)
{
	preempt_disable();
	blklat_note_bio(s, bio);
	preempt_enable();
}

/* --- which IOs are reported ---------------------------------------------------------------- */

/* At first no IO is slow, but failed IOs are reported. */
static void blklat_slow_test_limits(struct kunit *test)
{
	struct blklat_session *s = session(test, 64, NOTES, 1, 1);
	struct request *rq = request(test, READ_IO);
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
	*fake_slot(s, FAKE_STRIDE + 3, AT_NS) -= 1000000000000ULL;
	set_limit(s, DEVICE_WATCH, READ_IO, 1000000000000ULL);
	fake_events(s, rq, "Cn");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	KUNIT_EXPECT_TRUE(test, io.latency_ns >= 1000000000000ULL);
	set_limit(s, DEVICE_WATCH, READ_IO, io.latency_ns * 2);
	fake_events(s, rq, "DCn");
	EXPECT_U64(test, n_told(s), 0);
	EXPECT_U64(test, untold_of(s, DEVICE_WATCH), 0);
}

/*
 * For rows of events, the number of reports at the two stages if all IOs are slow; see the rules in
 * capture_kunit.c.
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
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		struct blklat_session *s = session(test, 64, NOTES, 1, 2);
		u32 found[2] = { 0 };

		all_slow(s);
		fake_events(s, request(test, READ_IO), rules[i].events);
		while (take(s, &io))
			found[io.watch]++;
		EXPECT_U64_MSG(test, found[0], rules[i].device, "%s: device", rules[i].events);
		EXPECT_U64_MSG(test, found[1], rules[i].queue, "%s: queue", rules[i].events);
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
	struct blklat_session *s = session(test, 64, NOTES, 1, 3);
	struct request *rq = request(test, WRITE_IO);
	u64 before = ktime_get_mono_fast_ns(), queue_ns;
	struct blklat_slow io;

	all_slow(s);
	note(s, rq->bio);
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
	struct blklat_session *s = session(test, 64, 0, 0, 1);
	struct request *rq = request(test, (__force u32)REQ_OP_FLUSH);
	struct blklat_slow io;

	all_slow(s);
	fake_events(s, rq, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.op, BLKLAT_OP_FLUSH);
	EXPECT_U64(test, io.known, BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU);
	rq = request(test, READ_IO);
	rq->__sector = (sector_t)-1;
	rq->bio = NULL;
	fake_events(s, rq, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	EXPECT_U64(test, io.known, BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU);
	expect_sender(test, &io, false);
}

static void blklat_slow_test_bio(struct kunit *test)
{
	struct blklat_session *s = session(test, 64, NOTES, 1, 3);
	struct request *rq = request(test, READ_IO);
	u64 device_ns, queue_ns;
	struct blklat_slow io;

	set_limit(s, TOTAL_WATCH, READ_IO, 0);
	fake_bio_queue(s, rq->bio);
	note(s, rq->bio);
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
	struct request *rq = request(test, READ_IO);
	struct blklat_slow io;

	f->by = BLKLAT_BY_SIZE;
	s = session(test, 2, NOTES, 1, 3);
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
	struct blklat_session *s = session(test, 64, NOTES, 1, 1);
	struct request *rq = request(test, READ_IO), *piece = request(test, READ_IO), *other = request(test, READ_IO);
	struct bio *elsewhere = fake_bio(test, f->disk[1], false, READ_IO, BYTES);
	struct blklat_slow io;

	all_slow(s);
	note(s, rq->bio);
	piece->bio->bi_private = rq->bio;
	fake_events(s, piece, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, true);
	fake_events(s, other, "DC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	/* A bio on a device that is not watched gets no note. */
	note(s, elsewhere);
	other->bio = elsewhere;
	fake_events(s, other, "nDC");
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	/* Without owners, a note still has the sector and the CPU that sent the bio. */
	s = session(test, 64, NOTES, 0, 3);
	all_slow(s);
	fake_bio_queue(s, rq->bio);
	note(s, rq->bio);
	fake_bio_end(s, rq->bio, BLK_STS_OK);
	KUNIT_ASSERT_TRUE(test, take(s, &io));
	expect_sender(test, &io, false);
	EXPECT_U64(test, io.known, BLKLAT_SLOW_SECTOR | BLKLAT_SLOW_START_CPU);
	EXPECT_U64(test, io.sector, SECTOR);
}

/* Many bios and two places: a note belongs to its bio or is gone. */
static void blklat_slow_test_displaced(struct kunit *test)
{
	struct blklat_session *s = session(test, 64, 2, 1, 3);
	struct bio *bio[16];
	struct blklat_slow io;
	u32 i, known = 0;

	set_limit(s, TOTAL_WATCH, READ_IO, 0);
	for (i = 0; i < ARRAY_SIZE(bio); i++) {
		bio[i] = request(test, READ_IO)->bio;
		bio[i]->bi_iter.bi_sector = 1000 + i;
		fake_bio_queue(s, bio[i]);
		note(s, bio[i]);
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

/* --- the ring ------------------------------------------------------------------------------ */

/*
 * IOs that find the ring full are counted as untold, and all are in the bins. Taking reports makes
 * room.
 */
static void blklat_slow_test_full(struct kunit *test)
{
	struct blklat_session *s = session(test, PLACES, NOTES, 1, 3);
	struct request *rq = request(test, READ_IO);
	struct blklat_slow io;
	u32 i;

	set_limit(s, DEVICE_WATCH, READ_IO, 0);
	set_limit(s, QUEUE_WATCH, READ_IO, 0);
	for (i = 0; i < 10; i++)
		fake_events(s, rq, "IDCn");
	/* Queue and device take turns, so two IOs of each are reported. */
	expect_untold(test, s, 8, 8, 0);
	EXPECT_U64(test, fake_ios(s, DEVICE_WATCH, READ_IO), 10);
	EXPECT_U64(test, fake_ios(s, QUEUE_WATCH, READ_IO), 10);
	KUNIT_EXPECT_TRUE(test, take(s, &io));
	fake_events(s, rq, "DCn");
	expect_untold(test, s, 8, 8, 0);
	fake_events(s, rq, "DCn");
	expect_untold(test, s, 9, 8, 0);
	EXPECT_U64(test, n_told(s), PLACES);
	for (i = 0; i < 5 * PLACES; i++) {
		fake_events(s, rq, "DCn");
		KUNIT_EXPECT_TRUE(test, take(s, &io));
	}
	expect_untold(test, s, 9, 8, 0);
	EXPECT_U64(test, n_told(s), 0);
}

/* Numbers continue past the largest one. */
static void blklat_slow_test_wraps_around(struct kunit *test)
{
	struct blklat_session *s = session(test, PLACES, 0, 0, 1);
	struct request *rq = request(test, READ_IO);
	struct blklat_slow io;
	u32 i;

	all_slow(s);
	/* Places that look as if they had been used. */
	for (i = 0; i < PLACES; i++)
		s->slow->ring->place[i].next = i;
	atomic_set(&s->slow->next, -3);
	*taken_of(s) = -3;
	for (i = 0; i < 7; i++) {
		fake_events(s, rq, "DCnDCn");
		KUNIT_EXPECT_TRUE(test, take(s, &io));
		KUNIT_EXPECT_TRUE(test, take(s, &io));
		KUNIT_EXPECT_FALSE(test, take(s, &io));
	}
	for (i = 0; i < PLACES + 1; i++)
		fake_events(s, rq, "DCn");
	EXPECT_U64(test, untold_of(s, DEVICE_WATCH), 1);
	EXPECT_U64(test, n_told(s), PLACES);
}

/* The pages after the ring belong to nobody: KASAN finds a write there. */
static void blklat_slow_test_forged(struct kunit *test)
{
	struct blklat_session *s = session(test, PLACES, 2, 1, 3);
	struct request *rq = request(test, READ_IO);
	u64 random = 1, untold = 0, ios = 0;
	u32 i, n;

	for (i = 0; i < 500; i++) {
		u32 *ring = ring_of(s);

		for (n = 0; n < (RING_BEGIN + PLACES * PLACE) / sizeof(*ring); n++)
			ring[n] = fake_random(&random);
		all_slow(s);
		fake_bio_queue(s, rq->bio);
		note(s, rq->bio);
		/*
		 * Far from the truth: all places are unread, or the reader claims to be ahead of the
		 * writer.
		 */
		ring[0] = atomic_read(&s->slow->next) + (i % 2 ? 1 + (u32)fake_random(&random) % (U32_MAX - PLACES) : -PLACES);
		n = atomic_read(&s->slow->next);
		fake_events(s, rq, "IDCn");
		ios++;
		untold += 2;
		EXPECT_U64(test, atomic_read(&s->slow->next), n);
		EXPECT_U64(test, untold_of(s, DEVICE_WATCH) + untold_of(s, QUEUE_WATCH), untold);
		/* With the right position again, the next IO is reported. */
		ring[0] = n;
		fake_events(s, rq, "DCn");
		ios++;
		EXPECT_U64(test, atomic_read(&s->slow->next), n + 1);
	}
	EXPECT_U64(test, fake_ios(s, DEVICE_WATCH, READ_IO), ios);
}

/* --- several at once ----------------------------------------------------------------------- */

enum { TELLERS = 4, EACH = 20000 };

struct crowd {
	struct blklat_session *s;
	atomic_t running;
	struct teller {
		struct work_struct work;
		struct crowd *crowd;
	} teller[TELLERS];
};

static void tell_many(struct work_struct *work)
{
	struct teller *t = container_of(work, struct teller, work);
	u32 i;

	for (i = 0; i < EACH; i++) {
		preempt_disable();
		/* The size is the teller's number, the latency its count. */
		blklat_tell_bio(t->crowd->s, NULL, READ_IO, t - t->crowd->teller, 1, i, 0);
		preempt_enable();
		if (!(i % 64))
			cond_resched();
	}
	atomic_dec(&t->crowd->running);
}

/*
 * While one reader takes reports: each IO is reported once and complete, in its teller's order, or
 * counted as untold.
 */
static void blklat_slow_test_crowd(struct kunit *test)
{
	struct workqueue_struct *queue = alloc_workqueue("blklat_test", WQ_UNBOUND, TELLERS);
	struct crowd *c = fake_alloc(test, sizeof(*c));
	u64 told = 0, next[TELLERS] = { 0 };
	struct blklat_slow io;
	bool running = true;
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue);
	c->s = session(test, 64, 0, 0, 1);
	atomic_set(&c->running, TELLERS);
	for (i = 0; i < TELLERS; i++) {
		c->teller[i].crowd = c;
		INIT_WORK(&c->teller[i].work, tell_many);
		queue_work(queue, &c->teller[i].work);
	}
	while (running) {
		running = atomic_read(&c->running);
		while (take(c->s, &io)) {
			u64 *wanted = &next[min_t(u32, io.bytes, TELLERS - 1)];

			KUNIT_EXPECT_TRUE(test, io.bytes < TELLERS && io.latency_ns >= *wanted && io.latency_ns < EACH);
			*wanted = io.latency_ns + 1;
			told++;
		}
		cond_resched();
	}
	destroy_workqueue(queue);
	EXPECT_U64(test, told + untold_of(c->s, DEVICE_WATCH), TELLERS * EACH);
	KUNIT_EXPECT_TRUE(test, told >= 64);
}

/* --- the cost without reports -------------------------------------------------------------- */

/* The fast path is taken if only stage device is watched and slow IOs are not reported. */
static void blklat_slow_test_usual_way(struct kunit *test)
{
	struct fake *f = test->priv;
	const void *queue = &f->disk[0]->queue;

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, blklat_plain_target_of(session(test, 0, 0, 0, 1), queue));
	KUNIT_EXPECT_TRUE(test, !f->s[0]->slow && !f->s[0]->header->slow_ring_offset);
	KUNIT_EXPECT_TRUE(test, !blklat_plain_target_of(session(test, 2, 0, 0, 1), queue));
}

static struct kunit_case blklat_slow_test_cases[] = {
	KUNIT_CASE(blklat_slow_test_limits),
	KUNIT_CASE(blklat_slow_test_rules),
	KUNIT_CASE(blklat_slow_test_request),
	KUNIT_CASE(blklat_slow_test_no_place),
	KUNIT_CASE(blklat_slow_test_bio),
	KUNIT_CASE(blklat_slow_test_parts),
	KUNIT_CASE(blklat_slow_test_whose),
	KUNIT_CASE(blklat_slow_test_displaced),
	KUNIT_CASE(blklat_slow_test_full),
	KUNIT_CASE(blklat_slow_test_wraps_around),
	KUNIT_CASE(blklat_slow_test_forged),
	KUNIT_CASE(blklat_slow_test_crowd),
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
