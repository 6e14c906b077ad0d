// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>
#include <sys/sysinfo.h>

#include "engine/geometry.h"
#include "util/parse.h"

#define MIB (1ULL << 20)

static const struct device disk = {
	.name = "vda", .scheduler = "none", .hw_queues = 1, .tags = 256, .nr_requests = 256,
};
static const struct device nvme = {
	.name = "nvme0n1", .scheduler = "none", .hw_queues = 16, .tags = 1023, .nr_requests = 1023,
};
static const struct device sata = {
	.name = "sda", .scheduler = "mq-deadline", .hw_queues = 1, .tags = 32, .nr_requests = 64,
};
static const struct device tuned = {	/* its user wrote 1000 to nr_requests */
	.name = "sdb", .scheduler = "bfq", .hw_queues = 1, .tags = 31, .nr_requests = 1000,
};
/* As many requests as the driver has tags, and yet these are the scheduler's own. */
static const struct device equal = {
	.name = "sdc", .scheduler = "mq-deadline", .hw_queues = 1, .tags = 1024, .nr_requests = 1024,
};
static const struct device dm = { .name = "dm-0" };
static const struct device hba = {	/* one set of 5089 tags for all hardware queues */
	.name = "sdd", .scheduler = "none", .hw_queues = 128, .tags = 5089, .nr_requests = 5089, .shared_tags = true,
};

/*
 * By hand, for 60 of them: 5089 tags are 160 blocks of 32 slots, for both stages of requests, and as many to move one.
 * If each queue had its own, that would be 128 times as many.
 */
TEST(test_shared_tags)
{
	static struct device d[60];
	static struct watch watches[180];
	struct capture_config cfg = { .watches = watches, .n_watches = 180 };

	for (u32 shared = 0; shared < 2; shared++) {
		for (u32 i = 0; i < 180; i++) {
			d[i / 3] = hba;
			d[i / 3].shared_tags = shared;
			watches[i] = (struct watch){ .device = &d[i / 3], .stage = i % 3 };
		}
		assert_int_equal(slots_of(&d[0]).queues, 128);
		assert_int_equal(slots_of(&d[0]).stride, 160 * 32);
		assert_int_equal(slots_of(&d[0]).shared_tags, shared);
		assert_int_equal(slots_for(watches, 0, 180), 160 * 32 * (shared ? 1 : 128));
		assert_int_equal(capture_room(&cfg).slots, (60 + 1) * 160 * 32 * (shared ? 1 : 128));
	}
	cfg.n_watches = 3;
	assert_int_equal(capture_room(&cfg).slots, 160 * 32);
}

/* What the slots must have room for, whatever the formula: all that exists now, and all that may come. */
TEST(test_slots_have_room)
{
	static const struct { const struct device *d; u32 scheduler_tags; } cases[] = {
		{ &disk, 2048 }, { &nvme, 2 * 128 }, { &sata, 2048 }, { &tuned, 2048 }, { &equal, 2048 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slots s = slots_of(cases[i].d);

		assert_int_equal(s.stride % 32, 0);
		assert_in_range(s.stride, max_u64(cases[i].d->tags, cases[i].scheduler_tags),
				max_u64(cases[i].d->tags + 31, cases[i].scheduler_tags));
		assert_int_equal(s.queues, cases[i].d->hw_queues);
	}
}

/* Without a scheduler nr_requests are the driver's tags, whose slots a scheduler's will take. */
TEST(test_none_has_no_tags_of_its_own)
{
	static const struct { const char *scheduler; u32 least, most; } cases[] = {
		{ "none", 1024, 1024 }, { "", 1024, 1024 }, { "mq-deadline", 2048, 2048 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct device d = equal;

		d.hw_queues = 2;
		strcpy(d.scheduler, cases[i].scheduler);
		assert_in_range(slots_of(&d).stride, cases[i].least, cases[i].most);
	}
}

static u32 slots_at(const struct device *d, u32 n, const enum blklat_stage *stages)
{
	struct watch watches[BLKLAT_STAGES + 1];

	for (u32 i = 0; i < n; i++)
		watches[i] = (struct watch){ .device = d, .stage = stages[i] };
	watches[n] = (struct watch){ .device = &disk, .stage = BLKLAT_STAGE_DEVICE };
	return slots_for(watches, 0, n + 1);
}

TEST(test_slots_of_stages)
{
	struct slots s = slots_of(&nvme);

	assert_int_equal(slots_at(&nvme, 1, (enum blklat_stage[]){ BLKLAT_STAGE_TOTAL }), 0);
	assert_int_equal(slots_at(&nvme, 1, (enum blklat_stage[]){ BLKLAT_STAGE_DEVICE }), s.queues * s.stride);
	assert_int_equal(slots_at(&nvme, 3, (enum blklat_stage[]){ 0, 1, 2 }), s.queues * s.stride);
	assert_int_equal(slots_at(&nvme, 1, (enum blklat_stage[]){ BLKLAT_STAGE_QUEUE }), s.queues * s.stride);
	assert_int_equal(slots_at(&dm, 1, (enum blklat_stage[]){ BLKLAT_STAGE_TOTAL }), 0);
}

/*
 * A named device with many queues has its own slots; several devices have spare ones for one of them, and those that may come have
 * watches, too.
 */
TEST(test_room)
{
	struct watch watches[40];
	struct capture_config cfg = { .watches = watches, .max_bios = 1000 };
	u32 each = slots_of(&nvme).queues * slots_of(&nvme).stride;
	struct device d[20];

	for (u32 i = 0; i < 40; i++) {
		d[i / 2] = nvme;
		watches[i] = (struct watch){ .device = &d[i / 2], .stage = i % 2 ? BLKLAT_STAGE_TOTAL : BLKLAT_STAGE_DEVICE };
	}
	for (u32 devices = 1; devices <= 20; devices++) {
		struct capture_room room;

		cfg.n_watches = 2 * devices;
		cfg.follow = false;
		room = capture_room(&cfg);
		assert_int_equal(room.watches, 2 * devices);
		assert_int_equal(room.slots, each * (devices > 1 ? devices + 1 : 1));
		cfg.follow = true;
		room = capture_room(&cfg);
		assert_int_equal(room.watches, 2 * (devices + 2 + devices / 4));
		assert_int_equal(room.slots, each * (devices + 1) + (2 + devices / 4) * 2048);
		cfg.doubled = 3;
		room = capture_room(&cfg);
		assert_int_equal(room.watches, 2 * (devices + 8 * (2 + devices / 4)));
		assert_int_equal(room.slots, each * (devices + 8) + 8 * (2 + devices / 4) * 2048);
		cfg.doubled = 0;
	}
	watches[0].device = &disk;
	cfg.n_watches = 1;
	cfg.follow = true;
	assert_int_equal(capture_room(&cfg).watches, 32);
	cfg.follow = false;
	assert_int_equal(capture_room(&cfg).slots, slots_at(&disk, 1, (enum blklat_stage[]){ 0 }));
}

/* At the limit there is room for whole watches with all of their parts. */
TEST(test_most_room)
{
	u32 each = 1 + BLKLAT_SIZE_PARTS, n = BLKLAT_MAX_WATCHES / each * each;
	struct watch *watches = calloc(n, sizeof(*watches));
	struct capture_config cfg = { .watches = watches, .n_watches = n - each, .by = BLKLAT_BY_SIZE, .follow = true };

	assert_true(BLKLAT_MAX_WATCHES % each);
	for (u32 i = 0; i < n; i++)
		watches[i] = (struct watch){ .device = &disk };
	assert_int_equal(capture_room(&cfg).watches, n);
	free(watches);
}

static const u64 series_bytes[] = { 384, 640, 1152, 2240, 4352, 8576, 17024 };

/*
 * Of one watch, by hand: a series of 64 bytes and 8 per cell, in whole cache lines, for five ops; for each CPU two numbers an op
 * that say which ones it has for itself, and, of a whole, a row of accounts.
 */
static u64 watch_bytes(u32 scale, u32 cpus)
{
	return 5 * series_bytes[scale] + cpus * (5 * 8 + BLKLAT_ACCOUNTS * 8);
}

static u64 fixed_bytes(const struct capture_config *cfg, u32 cpus, u32 rows, u32 scale)
{
	struct capture_config at = *cfg;
	struct capture_memory m;
	struct problem p;

	at.scale = scale;
	at.max_memory = 1;
	assert_int_equal(capture_memory(&at, cpus, rows, &m, &p), -E2BIG);
	assert_int_equal(m.scale, scale);
	assert_int_equal(m.bytes, m.fixed_bytes);
	return m.fixed_bytes;
}

static u64 slot_bytes(const struct device *d)
{
	struct slots s = slots_of(d);

	return 16ULL * s.queues * s.stride;
}

static u64 memory_bytes(struct watch *watches, u32 n, u32 cpus, u32 scale, u32 max_bios)
{
	const struct capture_config cfg = { .watches = watches, .n_watches = n, .max_bios = max_bios };

	return fixed_bytes(&cfg, cpus, cpus, scale);
}

TEST(test_memory)
{
	struct watch watches[] = {
		{ .device = &nvme, .stage = BLKLAT_STAGE_QUEUE }, { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE }, { .device = &disk, .stage = BLKLAT_STAGE_DEVICE },
		{ .device = &nvme, .stage = BLKLAT_STAGE_TOTAL }, { .device = &dm, .stage = BLKLAT_STAGE_TOTAL },
	};
	/* The key; time, bytes, op and flags, two watches. Twice as many cells as bios, rounded up to a power of two. */
	const u64 bio = 8 + 8 + 4 + 4 + 2 * 4;

	for (u32 scale = 0; scale <= 6; scale++) {
		assert_int_equal(memory_bytes(watches + 2, 1, 4, scale, 1000),
				 watch_bytes(scale, 4) + slot_bytes(&disk));
		assert_int_equal(memory_bytes(watches, 2, 16, scale, 1000),
				 2 * watch_bytes(scale, 16) + slot_bytes(&nvme));
		assert_int_equal(memory_bytes(watches, 5, 16, scale, 1000),
				 5 * watch_bytes(scale, 16) + 2 * slot_bytes(&nvme) +
				 slot_bytes(&disk) + 2048 * bio);
		assert_int_equal(memory_bytes(watches + 4, 1, 1, scale, 65536), watch_bytes(scale, 1) + 131072 * bio);
	}
}

/* Parts have series, but no accounts. Their whole has one row more than there are CPUs, for the standbys. */
TEST(test_memory_of_parts)
{
	struct watch watches[10];
	const struct capture_config cfg = { .watches = watches, .n_watches = 10, .by = BLKLAT_BY_SIZE };

	for (u32 i = 0; i < 10; i++)
		watches[i] = (struct watch){ .device = &dm, .stage = BLKLAT_STAGE_DEVICE };
	for (u32 scale = 0; scale <= 6; scale++)
		assert_int_equal(fixed_bytes(&cfg, 16, 17, scale), 10 * watch_bytes(scale, 16) - (9 * 16 - 1) * BLKLAT_ACCOUNTS * 8);
}

TEST(test_bio_buckets)
{
	/* Twice as many cells as bios, in buckets of 8. */
	static const u32 cases[][2] = {
		{ 1, 2 }, { 8, 2 }, { 9, 4 }, { 1000, 256 }, { 1024, 256 }, { 1025, 512 }, { 65536, 16384 },
		{ 16 << 20, 4 << 20 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(bio_buckets(cases[i][0]), cases[i][1]);
}

/*
 * Looking for pauses takes the same memory however many CPUs there are: per watch a time, and for each of five ops a
 * sum and bins, eighths of an octave at the finest (33 octaves up to 128 s), and those below and above.
 */
TEST(test_memory_of_pauses)
{
	static const u64 cells[] = { 33 + 2, 66 + 2, 132 + 2, 264 + 2, 264 + 2, 264 + 2, 264 + 2 };
	struct watch watches[] = { { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE }, { .device = &dm, .stage = BLKLAT_STAGE_TOTAL } };

	for (u32 scale = 0; scale <= 6; scale++)
		for (u32 cpus = 1; cpus <= 64; cpus *= 8) {
			const struct capture_config cfg = {
				.watches = watches, .n_watches = 2, .max_bios = 1000, .idle_gap_ns = 100000000,
			};

			assert_int_equal(fixed_bytes(&cfg, cpus, cpus, scale) -
					 memory_bytes(watches, 2, cpus, scale, 1000),
					 2 * (5 * (8 + 8 * cells[scale]) + 8));
		}
}

/* 4000 devices on 512 CPUs are beyond what 32 bits hold. */
TEST(test_memory_does_not_wrap)
{
	struct watch *watches = calloc(4000, sizeof(*watches));

	for (u32 i = 0; i < 4000; i++)
		watches[i] = (struct watch){ .device = &nvme, .stage = BLKLAT_STAGE_TOTAL };
	assert_int_equal(memory_bytes(watches, 4000, 512, 6, 1 << 26) >> 30,
			 (4000 * watch_bytes(6, 512) + (64ULL << 26)) >> 30);
	free(watches);
}

static int with_limit(int scale, u64 max_memory, struct capture_memory *ret, struct problem *p)
{
	static struct watch watch = { .device = &disk, .stage = BLKLAT_STAGE_DEVICE };
	const struct capture_config cfg = {
		.watches = &watch, .n_watches = 1, .scale = scale, .max_memory = max_memory,
		.max_bios = 100,
	};

	p->text[0] = '\0';
	return capture_memory(&cfg, 4, 4, ret, p);
}

static int choose(int scale, u64 max_memory, struct problem *p)
{
	struct capture_memory m;

	return with_limit(scale, max_memory, &m, p);
}

static u64 needed(int scale)
{
	struct watch watch = { .device = &disk, .stage = BLKLAT_STAGE_DEVICE };

	return memory_bytes(&watch, 1, 4, scale, 100);
}

/* What the limit leaves is for series that CPUs have for themselves, up to five for each of the four. */
TEST(test_the_rest_is_for_cpus)
{
	struct capture_memory m;
	struct problem p;

	for (int scale = 0; scale <= 6; scale++)
		for (u32 n = 0; n <= 22; n++) {
			u32 spare = n < 20 ? n : 20;

			assert_int_equal(with_limit(scale, needed(scale) + (n + 1) * series_bytes[scale] - 1, &m, &p), 0);
			assert_int_equal(m.scale, scale);
			assert_int_equal(m.spare, spare);
			assert_int_equal(m.fixed_bytes, needed(scale));
			assert_int_equal(m.bytes, needed(scale) + spare * series_bytes[scale]);
		}
}

TEST(test_the_finest_scale_by_default)
{
	struct capture_memory m;
	struct problem p;

	assert_int_equal(with_limit(-1, needed(6), &m, &p), 0);
	assert_int_equal(m.scale, 6);
	assert_int_equal(m.spare, 0);
	assert_int_equal(with_limit(-1, 0, &m, &p), 0);	/* the default is at least 64 MiB */
	assert_int_equal(m.spare, 20);
}

/* The memory that the sentence asks for must be enough when the user types it as an option; less must not be. */
static void check_sentence(int scale, const struct problem *p)
{
	const char *number = strpbrk(p->text, "0123456789");
	struct problem other;
	char word[32];
	u64 bytes;

	assert_non_null(number);
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(number, " :,;"), number);
	assert_int_equal(parse_size("--max-memory", word, &bytes, &other), 0);
	assert_int_equal(choose(scale, bytes, &other), 0);
	assert_in_range(bytes, needed(scale < 0 ? 6 : scale), needed(scale < 0 ? 6 : scale) + MIB);
	assert_non_null(strstr(p->text, "--max-memory"));
	assert_null(strchr(p->text, '\n'));
}

TEST(test_explicit_scale_fits_or_fails)
{
	struct problem p;

	for (int scale = 0; scale <= 6; scale++) {
		assert_int_equal(choose(scale, needed(scale), &p), 0);
		assert_int_equal(choose(scale, needed(scale) - 1, &p), -E2BIG);
		check_sentence(scale, &p);
		if (scale)
			assert_non_null(strstr(p.text, "--scale"));
	}
	assert_int_equal(choose(-1, 10000, &p), -E2BIG);
	check_sentence(-1, &p);
	assert_int_equal(choose(-1, 1, &p), -E2BIG);
	check_sentence(-1, &p);
}

TEST(test_default_memory)
{
	struct sysinfo info;
	u64 ram, least, most;

	assert_int_equal(sysinfo(&info), 0);
	ram = (u64)info.totalram * info.mem_unit;
	least = ram / 1000 > 64 * MIB ? ram / 1000 : 64 * MIB;
	most = ram / 100 > least ? ram / 100 : least;
	assert_int_equal(capture_default_memory(0), least);
	assert_int_equal(capture_default_memory(1), least);
	assert_int_equal(capture_default_memory(32 * MIB), least);
	assert_int_equal(capture_default_memory(500 * MIB), most < 1000 * MIB ? most : least > 1000 * MIB ? least : 1000 * MIB);
	assert_int_equal(capture_default_memory(1ULL << 50), most);
}

/* Recording slow IOs takes a ring, and room for four notes per bio. */
TEST(slow_ios_take_memory)
{
	struct device d = { .name = "sda" };
	struct watch w = { .device = &d, .stage = BLKLAT_STAGE_TOTAL };
	struct capture_config cfg = { .watches = &w, .n_watches = 1, .max_bios = 1000 };
	u64 without = fixed_bytes(&cfg, 2, 3, 6);
	struct slow_room room;

	cfg.slow = (struct slow_wanted){ .wanted = true, .most = 10000 };
	room = slow_room(&cfg);
	assert_int_equal(room.notes, 4096);
	assert_in_range(room.ring_bytes, 3 * 10000 * sizeof(struct blklat_slow), 8 << 20);
	assert_int_equal(room.ring_bytes & (room.ring_bytes - 1), 0);
	assert_int_equal(fixed_bytes(&cfg, 2, 3, 6) - without, room.ring_bytes + 4096 * 64);
	/* Their company takes 16 bytes for a note and 4 for a slot. */
	for (cfg.by = BLKLAT_BY_NOTHING; cfg.by < BLKLAT_BYS; cfg.by++) {
		u64 with, counted = cfg.by == BLKLAT_BY_DEPTH || cfg.by == BLKLAT_BY_BESIDE;

		for (w.stage = BLKLAT_STAGE_DEVICE; w.stage < BLKLAT_STAGES; w.stage++) {
			u64 slots = slots_for(&w, 0, 1);

			cfg.slow.wanted = true;
			room = slow_room(&cfg);
			with = fixed_bytes(&cfg, 2, 3, 6);
			cfg.slow.wanted = false;
			assert_int_equal(with - fixed_bytes(&cfg, 2, 3, 6),
					 room.ring_bytes + 4096 * 64 + counted * (4096 * 16 + slots * 4));
		}
	}
	cfg.by = BLKLAT_BY_NOTHING;
	cfg.slow.wanted = true;
	/* The module's ring is as large as fits. */
	for (cfg.slow.most = 1; cfg.slow.most <= 10000; cfg.slow.most += 7) {
		room = slow_room(&cfg);
		assert_in_range(128 + room.places * 248, room.ring_bytes / 3, room.ring_bytes);
		assert_int_equal(room.places & (room.places - 1), 0);
	}
}
