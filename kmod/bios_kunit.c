// SPDX-License-Identifier: GPL-2.0-only
/* Tests the table of bios: what is put in comes out, and it holds as many as promised for any kind of addresses. */
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "bios.h"
#include "kunit_session.h"

#define SLAB_AT 0xffff888004200000ULL	/* where x86-64 places its slabs */
#define RANDOM 0			/* instead of a distance between addresses */
#define WATCHES 3

static void bios_exit(struct kunit *test)
{
	blklat_bio_table_free(test->priv);
}

static struct blklat_bio_table *table_new(struct kunit *test, u32 max_bios)
{
	struct blklat_bio_table *t = NULL;

	blklat_bio_table_free(test->priv);
	test->priv = NULL;
	KUNIT_ASSERT_EQ(test, blklat_bio_table_new(max_bios, 0, &t), 0);
	test->priv = t;
	return t;
}

/* The @i-th address of a kind: @spacing bytes apart, or at random. */
static const void *address(u32 i, u32 spacing)
{
	u64 state = (u64)i * 0x9e3779b97f4a7c15ULL;

	return (const void *)(uintptr_t)(spacing ? SLAB_AT + (u64)i * spacing : fake_random(&state) & ~7ULL);
}

/* The start of the @i-th bio. */
static struct blklat_bio start_of(u32 i)
{
	return (struct blklat_bio){
		.ns = 1000000 + i, .bytes = i * 512, .op = i % BLKLAT_OPS,
		.watch = { 1 + i % WATCHES, i % 2 ? 1 + (i + 1) % WATCHES : 0 },
	};
}

static bool same(const struct blklat_bio *a, const struct blklat_bio *b)
{
	return a->ns == b->ns && a->bytes == b->bytes && a->op == b->op && a->watch[0] == b->watch[0] &&
	       a->watch[1] == b->watch[1];
}

static int add(struct kunit *test, u32 i, const void *bio)
{
	struct blklat_bio start = start_of(i);

	return blklat_bio_add(test->priv, bio, &start);
}

/* True if the @i-th bio comes out as it went in. */
static bool take(struct kunit *test, u32 i, const void *bio)
{
	struct blklat_bio start = start_of(i), taken;

	return blklat_bio_take(test->priv, &bio, 0, false, &taken) && same(&taken, &start);
}

static bool is_in(struct kunit *test, const void *bio)
{
	struct blklat_bio unused;

	return blklat_bio_take(test->priv, &bio, 0, false, &unused);
}

static u64 in_flight(struct kunit *test)
{
	struct blklat_bio_count counts[WATCHES];
	u64 sum = 0;
	u32 i;

	blklat_bio_count(test->priv, counts, WATCHES);
	for (i = 0; i < WATCHES; i++)
		sum += counts[i].in_flight;
	return sum;
}

static void blklat_bios_test_add_and_take(struct kunit *test)
{
	table_new(test, 16);
	KUNIT_EXPECT_FALSE(test, is_in(test, address(1, 256)));
	KUNIT_EXPECT_EQ(test, add(test, 1, address(1, 256)), 0);
	KUNIT_EXPECT_EQ(test, add(test, 2, address(2, 256)), 0);
	KUNIT_EXPECT_FALSE(test, is_in(test, address(3, 256)));
	KUNIT_EXPECT_TRUE(test, take(test, 1, address(1, 256)));
	KUNIT_EXPECT_FALSE(test, is_in(test, address(1, 256)));
	KUNIT_EXPECT_TRUE(test, take(test, 2, address(2, 256)));
	EXPECT_U64(test, in_flight(test), 0);
}

/* A bio's memory is reused immediately, more often than the table has room. */
static void blklat_bios_test_used_again(struct kunit *test)
{
	u32 i;

	table_new(test, 8);
	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_EQ_MSG(test, add(test, i, address(i % 3, 256)), 0, "round %u", i);
		KUNIT_ASSERT_TRUE_MSG(test, take(test, i, address(i % 3, 256)), "round %u", i);
	}
	EXPECT_U64(test, in_flight(test), 0);
}

static void blklat_bios_test_overwritten(struct kunit *test)
{
	struct blklat_bio first = start_of(5), second = start_of(6), missed;

	table_new(test, 16);
	KUNIT_EXPECT_EQ(test, add(test, 5, address(1, 256)), 0);
	EXPECT_U64(test, in_flight(test), 2);	/* the bio has two watches */
	KUNIT_EXPECT_EQ(test, blklat_bio_add(test->priv, address(1, 256), &second), -EEXIST);
	blklat_bio_replace(test->priv, address(1, 256), &second, &missed);
	KUNIT_EXPECT_TRUE(test, same(&missed, &first));
	EXPECT_U64(test, in_flight(test), 1);
	KUNIT_EXPECT_TRUE(test, take(test, 6, address(1, 256)));
	KUNIT_EXPECT_FALSE(test, is_in(test, address(1, 256)));
}

/* A known address is also recognised if the table is full. */
static void blklat_bios_test_overwritten_when_full(struct kunit *test)
{
	struct blklat_bio start = start_of(0), missed;
	u32 i = 0, k;

	table_new(test, 8);
	while (!add(test, i, address(i, 256)))
		KUNIT_ASSERT_TRUE(test, i++ < 1000);
	for (k = 0; k < i; k++) {
		struct blklat_bio old = start_of(k);

		KUNIT_EXPECT_EQ(test, blklat_bio_add(test->priv, address(k, 256), &start), -EEXIST);
		blklat_bio_replace(test->priv, address(k, 256), &start, &missed);
		KUNIT_EXPECT_TRUE_MSG(test, same(&missed, &old), "bio %u", k);
	}
}

static void blklat_bios_test_count(struct kunit *test)
{
	struct blklat_bio_count counts[WATCHES], wanted[WATCHES];
	u32 i, k;

	table_new(test, 1000);
	for (k = 0; k < WATCHES; k++)
		wanted[k] = (struct blklat_bio_count){ .earliest_ns = U64_MAX };
	/* Backwards: the oldest come last. */
	for (i = 900; i-- > 0;) {
		struct blklat_bio start = start_of(i);

		KUNIT_ASSERT_EQ(test, add(test, i, address(i, 256)), 0);
		for (k = 0; k < 2; k++)
			if (start.watch[k]) {
				wanted[start.watch[k] - 1].in_flight++;
				wanted[start.watch[k] - 1].starts_ns += start.ns;
				wanted[start.watch[k] - 1].earliest_ns = start.ns;
			}
		if (i % 100)
			continue;
		blklat_bio_count(test->priv, counts, WATCHES);
		for (k = 0; k < WATCHES; k++) {
			EXPECT_U64_MSG(test, counts[k].in_flight, wanted[k].in_flight, "watch %u", k);
			EXPECT_U64_MSG(test, counts[k].earliest_ns, wanted[k].earliest_ns, "watch %u", k);
			EXPECT_U64_MSG(test, counts[k].starts_ns, wanted[k].starts_ns, "watch %u", k);
		}
	}
}

/* Fills the table with bios of a kind, then takes all out as they went in, and finds it empty. */
static u32 fill_and_empty(struct kunit *test, u32 spacing, u32 most)
{
	u32 n = 0, i, wrong = 0;

	while (n < most && !add(test, n, address(n, spacing))) {
		n++;
		if (!(n % 4096))
			cond_resched();
	}
	if (n < most)
		KUNIT_EXPECT_EQ(test, add(test, n, address(n, spacing)), -ENOSPC);
	KUNIT_EXPECT_FALSE(test, is_in(test, address(n, spacing)));
	for (i = 0; i < n; i++)
		wrong += !take(test, i, address(i, spacing));
	EXPECT_U64_MSG(test, wrong, 0, "spacing %u: of %u came out wrong", spacing, n);
	EXPECT_U64(test, in_flight(test), 0);
	return n;
}

/*
 * Random addresses, and evenly spaced ones, as slabs give bios of all sizes, alone or within other
 * structs.
 */
static void blklat_bios_test_capacity(struct kunit *test)
{
	static const u32 sizes[] = {
		1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 100, 1000, 4095, 4096, 16384, 32768, 65536,
	};
	static const u32 spacings[] = {
		RANDOM, 256, 64, 96, 128, 192, 320, 384, 448, 512, 1024, 2048, 4096, 65536,
	};
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (k = 0; k < ARRAY_SIZE(spacings); k++) {
			table_new(test, sizes[i]);
			n = fill_and_empty(test, spacings[k], 8 * sizes[i] + 64);
			KUNIT_EXPECT_TRUE_MSG(test, n >= sizes[i], "room for %u, spacing %u: only %u went in",
					      sizes[i], spacings[k], n);
			/* The table is bounded, so it gets full at some point. */
			KUNIT_EXPECT_TRUE_MSG(test, n < 8 * sizes[i] + 64, "%u, spacing %u: never full", sizes[i],
					      spacings[k]);
		}
}

/* As many as promised are always in the table, while each in turn makes way for another address. */
static void blklat_bios_test_churn(struct kunit *test)
{
	const u32 size = 4096, rounds = 20;
	u32 i, refused = 0;

	table_new(test, size);
	for (i = 0; i < rounds * size; i++) {
		if (i >= size && !take(test, i - size, address(i - size, RANDOM)))
			KUNIT_FAIL(test, "bio %u", i - size);
		refused += !!add(test, i, address(i, RANDOM));
	}
	EXPECT_U64(test, refused, 0);
}

/*
 * If a bio leaves a full table, it can be added again. One that found no room can be added when all
 * have left.
 */
static void blklat_bios_test_room_again(struct kunit *test)
{
	u32 n = 0, i;

	table_new(test, 8);
	while (!add(test, n, address(n, 256)))
		KUNIT_ASSERT_TRUE(test, n++ < 1000);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_TRUE(test, take(test, i, address(i, 256)));
		KUNIT_ASSERT_EQ(test, add(test, i, address(i, 256)), 0);
	}
	KUNIT_EXPECT_EQ(test, add(test, n, address(n, 256)), -ENOSPC);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_TRUE(test, take(test, i, address(i, 256)));
	KUNIT_EXPECT_EQ(test, add(test, n, address(n, 256)), 0);
}

/* Watches are small numbers, but the count does not rely on that. */
static void blklat_bios_test_count_of_fewer_watches(struct kunit *test)
{
	struct blklat_bio_count counts[WATCHES] = { { 9, 9 }, { 9, 9 }, { 9, 9 } };
	struct blklat_bio start = { .ns = 5, .watch = { 3, 1 } };

	table_new(test, 8);
	KUNIT_ASSERT_EQ(test, blklat_bio_add(test->priv, address(0, 256), &start), 0);
	blklat_bio_count(test->priv, counts, 2);
	EXPECT_U64(test, counts[0].in_flight, 1);
	EXPECT_U64(test, counts[0].earliest_ns, 5);
	EXPECT_U64(test, counts[1].in_flight, 0);
	EXPECT_U64(test, counts[1].earliest_ns, U64_MAX);
	EXPECT_U64(test, counts[2].in_flight, 9);
	EXPECT_U64(test, counts[2].earliest_ns, 9);
}

static struct kunit_case blklat_bios_test_cases[] = {
	KUNIT_CASE(blklat_bios_test_add_and_take),
	KUNIT_CASE(blklat_bios_test_used_again),
	KUNIT_CASE(blklat_bios_test_overwritten),
	KUNIT_CASE(blklat_bios_test_overwritten_when_full),
	KUNIT_CASE(blklat_bios_test_count),
	KUNIT_CASE(blklat_bios_test_capacity),
	KUNIT_CASE(blklat_bios_test_churn),
	KUNIT_CASE(blklat_bios_test_room_again),
	KUNIT_CASE(blklat_bios_test_count_of_fewer_watches),
	{}
};

static struct kunit_suite blklat_bios_test_suite = {
	.name = "blklat_bios",
	.exit = bios_exit,
	.test_cases = blklat_bios_test_cases,
};
kunit_test_suite(blklat_bios_test_suite);
