// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a session is made of: each field of a configuration, the layout of the region, and the table of
 * targets with the worst possible keys.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/limits.h>
#include <linux/mm.h>

#include "kunit_session.h"

enum { MAX_WATCHES = 65536, MAX_BIOS = 16 << 20, MAX_SPARE = 1 << 24, MAX_SLOTS = 1 << 26 };
enum { MAX_QUEUES = 1 << 16, MAX_STRIDE = 1 << 20 };
enum { DEVICE = BLKLAT_STAGE_DEVICE, QUEUE = BLKLAT_STAGE_QUEUE, TOTAL = BLKLAT_STAGE_TOTAL, WAIT = BLKLAT_STAGE_WAIT };

#define SETUP(...) { .version = 20, .watches = 1, .scale = 6, .max_bios = 1, __VA_ARGS__ }

static void blklat_session_test_setup_check(struct kunit *test)
{
	static const struct {
		struct blklat_setup setup;
		int wanted;
	} cases[] = {
		{ SETUP(.scale = 0), 0 },
		{ SETUP(.scale = 6), 0 },
		{ SETUP(.scale = 7), -EINVAL },
		{ SETUP(.scale = U32_MAX), -EINVAL },
		{ SETUP(.version = 0), -EPROTO },
		{ SETUP(.version = 11), -EPROTO },
		{ SETUP(.version = 18, .watches = 0, .scale = 99, .cgroups = 1), -EPROTO },
		{ SETUP(.watches = 0), -EINVAL },
		{ SETUP(.watches = MAX_WATCHES), 0 },
		{ SETUP(.watches = MAX_WATCHES + 1), -E2BIG },
		{ SETUP(.watches = U32_MAX), -E2BIG },
		{ SETUP(.max_bios = 0), 0 },
		{ SETUP(.max_bios = MAX_BIOS), 0 },
		{ SETUP(.max_bios = MAX_BIOS + 1), -E2BIG },
		{ SETUP(.max_bios = U32_MAX), -E2BIG },
		{ SETUP(.by = 1), 0 },
		{ SETUP(.by = 4), 0 },
		{ SETUP(.by = 9), -EINVAL },
		{ SETUP(.by = U32_MAX), -EINVAL },
		/* The limit is for watches including their nine parts. */
		{ SETUP(.by = 1, .watches = MAX_WATCHES / 10), 0 },
		{ SETUP(.by = 1, .watches = MAX_WATCHES / 10 + 1), -E2BIG },
		{ SETUP(.by = 1, .watches = U32_MAX / 10 + 1), -E2BIG },
		{ SETUP(.by = 5, .cgroups = 1), 0 },
		{ SETUP(.by = 5, .cgroups = 253), 0 },
		{ SETUP(.by = 5, .cgroups = 254), -EINVAL },
		{ SETUP(.by = 5, .cgroups = U32_MAX), -EINVAL },
		{ SETUP(.by = 5, .cgroups = 0), -EINVAL },
		{ SETUP(.by = 6, .cgroups = 253), 0 },
		{ SETUP(.by = 6, .cgroups = 0), -EINVAL },
		{ SETUP(.by = 0, .cgroups = 1), -EINVAL },
		{ SETUP(.by = 1, .cgroups = 1U << 31), -EINVAL },
		{ SETUP(.by = 5, .cgroups = 253, .watches = MAX_WATCHES / 256), 0 },
		{ SETUP(.by = 5, .cgroups = 253, .watches = MAX_WATCHES / 256 + 1), -E2BIG },
		{ SETUP(.idle_gap_ns = 1), 0 },
		{ SETUP(.idle_gap_ns = (1ULL << 63) - 1), 0 },
		{ SETUP(.idle_gap_ns = 1ULL << 63), -EINVAL },
		{ SETUP(.idle_gap_ns = U64_MAX), -EINVAL },
		{ SETUP(.watch = U64_MAX, .bytes = U64_MAX), 0 },	/* not checked here */
		{ SETUP(.slow_places = 2), 0 },
		{ SETUP(.slow_places = 1), -EINVAL },
		{ SETUP(.slow_places = 3), -EINVAL },
		{ SETUP(.slow_places = U32_MAX), -EINVAL },
		{ SETUP(.slow_places = 1 << 20), 0 },
		{ SETUP(.slow_places = 1 << 21), -E2BIG },
		{ SETUP(.slow_places = 1U << 31), -E2BIG },
		{ SETUP(.slow_places = 2, .notes = 2), 0 },
		{ SETUP(.slow_places = 2, .notes = 1), -EINVAL },
		{ SETUP(.slow_places = 2, .notes = 6), -EINVAL },
		{ SETUP(.slow_places = 2, .notes = 64 << 20), 0 },
		{ SETUP(.slow_places = 2, .notes = 128 << 20), -E2BIG },
		{ SETUP(.slow_places = 2, .notes = 2, .owners = 1), 0 },
		{ SETUP(.slow_places = 2, .notes = 2, .owners = 2), -EINVAL },
		{ SETUP(.slow_places = 2, .owners = 1), -EINVAL },
		{ SETUP(.notes = 2), -EINVAL },
		{ SETUP(.owners = 1), -EINVAL },
		{ SETUP(.spare = MAX_SPARE), 0 },
		{ SETUP(.spare = MAX_SPARE + 1), -E2BIG },
		{ SETUP(.spare = U32_MAX), -E2BIG },
		{ SETUP(.room = MAX_WATCHES - 1), 0 },
		{ SETUP(.room = MAX_WATCHES), -E2BIG },
		{ SETUP(.room = U32_MAX), -E2BIG },
		{ SETUP(.by = 1, .room = MAX_WATCHES / 10 - 1), 0 },
		{ SETUP(.by = 1, .room = MAX_WATCHES / 10), -E2BIG },
		{ SETUP(.slots = MAX_SLOTS), 0 },
		{ SETUP(.slots = MAX_SLOTS + 32), -E2BIG },
		{ SETUP(.slots = U32_MAX - 31), -E2BIG },
		{ SETUP(.slots = 15), -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, blklat_setup_check(&cases[i].setup), cases[i].wanted, "case %u", i);
}

#define WATCH(...) { .fd = -1, .stage = DEVICE, .queues = 2, .stride = 64, __VA_ARGS__ }
#define TOTAL_WATCH(...) { .stage = TOTAL, __VA_ARGS__ }

static void blklat_session_test_watch_check(struct kunit *test)
{
	static const struct {
		struct blklat_watch watch;
		int wanted;
	} cases[] = {
		{ WATCH(.stage = DEVICE), 0 },
		{ WATCH(.stage = QUEUE), 0 },
		{ WATCH(.stage = TOTAL), -EINVAL },
		{ WATCH(.stage = WAIT), -EINVAL },
		{ { .stage = WAIT }, 0 },
		{ WATCH(.stage = BLKLAT_STAGES), -EINVAL },
		{ WATCH(.stage = U32_MAX), -EINVAL },
		{ WATCH(.first_slot = 16), -EINVAL },
		{ WATCH(.first_slot = 32), 0 },
		{ WATCH(.first_slot = MAX_SLOTS - 128), 0 },
		{ WATCH(.first_slot = MAX_SLOTS - 96), -EINVAL },
		{ WATCH(.first_slot = U32_MAX - 31), -EINVAL },
		{ WATCH(.number = U32_MAX), 0 },	/* nor is the number checked here */
		{ WATCH(.queues = 0), -EINVAL },
		{ WATCH(.shared_tags = 1), 0 },
		{ WATCH(.shared_tags = 2), -EINVAL },
		{ WATCH(.shared_tags = 1, .first_slot = MAX_SLOTS - 64), 0 },
		{ WATCH(.shared_tags = 1, .first_slot = MAX_SLOTS - 32), -EINVAL },
		{ WATCH(.shared_tags = 1, .first_slot = U32_MAX - 31), -EINVAL },
		{ WATCH(.shared_tags = 1, .queues = MAX_QUEUES, .stride = MAX_STRIDE), 0 },
		{ WATCH(.shared_tags = 1, .queues = MAX_QUEUES + 1), -E2BIG },
		{ WATCH(.queues = MAX_QUEUES, .stride = 1024), 0 },
		{ WATCH(.queues = MAX_QUEUES, .stride = 1056), -EINVAL },
		{ WATCH(.queues = MAX_QUEUES, .stride = MAX_STRIDE), -EINVAL },
		{ WATCH(.queues = MAX_QUEUES + 1), -E2BIG },
		{ WATCH(.queues = U32_MAX), -E2BIG },
		{ WATCH(.stride = 0), -EINVAL },
		{ WATCH(.stride = 32), 0 },
		{ WATCH(.stride = 63), -EINVAL },
		{ WATCH(.stride = 65), -EINVAL },
		{ WATCH(.stride = 80), -EINVAL },
		{ WATCH(.stride = MAX_STRIDE), 0 },
		{ WATCH(.stride = MAX_STRIDE + 32), -E2BIG },
		{ WATCH(.stride = U32_MAX - 31), -E2BIG },
		{ WATCH(.fd = INT_MAX), 0 },	/* the fd is checked later */
		{ TOTAL_WATCH(.fd = 0), 0 },
		{ TOTAL_WATCH(.queues = 1), -EINVAL },
		{ TOTAL_WATCH(.stride = 16), -EINVAL },
		{ TOTAL_WATCH(.first_slot = 16), -EINVAL },
		{ TOTAL_WATCH(.shared_tags = 1), -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, blklat_watch_check(&cases[i].watch, MAX_SLOTS), cases[i].wanted, "case %u", i);
}

/* --- the region ---------------------------------------------------------------------------- */

static u64 pages(u64 bytes)
{
	return (bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}

/*
 * Expects the arrays to be page-aligned, in order, without gaps or overlaps, and all of the region to
 * be mapped and empty.
 */
static void expect_layout(struct kunit *test, const struct blklat_session *s, u32 scale, u32 watches, u32 spare,
			  u64 slots, bool pauses)
{
	u64 rows = (u64)nr_cpu_ids * watches, series_bytes = fake_series_words(scale) * 8, *word, n = 0;
	u64 series = PAGE_SIZE, own = series + pages((watches * 5 + spare) * series_bytes),
	    accounts = own + pages(rows * 40);
	u64 at = accounts + pages(rows / (1 + s->parts) * 10 * 8), idle = at + pages(slots * 16);
	u64 end = idle + (pauses ? pages(watches * 5ULL * 8 * (1 + fake_cells(min(scale, 3U)))) : 0);
	const u64 wanted[] = { series, own, accounts, at, pauses ? idle : 0, 0, 0, 0, end };
	const struct blklat_header *h = s->header;
	u32 i;

	EXPECT_U64(test, h->magic, 0x74616c6b6c62ULL);
	EXPECT_U64(test, h->version, 20);
	EXPECT_U64(test, h->cpus, nr_cpu_ids);
	EXPECT_U64(test, h->watches, watches);
	EXPECT_U64(test, h->scale, scale);
	EXPECT_U64(test, h->series_bytes, series_bytes);
	EXPECT_U64(test, h->epoch, 0);
	EXPECT_U64(test, h->series, watches * 5 + spare);
	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		EXPECT_U64_MSG(test, (&h->series_offset)[i], wanted[i], "scale %u, %u watches, offset %u", scale, watches, i);
	EXPECT_U64(test, s->bytes, end);
	for (word = (u64 *)(h + 1); word < (u64 *)((void *)h + end); word++)
		n += *word;
	EXPECT_U64_MSG(test, n, 0, "scale %u, %u watches: not empty", scale, watches);
}

/* Parts have rows but no slots. */
static void blklat_session_test_layout(struct kunit *test)
{
	static const struct fake_watch w[] = {
		{ TOTAL, 0 }, { DEVICE, 0 }, { QUEUE, 0 }, { QUEUE, 1 }, { DEVICE, 1, .partition = true },
		{ DEVICE, 1 },
	};
	struct fake *f = test->priv;
	u32 scale, n;

	for (scale = 0; scale <= 6; scale++)
		for (n = 1; n <= ARRAY_SIZE(w); n++) {
			struct blklat_session *s;

			f->by = scale / 2 % 2 ? BLKLAT_BY_SIZE : BLKLAT_BY_NOTHING;
			f->idle_gap_ns = n % 2;
			f->spare = 1 + scale * n;
			f->room = scale % 3;
			f->more_slots = scale % 2 * 160;
			s = fake_session(test, 0, scale, FAKE_MAX_BIOS, w, n);
			expect_layout(test, s, scale, (n + f->room) * (f->by ? 10 : 1), f->spare,
				      (n - 1) * 96 + f->more_slots, n % 2);
		}
}

/* The arrays for slow IOs come after all others. They are empty, and no latency is slow yet. */
static void blklat_session_test_slow_layout(struct kunit *test)
{
	static const struct fake_watch w[] = { { DEVICE, 0 }, { QUEUE, 0 }, { TOTAL, 0 } };
	struct fake *f = test->priv;
	u64 before, from, untold, ring, *word, ones = 0, n = 0;
	const struct blklat_header *h;

	f->by = BLKLAT_BY_SIZE;
	before = fake_session(test, 0, 0, FAKE_MAX_BIOS, w, 3)->bytes;
	f->slow_places = 512;
	f->notes = 64;
	h = fake_session(test, 0, 0, FAKE_MAX_BIOS, w, 3)->header;
	from = before;
	untold = from + pages(30 * 5 * 8);
	ring = untold + pages(30 * 8);
	EXPECT_U64(test, h->slow_from_offset, from);
	EXPECT_U64(test, h->slow_untold_offset, untold);
	EXPECT_U64(test, h->slow_ring_offset, ring);
	EXPECT_U64(test, h->bytes, ring + pages(128 + 512 * 248));
	for (word = (void *)h + from; word < (u64 *)((void *)h + untold); word++)
		ones += *word == U64_MAX;
	EXPECT_U64(test, ones, 30 * 5);
	for (; word < (u64 *)((void *)h + h->bytes); word++)
		n += *word;
	EXPECT_U64(test, n, 0);
}

/* What else a session knows, to choose the probes that it needs. */
static void blklat_session_test_stages(struct kunit *test)
{
	static const struct {
		struct fake_watch w;
		bool stages[BLKLAT_STAGES], partitions, bios_anywhere;
	} cases[] = {
		{ { DEVICE }, { true } },
		{ { QUEUE }, { false, true } },
		{ { TOTAL }, { false, false, true } },
		{ { TOTAL, .no_requests = true }, { false, false, true }, .bios_anywhere = true },
		{ { DEVICE, .partition = true }, { true }, .partitions = true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = fake_session(test, 0, 0, FAKE_MAX_BIOS, &cases[i].w, 1);

		KUNIT_EXPECT_TRUE_MSG(test, !memcmp(s->stages, cases[i].stages, sizeof(s->stages)), "case %u", i);
		EXPECT_U64_MSG(test, s->partitions, cases[i].partitions, "case %u", i);
		EXPECT_U64_MSG(test, s->requests_only, !cases[i].partitions && !cases[i].stages[BLKLAT_STAGE_QUEUE] &&
			       !cases[i].stages[BLKLAT_STAGE_TOTAL], "case %u", i);
		EXPECT_U64_MSG(test, s->bios_anywhere, cases[i].bios_anywhere, "case %u", i);
		EXPECT_U64_MSG(test, !!s->bios, cases[i].w.stage == TOTAL, "case %u", i);
	}
}

/* --- invalid configurations ---------------------------------------------------------------- */

static int session_of(struct kunit *test, const struct blklat_watch *watch, const struct blklat_device *device, u32 n,
		      u32 max_bios, u32 slots)
{
	struct blklat_setup setup = { .version = 5, .watches = n, .max_bios = max_bios, .slots = slots };
	struct blklat_session *s = NULL;
	int err = blklat_session_new(&setup, watch, device, &s);

	KUNIT_EXPECT_TRUE_MSG(test, !s == !!err, "error %d", err);
	blklat_session_free(s);
	return err;
}

static void blklat_session_test_pairs(struct kunit *test)
{
	static const struct {
		struct fake_watch w[2];
		int wanted;
	} cases[] = {
		{ { { DEVICE, 0 }, { DEVICE, 1 } }, 0 },
		{ { { DEVICE, 0 }, { QUEUE, 0 } }, 0 },
		{ { { DEVICE, 0 }, { TOTAL, 0 } }, 0 },
		{ { { TOTAL, 0 }, { WAIT, 0 } }, 0 },
		{ { { TOTAL, 0 }, { WAIT, 1 } }, -EINVAL },
		{ { { DEVICE, 0 }, { WAIT, 0 } }, -EINVAL },
		{ { { TOTAL, 0 }, { WAIT, 0, .partition = true } }, -EINVAL },
		{ { { DEVICE, 0 }, { DEVICE, 0, .partition = true } }, 0 },
		{ { { DEVICE, 0 }, { DEVICE, 0 } }, -EEXIST },
		{ { { QUEUE, 0 }, { QUEUE, 0 } }, -EEXIST },
		{ { { TOTAL, 0 }, { TOTAL, 0 } }, -EEXIST },
		{ { { DEVICE, 0, .partition = true }, { DEVICE, 0, .partition = true } }, -EEXIST },
		{ { { TOTAL, 0, .no_requests = true }, { TOTAL, 1, .no_requests = true } }, 0 },
		{ { { TOTAL, 0, .no_requests = true }, { TOTAL, 0, .no_requests = true } }, -EEXIST },
		{ { { DEVICE, 0, .no_requests = true }, { TOTAL, 1 } }, -EOPNOTSUPP },
		{ { { TOTAL, 0 }, { QUEUE, 1, .no_requests = true } }, -EOPNOTSUPP },
		/* Before 5.12 a bio does not have its partition. */
		{ { { TOTAL, 0 }, { TOTAL, 0, .partition = true } }, BLKLAT_BIO_HAS_BDEV ? 0 : -EOPNOTSUPP },
	};
	struct fake *f = test->priv;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_watch watch[2];
		struct blklat_device device[2];
		u32 slots = 0;

		for (k = 0; k < 2; k++) {
			const struct fake_watch *w = &cases[i].w[k];

			watch[k] = fake_geometry(w->stage, k, &slots);
			fake_share_slots(cases[i].w, watch, k);
			device[k] = fake_device(f->disk[w->disk], w->partition, w->no_requests);
		}
		KUNIT_EXPECT_EQ_MSG(test, session_of(test, watch, device, 2, 8, slots), cases[i].wanted, "case %u", i);
	}
}

static void blklat_session_test_one_geometry(struct kunit *test)
{
	static const struct {
		u32 queues, stride, shared_tags, first_slot;
		int wanted;
	} cases[] = {
		{ 2, 32, 0, 0, 0 }, { 1, 32, 0, 0, -EINVAL }, { 2, 64, 0, 0, -EINVAL },
		{ 2, 32, 1, 0, -EINVAL }, { 2, 32, 0, 64, -EINVAL },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_device device[2] = {
			fake_device(f->disk[0], false, false), fake_device(f->disk[0], false, false),
		};
		struct blklat_watch watch[2] = {
			{ .stage = DEVICE, .queues = 2, .stride = 32 },
			{ .stage = QUEUE, .queues = cases[i].queues, .stride = cases[i].stride, .shared_tags = cases[i].shared_tags,
			  .first_slot = cases[i].first_slot, .number = 1 },
		};

		KUNIT_EXPECT_EQ_MSG(test, session_of(test, watch, device, 2, 8, 192), cases[i].wanted, "case %u", i);
		/* Another device may have another geometry. */
		device[1] = fake_device(f->disk[1], false, false);
		KUNIT_EXPECT_EQ_MSG(test, session_of(test, watch, device, 2, 8, 192), 0, "case %u, two disks", i);
		/* But numbers follow the order. */
		watch[1].number = 2;
		KUNIT_EXPECT_EQ_MSG(test, session_of(test, watch, device, 2, 8, 192), -EINVAL, "case %u, number", i);
	}
}

/*
 * The limit is half of the free memory. It is checked beforehand, so the kernel does not log a failed
 * allocation.
 */
static void blklat_session_test_too_big(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_device device = fake_device(f->disk[0], false, false);
	struct blklat_watch watch = { .stage = DEVICE, .queues = 1, .stride = 32 };
	bool fits = (16ULL << 26) / PAGE_SIZE <= si_mem_available() / 2;

	KUNIT_EXPECT_EQ(test, session_of(test, &watch, &device, 1, 0, MAX_SLOTS), fits ? 0 : -ENOMEM);
	watch = (struct blklat_watch){ .stage = TOTAL };
	/* An entry takes 32 bytes, and there are twice as many as bios. */
	fits = (64ULL << 24) / PAGE_SIZE <= si_mem_available() / 2;
	KUNIT_EXPECT_EQ(test, session_of(test, &watch, &device, 1, MAX_BIOS, 0), fits ? 0 : -ENOMEM);
	blklat_session_free(NULL);
}

/* --- targets ------------------------------------------------------------------------------- */

enum { MANY = 1024, KEYS = 2 * MANY, TARGET_BITS = 12 };

/* Addresses of queues and disks: random, or only such as have the last bucket as their first. */
static void make_keys(u64 *key, u32 n, bool same_hash)
{
	u64 seed = 11;
	u32 i;

	for (i = 0; i < n; i++)
		do
			key[i] = fake_random(&seed) & ~7ULL;
		while (!key[i] ||
		       (same_hash && hash_ptr((void *)key[i], TARGET_BITS) != (1U << TARGET_BITS) - 1));
}

/* Watch i has the keys 2 i (disk) and 2 i + 1 (queue). As many further keys are not watched. */
static void expect_targets(struct kunit *test, const struct blklat_session *s, const u64 *key)
{
	u32 i, wrong = 0, found = 0;

	EXPECT_U64(test, s->buckets, 1 << TARGET_BITS);
	for (i = 0; i < KEYS; i++) {
		struct blklat_target *t = blklat_target_of(s, (void *)key[i]);

		wrong += !t || t->key != (void *)key[i] || t->watch[TOTAL] != i / 2 + 1 || t->watch[DEVICE] ||
			 t->watch[QUEUE] || s->numbers[t - s->targets] != i / 2 ||
			 !blklat_is_open(t, BLKLAT_STARTS(TOTAL));
	}
	for (i = KEYS; i < 2 * KEYS; i++)
		found += !!blklat_target_of(s, (void *)key[i]);
	EXPECT_U64(test, wrong, 0);
	EXPECT_U64(test, found, 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)blklat_target_of(s, NULL), NULL);
}

static void blklat_session_test_targets(struct kunit *test)
{
	struct blklat_setup setup = { .version = 5, .watches = MANY, .max_bios = 1 };
	struct blklat_device *device = fake_alloc(test, MANY * sizeof(*device));
	struct blklat_watch *watch = fake_alloc(test, MANY * sizeof(*watch));
	u64 *key = fake_alloc(test, 2 * KEYS * sizeof(*key));
	struct fake *f = test->priv;
	u32 same_hash, i;

	for (same_hash = 0; same_hash < 2; same_hash++) {
		make_keys(key, 2 * KEYS, same_hash);
		for (i = 0; i < MANY; i++) {
			watch[i] = (struct blklat_watch){ .stage = TOTAL, .number = i };
			device[i] = (struct blklat_device){
				.disk = (void *)key[2 * i], .queue = (void *)key[2 * i + 1], .number = i,
			};
		}
		KUNIT_ASSERT_EQ(test, blklat_session_new(&setup, watch, device, &f->s[0]), 0);
		expect_targets(test, f->s[0], key);
		blklat_session_free(f->s[0]);
		f->s[0] = NULL;
	}
}

static struct kunit_case blklat_session_test_cases[] = {
	KUNIT_CASE(blklat_session_test_setup_check),
	KUNIT_CASE(blklat_session_test_watch_check),
	KUNIT_CASE(blklat_session_test_layout),
	KUNIT_CASE(blklat_session_test_slow_layout),
	KUNIT_CASE(blklat_session_test_stages),
	KUNIT_CASE(blklat_session_test_pairs),
	KUNIT_CASE(blklat_session_test_one_geometry),
	KUNIT_CASE(blklat_session_test_too_big),
	KUNIT_CASE(blklat_session_test_targets),
	{}
};

static struct kunit_suite blklat_session_test_suite = {
	.name = "blklat_session",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_session_test_cases,
};
kunit_test_suite(blklat_session_test_suite);
