// SPDX-License-Identifier: GPL-2.0-only
/* The ring of slow IOs stays right however full it is, whatever its reader writes, and with several writers. */
#include <linux/limits.h>
#include <linux/workqueue.h>

#include "bios.h"
#include "kunit_slow.h"

/*
 * IOs that find the ring full are counted as untold, and all are in the bins. Taking reports makes
 * room.
 */
static void blklat_slow_ring_test_full(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, PLACES, NOTES, 1, 3);
	struct request *rq = slow_request(test, READ_IO);
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
static void blklat_slow_ring_test_wraps_around(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, PLACES, 0, 0, 1);
	struct request *rq = slow_request(test, READ_IO);
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
static void blklat_slow_ring_test_forged(struct kunit *test)
{
	struct blklat_session *s = slow_session(test, PLACES, 2, 1, 3);
	struct request *rq = slow_request(test, READ_IO);
	u64 random = 1, untold = 0, ios = 0;
	u32 i, n;

	for (i = 0; i < 500; i++) {
		u32 *ring = ring_of(s);

		for (n = 0; n < (RING_BEGIN + PLACES * PLACE) / sizeof(*ring); n++)
			ring[n] = fake_random(&random);
		all_slow(s);
		fake_bio_queue(s, rq->bio);
		note_bio(s, rq->bio);
		/*
		 * Far from the truth: all places are unread, or the reader claims to be ahead of the
		 * writer.
		 */
		ring[0] = atomic_read(&s->slow->next) +
			  (i % 2 ? 1 + (u32)fake_random(&random) % (U32_MAX - PLACES) : -PLACES);
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
	/* The size is the teller's number, the latency its count. */
	const struct blklat_bio start = { .op = READ_IO, .bytes = t - t->crowd->teller, .watch = { 1 } };
	u32 i;

	for (i = 0; i < EACH; i++) {
		preempt_disable();
		blklat_tell_bio(t->crowd->s, NULL, NULL, &start, 0, i);
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
static void blklat_slow_ring_test_crowd(struct kunit *test)
{
	struct workqueue_struct *queue = alloc_workqueue("blklat_test", WQ_UNBOUND, TELLERS);
	struct crowd *c = fake_alloc(test, sizeof(*c));
	u64 told = 0, next[TELLERS] = { 0 };
	struct blklat_slow io;
	bool running = true;
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue);
	c->s = slow_session(test, 64, 0, 0, 1);
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

static struct kunit_case blklat_slow_ring_test_cases[] = {
	KUNIT_CASE(blklat_slow_ring_test_full),
	KUNIT_CASE(blklat_slow_ring_test_wraps_around),
	KUNIT_CASE(blklat_slow_ring_test_forged),
	KUNIT_CASE(blklat_slow_ring_test_crowd),
	{}
};

static struct kunit_suite blklat_slow_ring_test_suite = {
	.name = "blklat_slow_ring",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_slow_ring_test_cases,
};
kunit_test_suite(blklat_slow_ring_test_suite);
