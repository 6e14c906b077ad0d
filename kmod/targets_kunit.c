// SPDX-License-Identifier: GPL-2.0-only
/* Devices come, go and get other slots while a session counts; and the table of targets after many of them. */
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/rcupdate.h>

#include "kunit_session.h"
#include "parts.h"
#include "targets.h"

enum { DEVICE = BLKLAT_STAGE_DEVICE, QUEUE = BLKLAT_STAGE_QUEUE, TOTAL = BLKLAT_STAGE_TOTAL };
enum { BYTES = 4096, READ_IO = BLKLAT_OP_READ };

static const struct fake_watch all_stages[] = { { DEVICE }, { QUEUE }, { TOTAL } };
static const struct fake_totals nothing;
static const struct fake_totals one_io = { .ios[READ_IO] = 1, .bytes[READ_IO] = BYTES, .started = 1, .ended = 1 };

/*
 * A session of the first disk at stages 0 to @n - 1, with room for as many watches, and for slots of the same number
 * twice.
 */
static struct blklat_session *session(struct kunit *test, u32 n)
{
	struct fake *f = test->priv;

	f->room = n;
	f->more_slots = 6 * FAKE_SLOTS;
	return fake_session(test, 0, 6, FAKE_MAX_BIOS, all_stages, n);
}

/* A watch of @disk like watch @number % n of such a session, with slots of its own. */
static struct blklat_watch watch_of(u32 stage, u32 number)
{
	u32 slot = (number - stage) * FAKE_SLOTS;

	return fake_geometry(stage, number, &slot);
}

static int add(struct kunit *test, u32 stage, u32 number, u32 disk, struct blklat_entry *ret)
{
	struct fake *f = test->priv;
	const struct blklat_device d = fake_device(f->disk[disk], false, false);

	f->watch[0][number] = watch_of(stage, number);
	return blklat_entry_check(f->s[0], &f->watch[0][number], &d)
		       ?: blklat_entry_add(f->s[0], &f->watch[0][number], &d, ret);
}

static void add_shown(struct kunit *test, u32 stage, u32 number, u32 disk)
{
	struct fake *f = test->priv;
	struct blklat_entry e;

	KUNIT_ASSERT_EQ(test, add(test, stage, number, disk, &e), 0);
	synchronize_rcu();
	blklat_entry_show(f->s[0], &e);
}

static void remove_watch(struct kunit *test, u32 number)
{
	struct fake *f = test->priv;
	struct blklat_entry e;

	KUNIT_ASSERT_EQ(test, blklat_entry_find(f->s[0], number, &e), 0);
	blklat_entry_remove(f->s[0], &e);
	KUNIT_EXPECT_EQ(test, blklat_entry_find(f->s[0], number, &e), -EINVAL);
}

static void clear_accounts(struct blklat_session *s)
{
	memset(s->accounts, 0, s->header->slots_offset - s->header->accounts_offset);
}

/*
 * The second disk comes to a session of stage device (the usual path), or of all stages: nothing is counted until it
 * is shown, and everything until it is removed, stage by stage. The first disk counts all the time.
 */
static void blklat_targets_test_come_and_go(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 n, i, k;

	for (n = 1; n <= 3; n++) {
		struct blklat_session *s = session(test, n);
		struct request *first = fake_request(test, f->disk[0], false, READ_IO, BYTES);
		struct request *rq = fake_request(test, f->disk[1], false, READ_IO, BYTES);
		struct blklat_entry e;

		for (i = 0; i < n; i++) {
			KUNIT_ASSERT_EQ(test, add(test, i, n + i, 1, &e), 0);
			fake_events(s, rq, "nIDC");
			fake_expect(test, 0, n + i, "not shown", &nothing);
			/* An IO that is in flight then began before. */
			fake_events(s, rq, "nD");
			blklat_entry_show(s, &e);
			fake_events(s, rq, "C");
			EXPECT_U64(test, fake_account(s, n + i, BLKLAT_BEFORE), !i);
			clear_accounts(s);
			memset(s->slots, 0, s->n_slots / 32 * WORDS_OF_32_SLOTS * 4);
			memset(s->series, 0, (u64)s->n_series * s->series_bytes);
		}
		fake_events(s, rq, "nIDC");
		fake_events(s, first, "nIDC");
		for (i = 0; i < 2 * n; i++)
			fake_expect(test, 0, i, "shown", i % n == TOTAL ? &nothing : &one_io);
		for (i = n; i < 2 * n; i++) {
			remove_watch(test, i);
			fake_events(s, rq, "nIDCnE");
			for (k = n; k <= i && k - n < TOTAL; k++)
				EXPECT_U64_MSG(test, fake_ios(s, k, READ_IO), 1 + k - n, "watch %u of %u after %u", k, n, i);
		}
		KUNIT_EXPECT_PTR_EQ(test, (void *)blklat_target_of(s, &f->disk[1]->queue), NULL);
		EXPECT_U64(test, fake_ios(s, 0, READ_IO), 1);
	}
}

/* A bio in flight at the end still ends; from then on bios of requests of any queue are looked for. */
static void blklat_targets_test_bios(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 3);
	struct request *rq = fake_request(test, f->disk[1], false, READ_IO, BYTES);

	add_shown(test, TOTAL, 5, 1);
	fake_bio_queue(s, rq->bio);
	EXPECT_U64(test, fake_bios_in_flight(test, s, 5), 1);
	remove_watch(test, 5);
	EXPECT_U64(test, fake_bios_in_flight(test, s, 5), 1);
	fake_bio_queue(s, fake_bio(test, f->disk[1], false, READ_IO, BYTES));
	fake_events(s, rq, "C");
	EXPECT_U64(test, fake_bios_in_flight(test, s, 5), 0);
	EXPECT_U64(test, fake_ios(s, 5, READ_IO), 1);
	EXPECT_U64(test, fake_account(s, 5, BLKLAT_STARTED), 1);
}

/* A device is removed, and another one comes to its address, before or after its watch is removed. */
static void blklat_targets_test_old_address(struct kunit *test)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	u32 n, i, before;

	for (n = 1; n <= 2; n++)
		for (before = 0; before < 2; before++) {
			struct blklat_session *s = session(test, n);

			fake_events(s, rq, "nIDg");
			for (i = 0; before && i < n; i++)
				remove_watch(test, i);
			for (i = 0; i < n; i++)
				add_shown(test, i, n + i, 0);
			fake_events(s, rq, "nIDC");
			for (i = 0; !before && i < n; i++)
				remove_watch(test, i);
			fake_events(s, rq, "nIDC");
			for (i = 0; i < n; i++) {
				EXPECT_U64(test, fake_ios(s, n + i, READ_IO), 2);
				EXPECT_U64(test, fake_ios(s, i, READ_IO), i == QUEUE);
			}
		}
}

/* It goes before it is shown, so it is not counted; its number and place are free. */
static void blklat_targets_test_goes_at_once(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, 1);
	struct request *rq = fake_request(test, f->disk[1], false, READ_IO, BYTES);
	struct blklat_entry e;

	KUNIT_ASSERT_EQ(test, add(test, DEVICE, 1, 1, &e), 0);
	blklat_entry_remove(s, &e);
	fake_events(s, rq, "DCn");
	add_shown(test, DEVICE, 1, 1);
	blklat_target_gone(blklat_target_of(s, rq->q));
	fake_events(s, rq, "DCn");
	fake_expect(test, 0, 1, "gone", &nothing);
	remove_watch(test, 1);
	add_shown(test, DEVICE, 1, 1);
	fake_events(s, rq, "DC");
	fake_expect(test, 0, 1, "again", &one_io);
}

/* What the module alone knows of a number is forgotten. */
static void blklat_targets_test_forgets(struct kunit *test)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[1], false, READ_IO, BYTES);
	struct bio *bio = fake_bio(test, f->disk[1], false, READ_IO, BYTES);
	struct blklat_session *s;

	f->idle_gap_ns = 1;
	f->by = BLKLAT_BY_DEPTH;
	f->slow_places = f->notes = 16;
	s = session(test, 3);
	add_shown(test, DEVICE, 3, 1);
	KUNIT_EXPECT_NOT_NULL(test, blklat_target_of(s, &f->disk[1]->disk));	/* for notes */
	add_shown(test, TOTAL, 5, 1);
	fake_events(s, rq, "D");
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	remove_watch(test, 5);
	remove_watch(test, 3);
	KUNIT_EXPECT_PTR_EQ(test, (void *)blklat_target_of(s, &f->disk[1]->disk), NULL);
	add_shown(test, DEVICE, 3, 1);
	add_shown(test, TOTAL, 5, 1);
	EXPECT_U64(test, blklat_target_of(s, rq->q)->seen_ns, 0);
	EXPECT_U64(test, s->bios_seen_ns[5 * (1 + s->parts)], 0);
	rq->tag++;
	fake_events(s, rq, "nDC");
	EXPECT_U64_MSG(test, fake_ios(s, 3 * (1 + s->parts) + blklat_depth_part(1), READ_IO), 1, "none was in flight");
}

static void blklat_targets_test_errors(struct kunit *test)
{
	static const struct {
		u32 stages;			/* of the session */
		struct fake_watch w;
		u32 number;
		int wanted;
		bool hides_splits;
	} cases[] = {
		{ 1, { DEVICE, 1 }, 1, 0 },
		{ 1, { DEVICE, 1 }, 2, -EINVAL }, { 1, { DEVICE, 1 }, U32_MAX, -EINVAL },
		{ 1, { DEVICE, 1 }, 0, -EEXIST }, { 1, { DEVICE, 0 }, 1, -EEXIST }, { 3, { TOTAL, 0 }, 5, -EEXIST },
		{ 1, { QUEUE, 1 }, 1, -ENOSPC }, { 2, { TOTAL, 1 }, 3, -ENOSPC }, { 1, { DEVICE, 1, .partition = true }, 1, -ENOSPC },
		{ 2, { DEVICE, 1, .partition = true }, 3, 0 },
		{ 3, { DEVICE, 1, .no_requests = true }, 5, -EOPNOTSUPP }, { 3, { TOTAL, 1, .no_requests = true }, 5, 0 },
		{ 3, { TOTAL, 1, .no_requests = true }, 5, -ENOSPC, true }, { 3, { DEVICE, 1 }, 3, 0, true },
	};
	struct fake *f = test->priv;
	struct blklat_entry e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = session(test, cases[i].stages);
		const struct blklat_watch w = watch_of(cases[i].w.stage, cases[i].number);
		struct blklat_device d =
			fake_device(f->disk[cases[i].w.disk], cases[i].w.partition, cases[i].w.no_requests);

		d.hides_splits = cases[i].hides_splits;
		KUNIT_EXPECT_EQ_MSG(test, blklat_entry_check(s, &w, &d) ?: blklat_entry_add(s, &w, &d, &e), cases[i].wanted, "case %u", i);
		/* Nothing is left of it if it failed. */
		if (cases[i].wanted != -EEXIST)
			KUNIT_EXPECT_EQ_MSG(test, blklat_entry_find(s, cases[i].number, &e), cases[i].wanted ? -EINVAL : 0, "case %u", i);
	}
}

/* --- other slots --------------------------------------------------------------------------- */

/*
 * All requests in the new slots are counted. Those in flight are not seen to end; while there are no slots, nothing
 * is.
 */
static void blklat_targets_test_move(struct kunit *test)
{
	static const struct fake_totals left = { .started = 1, .occupied = 1 };
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
	u32 n, i;

	for (n = 1; n <= 6; n++) {
		struct blklat_session *s = session(test, 1 + (n - 1) % 3);
		struct blklat_move move = {
			.queues = 2, .stride = 64, .shared_tags = n > 3,
			.first_slot = 4 * FAKE_SLOTS,
		};
		struct blklat_entry e;
		struct blklat_target *t = blklat_target_of(s, rq->q);

		fake_events(s, rq, "nD");
		t->queues = 0;
		fake_events(s, rq, "CnIDRDCIM");
		EXPECT_U64(test, fake_account(s, DEVICE, BLKLAT_TAG_RANGE), 2);
		EXPECT_U64(test, n % 3 != 1 ? fake_account(s, QUEUE, BLKLAT_TAG_RANGE) : 2, 2);
		t->queues = FAKE_QUEUES;
		clear_accounts(s);
		KUNIT_ASSERT_EQ(test, blklat_entry_find(s, n % 3 != 1, &e) ?: blklat_entry_move(s, &e, &move), 0);
		fake_expect(test, 0, 0, "old slots", &left);
		for (i = 0; i < 2; i++) {
			f->watch[0][i].first_slot = move.first_slot;
			f->watch[0][i].stride = move.stride;
		}
		fake_events(s, rq, "nC");
		EXPECT_U64(test, fake_account(s, DEVICE, BLKLAT_BEFORE), 1);
		clear_accounts(s);
		rq->tag = 47;	/* there was no such tag before */
		fake_events(s, rq, "nIDC");
		/* Of its two queues it has the second. */
		EXPECT_U64(test, fake_slot_count(s, move.first_slot + (move.shared_tags ? 47 : 111), AT_ENDED), 1);
		fake_expect(test, 0, 0, "new slots", &one_io);
		if (n % 3 != 1)
			fake_expect(test, 0, 1, "new slots", &one_io);
		rq->tag = 3;
	}
}

#define MOVE(...) { .queues = 1, .stride = 32, .first_slot = 32, __VA_ARGS__ }

static void blklat_targets_test_bad_moves(struct kunit *test)
{
	static const struct {
		u32 number;
		struct blklat_move move;
		int wanted;
	} cases[] = {
		{ 0, MOVE(), 0 }, { 1, MOVE(), 0 }, { 2, MOVE(), -EINVAL },
		{ 0, MOVE(.shared_tags = 1), 0 }, { 0, MOVE(.shared_tags = 2), -EINVAL },
		{ 0, MOVE(.queues = 0), -EINVAL }, { 0, MOVE(.stride = 24), -EINVAL },
		{ 0, MOVE(.first_slot = 16), -EINVAL },
		{ 0, MOVE(.first_slot = 8 * FAKE_SLOTS - 32), 0 }, { 0, MOVE(.first_slot = 8 * FAKE_SLOTS), -EINVAL },
		{ 0, MOVE(.first_slot = U32_MAX - 31), -EINVAL }, { 0, MOVE(.queues = U32_MAX), -E2BIG },
		{ 3, MOVE(), 0 },
	};
	struct blklat_session *s = session(test, 3);
	struct fake *f = test->priv;
	struct blklat_entry e;
	u32 i;

	add_shown(test, DEVICE, 3, 1);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, blklat_entry_find(s, cases[i].number, &e), 0);
		KUNIT_EXPECT_EQ_MSG(test, blklat_entry_move(s, &e, &cases[i].move), cases[i].wanted, "case %u", i);
		EXPECT_U64_MSG(test, cases[i].number != 2 && !e.target[0]->queues, 0, "case %u", i);
	}
	f->by = BLKLAT_BY_DEPTH;
	s = session(test, 3);
	KUNIT_EXPECT_EQ(test, blklat_entry_find(s, 0, &e) ?: blklat_entry_move(s, &e, &cases[0].move), -EINVAL);
}

/* --- many ---------------------------------------------------------------------------------- */

enum { PLACES = 64, TURNS = 4000 };

/*
 * Devices come and go in any order, at random addresses or such that begin in the same bucket, until every bucket has
 * had one: exactly those that are there are found, under their numbers, and a search for another ends.
 */
static void blklat_targets_test_churn(struct kunit *test)
{
	const struct blklat_setup setup = { .watches = 1, .room = PLACES - 1, .max_bios = 1 };
	u64 *key = fake_alloc(test, PLACES * sizeof(*key)), seed = 3;
	struct blklat_watch w = { .stage = TOTAL };
	struct fake *f = test->priv;
	u32 same_hash, turn, i, wrong = 0;
	struct blklat_entry e;

	for (same_hash = 0; same_hash < 2; same_hash++) {
		struct blklat_device d = { .disk = (void *)16, .queue = (void *)24 };
		struct blklat_session *s;

		blklat_session_free(f->s[0]);
		f->s[0] = NULL;
		memset(key, 0, PLACES * sizeof(*key));
		w.number = 0;
		KUNIT_ASSERT_EQ(test, blklat_session_new(&setup, &w, &d, &f->s[0]), 0);
		s = f->s[0];
		for (turn = 0; turn < (same_hash ? TURNS / 8 : TURNS); turn++) {
			w.number = 1 + fake_random(&seed) % (PLACES - 1);
			if (!blklat_entry_find(s, w.number, &e)) {
				blklat_entry_remove(s, &e);
				key[w.number] = 0;
			} else {
				do
					key[w.number] = fake_random(&seed) & ~63ULL;
				while (same_hash && blklat_bucket_of(s, (void *)key[w.number]) != s->buckets - 2);
				d.disk = (void *)key[w.number];
				d.queue = (void *)(key[w.number] + 8);
				KUNIT_ASSERT_EQ(test, blklat_entry_check(s, &w, &d) ?: blklat_entry_add(s, &w, &d, &e),
						0);
				blklat_entry_show(s, &e);
			}
			for (i = 1; i < PLACES; i++) {
				struct blklat_target *disk = blklat_target_of(s, (void *)key[i]);
				struct blklat_target *queue = blklat_target_of(s, (void *)(key[i] + 8));

				wrong += key[i] ? !disk || !queue || disk->watch[TOTAL] != i + 1 ||
							  queue->watch[TOTAL] != i + 1
						: disk || queue;
			}
		}
		EXPECT_U64(test, wrong, 0);
		for (i = 0; !same_hash && i < s->buckets; i++)
			EXPECT_U64(test, s->targets[i].key == BLKLAT_NO_KEY, 0);
	}
}

static struct kunit_case blklat_targets_test_cases[] = {
	KUNIT_CASE(blklat_targets_test_come_and_go),
	KUNIT_CASE(blklat_targets_test_bios),
	KUNIT_CASE(blklat_targets_test_old_address),
	KUNIT_CASE(blklat_targets_test_goes_at_once),
	KUNIT_CASE(blklat_targets_test_forgets),
	KUNIT_CASE(blklat_targets_test_errors),
	KUNIT_CASE(blklat_targets_test_move),
	KUNIT_CASE(blklat_targets_test_bad_moves),
	KUNIT_CASE(blklat_targets_test_churn),
	{}
};

static struct kunit_suite blklat_targets_test_suite = {
	.name = "blklat_targets",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_targets_test_cases,
};
kunit_test_suite(blklat_targets_test_suite);
