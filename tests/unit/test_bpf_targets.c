// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "engine/bpf_engine.h"
#include "engine/room.h"

enum { CPUS = 4, MOST = 400 };

static const struct device disk = {
	.name = "vda", .kind = "disk", .scheduler = "none", .hw_queues = 1, .tags = 256, .nr_requests = 256,
};
static const struct device nvme = {
	.name = "nvme0n1", .kind = "nvme", .scheduler = "none", .hw_queues = 4, .tags = 1023, .nr_requests = 1023,
};
static const struct device part = {
	.name = "vda1", .kind = "partition", .scheduler = "none", .hw_queues = 1, .tags = 256, .nr_requests = 256,
};
static const struct device dm = { .name = "dm-0", .kind = "dm" };

static struct targets t;
static struct kernel_capture k;
static u32 n_slots;
static struct problem p;

void tear_down(void)
{
	free(t.table);
	targets_free(&t);
	free(k.slots);
	free(k.region.ranges);
	k = (struct kernel_capture){ 0 };
	p.text[0] = '\0';
}

static struct targets_of of(void)
{
	return (struct targets_of){ k.capture.watches, k.slots, k.region.ranges };
}

/* With room for as many watches, of which some are more than the @n first ones. */
static int make_room(struct watch *watches, const struct found_device *found, u32 n, u32 room)
{
	struct targets_of made;
	int err;

	tear_down();
	k.capture = (struct capture){ .watches = watches, .n_watches = n, .cpus = CPUS };
	k.slots = calloc(room, sizeof(*k.slots));
	k.region.ranges = calloc(room, sizeof(*k.region.ranges));
	n_slots = room_place(&k);
	made = of();
	err = targets_make(&t, &made, found, n, room, &p);
	if (!err)
		t.table = calloc(1U << t.bits, sizeof(*t.table));
	if (!err)
		targets_fill(&t);
	return err;
}

static int make(const struct watch *watches, const struct found_device *found, u32 n)
{
	return make_room((struct watch *)watches, found, n, n);
}

/* Addresses of kernel objects: in a direct map of 64 GiB, aligned. */
static u64 kernel_pointer(u64 *state, u32 alignment)
{
	return 0xffff888000000000ULL + next_random(state) % (64ULL << 30) / alignment * alignment;
}

/* The bucket as the BPF program finds it: 32-bit arithmetic on the pointer's lower half. */
static u32 bucket_of(u64 key, u32 look)
{
	u32 product = (u32)(key & 0xffffffff) * t.factor[look];

	return product >> (32 - t.bits);
}

/* Each target has a bucket of its own, where a look finds it. Returns how many the first look finds. */
static u32 check_buckets(void)
{
	bool *taken = calloc(1U << t.bits, sizeof(*taken));
	u32 at_first = 0;

	assert_in_range(t.bits, 1, t.factor[1] ? 25 : BLKLAT_TARGET_BITS);
	for (u32 i = 0; i < t.n; i++) {
		u64 key = t.list[i].key;
		u32 bucket = t.bucket[i];
		bool first = bucket == bucket_of(key, 0);

		assert_true(first || (t.factor[1] && bucket == bucket_of(key, 1)));
		assert_in_range(bucket, 0, (1u << t.bits) - 1);
		assert_false(taken[bucket]);
		taken[bucket] = true;
		at_first += first;
	}
	free(taken);
	return at_first;
}

/* Each range is in bounds and consists of whole blocks, and no slot is in two that are not the same. */
static void check_slots(u32 n)
{
	u32 *owner = calloc(n_slots + 1, sizeof(*owner));

	for (u32 i = 0; i < n; i++) {
		assert_int_equal(k.region.ranges[i].first % BLKLAT_SLOTS, 0);
		assert_int_equal(k.region.ranges[i].n % BLKLAT_SLOTS, 0);
		assert_true(k.region.ranges[i].first + k.region.ranges[i].n <= n_slots);
		for (u32 s = k.region.ranges[i].first; s < k.region.ranges[i].first + k.region.ranges[i].n; s++) {
			assert_true(!owner[s] || owner[s] == k.region.ranges[i].first + 1);
			owner[s] = k.region.ranges[i].first + 1;
		}
	}
	free(owner);
}

static void check_many(u32 n, u32 alignment, u64 *state)
{
	struct watch watches[MOST] = { 0 };
	struct found_device found[MOST] = { 0 };

	for (u32 i = 0; i < n; i++) {
		watches[i] = (struct watch){ .device = i % 2 ? &disk : &nvme, .stage = BLKLAT_STAGE_DEVICE };
		found[i] = (struct found_device){ .queue = kernel_pointer(state, alignment) };
		/* No factor can tell equal lower halves apart; they have a test of their own. */
		for (u32 j = 0; j < i; j++)
			if ((u32)found[j].queue == (u32)found[i].queue) {
				found[i].queue = kernel_pointer(state, alignment);
				j = -1;
			}
	}
	assert_int_equal(make(watches, found, n), 0);
	assert_int_equal(t.n, n);
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(t.list[i].key, found[i].queue);
		assert_int_equal(t.list[i].watch[BLKLAT_STAGE_DEVICE], i + 1);
	}
	check_buckets();
	assert_int_equal(t.factor[1], 0);
	check_slots(n);
}

/* Thousands of devices at three stages, each with a queue and a disk, and with slots of its own. Returns what targets_make() does. */
static int make_thousands(u32 devices, u32 alignment)
{
	struct watch *watches = calloc(3 * devices, sizeof(*watches));
	struct found_device *found = calloc(3 * devices, sizeof(*found));
	struct device *disks = calloc(devices, sizeof(*disks));
	u64 seed = devices;
	int err;

	for (u32 i = 0; i < 3 * devices; i++) {
		disks[i / 3] = disk;
		watches[i] = (struct watch){ .device = &disks[i / 3], .stage = (enum blklat_stage)(i % 3) };
		found[i] = i % 3 ? found[i - 1] : (struct found_device){
			.queue = kernel_pointer(&seed, alignment), .disk = kernel_pointer(&seed, alignment),
		};
	}
	err = make(watches, found, 3 * devices);
	if (!err)
		check_slots(3 * devices);
	free(disks);
	free(watches);
	free(found);
	return err;
}

TEST(test_thousands)
{
	static const u32 devices[] = { 1000, 3000, 12000 };

	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(make_thousands(devices[i], 64), 0);
		assert_int_equal(t.n, 2 * devices[i]);
		assert_int_not_equal(t.factor[1], 0);
		/* No larger than necessary, and one look for most. */
		assert_in_range(1u << t.bits, 2 * t.n, 5 * t.n);
		assert_in_range(check_buckets(), 3 * t.n / 4, t.n);
	}
}

TEST(test_a_bucket_each)
{
	u64 seed = 2026;

	for (u32 n = 1; n <= 32; n++)
		for (u32 alignment = 8; alignment <= 4096; alignment *= 8)
			check_many(n, alignment, &seed);
	for (u32 n = 48; n < MOST; n += 44)
		check_many(n, 64, &seed);
	check_many(MOST, 2048, &seed);
}

/* The target that the programs find by a key; NULL: none. */
static const struct target *look_up(u64 key)
{
	for (u32 look = 0; look < 2; look++)
		if (t.table[bucket_of(key, look)].key == key)
			return &t.table[bucket_of(key, look)];
	return NULL;
}

/* A device that went away is no longer found, at any stage; the others still are. */
TEST(test_drop)
{
	const struct watch watches[] = { { .device = &disk, .stage = BLKLAT_STAGE_DEVICE }, { .device = &disk, .stage = BLKLAT_STAGE_TOTAL },
					 { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE } };
	const struct found_device found[] = { { .queue = 0x1000, .disk = 0x2000 }, { .queue = 0x1000, .disk = 0x2000 },
					      { .queue = 0x3000, .disk = 0x4000 } };
	const struct target *by_queue, *by_disk;

	assert_int_equal(make(watches, found, 3), 0);
	by_queue = look_up(0x1000);
	by_disk = look_up(0x2000);
	assert_true(by_queue && by_disk);
	targets_drop(&t, 1, false);
	assert_true(!look_up(0x1000) && !look_up(0x2000));
	assert_true(by_queue->key && by_disk->key);	/* nobody takes their places */
	targets_drop(&t, 1, true);
	assert_true(!by_queue->key && !by_disk->key);
	assert_int_equal(look_up(0x3000)->watch[BLKLAT_STAGE_DEVICE], 3);
}

/* Devices come and go, a thousand times: each is found with its watches and slots while it is there, and not afterwards. */
TEST(test_devices_come_and_go)
{
	enum { DEVICES = 24, WATCHES = BLKLAT_STAGES };
	struct watch watches[DEVICES * WATCHES];
	struct found_device found[DEVICES * WATCHES];
	bool there[DEVICES] = { true };
	struct targets_of those;
	u64 seed = 7, refused = 0;

	for (u32 i = 0; i < DEVICES * WATCHES; i++) {
		watches[i] = (struct watch){ .device = &nvme, .stage = (enum blklat_stage)(i % WATCHES) };
		found[i] = (struct found_device){ .queue = kernel_pointer(&seed, 64), .disk = kernel_pointer(&seed, 64) };
		if (i % WATCHES)
			found[i] = found[i - 1];
	}
	assert_int_equal(make_room(watches, found, WATCHES, DEVICES * WATCHES), 0);
	those = of();
	for (u32 n = 0; n < 1000; n++) {
		u32 device = next_random(&seed) % DEVICES, at = device * WATCHES;
		struct found_device is = { .queue = kernel_pointer(&seed, 64), .disk = kernel_pointer(&seed, 64) };

		if (there[device]) {
			for (u32 i = at; i < at + WATCHES; i++)
				targets_drop(&t, i, true);
			there[device] = false;
		} else {
			for (u32 i = at; i < at + WATCHES; i++) {
				found[i] = is;
				k.slots[i] = (struct slots){ 4, 64 + n % 7 * 32, n % 2 };
				k.region.ranges[i] = (struct region_slots){ .first = 32 * n, .n = 256 };
			}
			there[device] = !targets_add(&t, &those, &is, at, WATCHES);
			refused += !there[device];
		}
		for (u32 d = 0; d < DEVICES; d++) {
			const struct target *queue = look_up(found[d * WATCHES].queue), *by_disk = look_up(found[d * WATCHES].disk);

			assert_int_equal(queue != NULL, there[d]);
			assert_int_equal(by_disk != NULL, there[d]);
			for (u32 stage = 0; there[d] && stage < BLKLAT_STAGES; stage++)
				assert_int_equal(queue->watch[stage], d * WATCHES + stage + 1);
			if (!there[d])
				continue;
			assert_int_equal(by_disk->watch[BLKLAT_STAGE_TOTAL], d * WATCHES + BLKLAT_STAGE_TOTAL + 1);
			assert_int_equal(by_disk->watch[BLKLAT_STAGE_DEVICE], 0);
			assert_int_equal(queue->first_slot, k.region.ranges[d * WATCHES].first);
			assert_int_equal(queue->stride, k.slots[d * WATCHES].stride);
			assert_int_equal(queue->distance, k.slots[d * WATCHES].shared_tags ? 0 : queue->stride);
		}
	}
	/* Two buckets of 64 for each: hardly one has none. */
	assert_in_range(refused, 0, 2);
}

/* A program sees no mixture of old and new: no queues, until all that were running have ended, and again. */
static u32 waits;

static void look_while_it_moves(void *unused)
{
	const struct target *is = look_up(0x1000);

	(void)unused;
	assert_int_equal(is->queues, 0);
	assert_int_equal(is->stride, waits ? 4096 : slots_of(&nvme).stride);
	assert_int_equal(is->first_slot, waits ? 640 : 0);
	assert_int_equal(look_up(0x3000)->queues, slots_of(&disk).queues);
	waits++;
}

TEST(test_move)
{
	const struct watch watches[] = { { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE }, { .device = &nvme, .stage = BLKLAT_STAGE_QUEUE },
					 { .device = &disk, .stage = BLKLAT_STAGE_DEVICE } };
	const struct found_device found[] = { { .queue = 0x1000 }, { .queue = 0x1000 }, { .queue = 0x3000 } };

	for (u32 shared = 0; shared < 2; shared++) {
		assert_int_equal(make(watches, found, 3), 0);
		waits = 0;
		targets_move(&t, 0, 2, &(struct slots){ 8, 4096, shared }, 640, look_while_it_moves);
		assert_int_equal(waits, 2);
		assert_int_equal(look_up(0x1000)->queues, 8);
		assert_int_equal(look_up(0x1000)->stride, 4096);
		assert_int_equal(look_up(0x1000)->distance, shared ? 0 : 4096);
		assert_int_equal(look_up(0x1000)->first_slot, 640);
	}
}

/* Equal lower halves: two of them take both looks; three are an error with a sentence, and leave nothing to free. */
TEST(test_equal_lower_halves)
{
	const struct watch watches[] = { { .device = &disk, .stage = BLKLAT_STAGE_DEVICE }, { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE },
					 { .device = &dm, .stage = BLKLAT_STAGE_TOTAL } };
	const struct found_device found[] = { { .queue = 0xffff888012345000 }, { .queue = 0xffff888112345000 },
					      { .disk = 0xffff888212345000 } };

	assert_int_equal(make(watches, found, 2), 0);
	assert_int_equal(check_buckets(), 1);
	assert_int_equal(make(watches, found, 3), -E2BIG);
	assert_string_not_equal(p.text, "");
	assert_null(t.list);
	assert_null(t.bucket);
}

static const struct target *target_with(u64 key)
{
	for (u32 i = 0; i < t.n; i++)
		if (t.list[i].key == key)
			return &t.list[i];
	fail_msg("no target with key %llx", key);
	return NULL;
}

enum { QUEUE = 0x1000, DISK = 0x2000, PART = 0x3000 };

static const struct found_device here = { .queue = QUEUE, .disk = DISK, .part = PART };

/* Stages device and queue of one device, in either order: one target, the same slots. */
TEST(test_stages_side_by_side)
{
	const struct watch watches[] = {
		{ .device = &nvme, .stage = BLKLAT_STAGE_QUEUE }, { .device = &nvme, .stage = BLKLAT_STAGE_TOTAL }, { .device = &nvme, .stage = BLKLAT_STAGE_DEVICE },
		{ .device = &disk, .stage = BLKLAT_STAGE_DEVICE },
	};
	const struct found_device found[] = { here, here, here, { .queue = QUEUE + 64, .disk = DISK + 64, .part = PART + 64 } };
	struct slots s = slots_of(&nvme), s2 = slots_of(&disk);
	const struct target *target;

	assert_int_equal(make(watches, found, 4), 0);
	assert_int_equal(t.n, 3);
	check_buckets();
	check_slots(4);
	target = target_with(QUEUE);
	assert_int_equal(target->watch[BLKLAT_STAGE_QUEUE], 1);
	assert_int_equal(target->watch[BLKLAT_STAGE_DEVICE], 3);
	/* A request ends its bios, so it leads to their stage too. */
	assert_int_equal(target->watch[BLKLAT_STAGE_TOTAL], 2);
	assert_int_equal(target->queues, s.queues);
	assert_int_equal(target->stride, s.stride);
	for (u32 i = 0; i <= 2; i += 2) {
		assert_int_equal(k.region.ranges[i].first, target->first_slot);
		assert_int_equal(k.region.ranges[i].n, s.queues * s.stride);
		assert_int_equal(k.region.ranges[i].queue, !i);
	}
	assert_int_equal(k.region.ranges[1].n, 0);
	target = target_with(DISK);
	assert_int_equal(target->watch[BLKLAT_STAGE_TOTAL], 2);
	assert_int_equal(target->watch[BLKLAT_STAGE_DEVICE], 0);
	assert_int_equal(target_with(QUEUE + 64)->watch[BLKLAT_STAGE_DEVICE], 4);
	assert_int_equal(n_slots, s.queues * s.stride + s2.queues * s2.stride);
}

/* A partition is known by its own object at every stage, and has its own slots beside those of its disk. */
TEST(test_partition_and_disk)
{
	const struct watch watches[] = {
		{ .device = &part, .stage = BLKLAT_STAGE_DEVICE }, { .device = &part, .stage = BLKLAT_STAGE_TOTAL }, { .device = &disk, .stage = BLKLAT_STAGE_DEVICE },
	};
	const struct found_device found[] = { here, here, { .queue = QUEUE, .disk = DISK, .part = PART + 512 } };

	assert_int_equal(make(watches, found, 3), 0);
	assert_int_equal(t.n, 2);
	check_buckets();
	check_slots(3);
	assert_int_equal(target_with(PART)->watch[BLKLAT_STAGE_DEVICE], 1);
	assert_int_equal(target_with(PART)->watch[BLKLAT_STAGE_TOTAL], 2);
	assert_int_equal(target_with(QUEUE)->watch[BLKLAT_STAGE_DEVICE], 3);
	assert_int_not_equal(k.region.ranges[0].n, 0);
	assert_int_equal(k.region.ranges[1].n, 0);
	assert_int_equal(target_with(PART)->first_slot, k.region.ranges[0].first);
	assert_int_equal(target_with(QUEUE)->first_slot, k.region.ranges[2].first);
}

/* Stage total has no slots. A device without requests is found by its disk alone, others by their queue, too, as above. */
TEST(test_totals)
{
	const struct watch watch = { .device = &dm, .stage = BLKLAT_STAGE_TOTAL };

	assert_int_equal(make(&watch, &here, 1), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(n_slots, 0);
	assert_int_equal(k.region.ranges[0].n, 0);
	assert_int_equal(target_with(DISK)->watch[BLKLAT_STAGE_TOTAL], 1);
	check_buckets();
}
