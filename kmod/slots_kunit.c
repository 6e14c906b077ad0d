// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests slots.h: which slot a request has, by abi.h's formula written here in plain u64, and that the
 * contents of the slots, which userspace can write, never lead anywhere else.
 */
#include <linux/limits.h>
#include <linux/string.h>

#include "kunit_session.h"
#include "slots.h"

/* Slots 0 to 31 and the last 32 are unused. */
enum { FIRST = 32, N_SLOTS = FIRST + FAKE_SLOTS + 32 };
enum { WORDS = N_SLOTS / 32 * WORDS_OF_32_SLOTS };

struct slots {
	struct blklat_session s;
	struct blklat_target target;
	struct blk_mq_hw_ctx *hctx;
	struct request *rq;
	u32 *words, *wanted;
};

static int slots_init(struct kunit *test)
{
	struct slots *f = fake_alloc(test, sizeof(*f));

	f->words = fake_alloc(test, WORDS * sizeof(u32));
	f->wanted = fake_alloc(test, WORDS * sizeof(u32));
	f->hctx = fake_alloc(test, sizeof(*f->hctx));
	f->rq = fake_alloc(test, sizeof(*f->rq));
	f->rq->mq_hctx = f->hctx;
	f->s.slots = (void *)f->words;
	f->s.n_slots = N_SLOTS;
	f->target = (struct blklat_target){
		.first_slot = FIRST,
		.queues = FAKE_QUEUES, .stride = FAKE_STRIDE, .distance = FAKE_STRIDE,
	};
	test->priv = f;
	return 0;
}

static struct blklat_slot slot_of(struct slots *f, u32 queue, int tag, int internal_tag)
{
	struct blklat_slot slot = {};

	f->hctx->queue_num = queue;
	f->rq->tag = tag;
	f->rq->internal_tag = internal_tag;
	blklat_slot_of(&f->s, &f->target, f->rq, &slot);
	return slot;
}

/* The time and one of the counts of slot @number in @words. */
static u64 *time_in(u32 *words, u32 number)
{
	return (u64 *)(words + number / 32 * WORDS_OF_32_SLOTS) + number % 32;
}

static u32 *count_in(u32 *words, u32 number, u32 at)
{
	return words + number / 32 * WORDS_OF_32_SLOTS + at + number % 32;
}

static u64 *time_of(struct blklat_slot slot)
{
	return slot.in ? &slot.in->ns[slot.i] : NULL;
}

static void expect_words(struct kunit *test, const char *what)
{
	struct slots *f = test->priv;
	u32 i;

	for (i = 0; i < WORDS; i++)
		EXPECT_U64_MSG(test, f->words[i], f->wanted[i], "%s: word %u", what, i);
}

/* Calls @each with the number and the address of every slot that a request can have. */
static void for_all(struct kunit *test,
		    void (*each)(struct kunit *test, u32 number, struct blklat_slot slot))
{
	u32 queue, tag;

	for (queue = 0; queue < FAKE_QUEUES; queue++)
		for (tag = 0; tag < FAKE_STRIDE; tag++)
			each(test, FIRST + queue * FAKE_STRIDE + tag,
			     slot_of(test->priv, queue, tag % 2 ? -1 : tag, tag % 2 ? tag : -1));
}

static void expect_place(struct kunit *test, u32 number, struct blklat_slot slot)
{
	struct slots *f = test->priv;

	KUNIT_EXPECT_PTR_EQ_MSG(test, time_of(slot), time_in(f->words, number), "slot %u", number);
}

/* Under a scheduler its tag decides, whether the driver tag is missing, given back, or anything else. */
static void blklat_slots_test_internal_tag_first(struct kunit *test)
{
	static const int tags[] = { -1, 0, 5, 9, 31, 32, INT_MAX, INT_MIN };
	struct slots *f = test->priv;
	u32 i, internal;

	for (i = 0; i < ARRAY_SIZE(tags); i++)
		for (internal = 0; internal < FAKE_STRIDE; internal++)
			expect_place(test, FIRST + 2 * FAKE_STRIDE + internal,
				     slot_of(f, 2, tags[i], internal));
}

static void blklat_slots_test_bounds(struct kunit *test)
{
	static const struct {
		u32 queue;
		int tag, internal_tag;
		int number;	/* within the watch; -1: no slot */
	} cases[] = {
		{ 0, 0, -1, 0 },
		{ 0, FAKE_STRIDE - 1, -1, FAKE_STRIDE - 1 },
		{ 0, FAKE_STRIDE, -1, -1 },
		{ 0, -1, -1, -1 },
		{ 0, INT_MAX, -1, -1 },
		{ 0, INT_MIN, -1, -1 },
		{ 0, 0, FAKE_STRIDE - 1, FAKE_STRIDE - 1 },
		{ 0, 0, FAKE_STRIDE, -1 },
		{ 0, 0, INT_MAX, -1 },
		{ FAKE_QUEUES - 1, FAKE_STRIDE - 1, -1, FAKE_SLOTS - 1 },
		{ FAKE_QUEUES - 1, FAKE_STRIDE, -1, -1 },
		{ FAKE_QUEUES, 0, -1, -1 },
		{ FAKE_QUEUES, 0, 0, -1 },
		{ UINT_MAX, 0, -1, -1 },
		{ UINT_MAX / FAKE_STRIDE + 1, 0, -1, -1 },
	};
	struct slots *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_slot slot = slot_of(f, cases[i].queue, cases[i].tag, cases[i].internal_tag);
		u64 *wanted = cases[i].number < 0 ? NULL : time_in(f->words, FIRST + cases[i].number);

		KUNIT_EXPECT_PTR_EQ_MSG(test, time_of(slot), wanted,
					"queue %u, tag %d, internal tag %d", cases[i].queue, cases[i].tag,
					cases[i].internal_tag);
	}
}

/*
 * Each tag has one slot, whatever the queue; and those of other tags, and of queues that are not known, have none, as
 * ever.
 */
static void blklat_slots_test_shared_tags(struct kunit *test)
{
	struct slots *f = test->priv;
	u32 queue, tag;

	f->target.distance = 0;
	for (queue = 0; queue < FAKE_QUEUES; queue++) {
		for (tag = 0; tag < FAKE_STRIDE; tag++) {
			expect_place(test, FIRST + tag, slot_of(f, queue, tag, -1));
			expect_place(test, FIRST + tag, slot_of(f, queue, -1, tag));
		}
		KUNIT_EXPECT_PTR_EQ(test, (void *)slot_of(f, queue, FAKE_STRIDE, -1).in, NULL);
	}
	KUNIT_EXPECT_PTR_EQ(test, (void *)slot_of(f, FAKE_QUEUES, 0, -1).in, NULL);
}

static void start_it(struct kunit *test, u32 number, struct blklat_slot slot)
{
	struct slots *f = test->priv;

	blklat_slot_start(slot, 1000 + number);
	*time_in(f->wanted, number) = 1000 + number;
	++*count_in(f->wanted, number, AT_STARTED);
	EXPECT_U64(test, blklat_slot_ns(slot), 1000 + number);
}

static void end_it(struct kunit *test, u32 number, struct blklat_slot slot)
{
	struct slots *f = test->priv;

	blklat_slot_end(slot);
	*time_in(f->wanted, number) = 1;
	++*count_in(f->wanted, number, AT_ENDED);
	EXPECT_U64(test, blklat_slot_ns(slot), 1);
}

static void queue_it(struct kunit *test, u32 number, struct blklat_slot slot)
{
	struct slots *f = test->priv;

	blklat_slot_queue(slot, 2000 + number);
	*time_in(f->wanted, number) = (1ULL << 61) + 2000 + number;
}

static void unqueue_it(struct kunit *test, u32 number, struct blklat_slot slot)
{
	struct slots *f = test->priv;

	blklat_slot_unqueue(slot, number % 2);
	*time_in(f->wanted, number) = number % 2;
}

/* All slots are in use at once, so that no two can be the same. */
static void blklat_slots_test_lives(struct kunit *test)
{
	expect_words(test, "unused");
	for_all(test, queue_it);
	expect_words(test, "waiting");
	for_all(test, unqueue_it);
	expect_words(test, "left the queue");
	for_all(test, start_it);
	expect_words(test, "started");
	for_all(test, end_it);
	expect_words(test, "ended");
	for_all(test, start_it);
	for_all(test, start_it);
	expect_words(test, "started again and overwritten");
	for_all(test, end_it);
	expect_words(test, "ended, one start too many");
}

/* Whatever the slots contain, even those in use: the places stay the same, and nothing else changes. */
static void blklat_slots_test_spoiled_memory(struct kunit *test)
{
	static const u32 patterns[] = { 0, 1, 2, U32_MAX, U32_MAX - 1, S32_MAX, 0x5a5a5a5a };
	struct slots *f = test->priv;
	u64 seed = 3;
	u32 i, k;

	for (i = 0; i <= ARRAY_SIZE(patterns); i++) {
		for (k = 0; k < WORDS; k++)
			f->words[k] = i < ARRAY_SIZE(patterns) ? patterns[i] : fake_random(&seed);
		memcpy(f->wanted, f->words, WORDS * sizeof(u32));
		for_all(test, expect_place);
		for_all(test, start_it);
		expect_words(test, "spoiled, started");
		for_all(test, end_it);
		expect_words(test, "spoiled, ended");
	}
}

static struct kunit_case blklat_slots_test_cases[] = {
	KUNIT_CASE(blklat_slots_test_internal_tag_first),
	KUNIT_CASE(blklat_slots_test_bounds),
	KUNIT_CASE(blklat_slots_test_shared_tags),
	KUNIT_CASE(blklat_slots_test_lives),
	KUNIT_CASE(blklat_slots_test_spoiled_memory),
	{}
};

static struct kunit_suite blklat_slots_test_suite = {
	.name = "blklat_slots",
	.init = slots_init,
	.test_cases = blklat_slots_test_cases,
};
kunit_test_suite(blklat_slots_test_suite);
