// SPDX-License-Identifier: GPL-2.0-only
/* Which part an IO is in, what parts are called, and lists of watches with their parts. */
#include "unit.h"

#include "blklat/parts.h"
#include "core/snapshot.h"

/* "Rounded up to a power of two, from 4 KiB (and less) to 1 MiB (and more)", blklat(8). */
static u32 part_by_hand(u64 bytes)
{
	u32 part = 1;

	for (u64 limit = 4096; bytes > limit && part < 9; limit *= 2)
		part++;
	return part;
}

TEST(test_size)
{
	static const u64 large[] = { 1 << 22, (1 << 22) + 1, UINT32_MAX, 1ULL << 32, (1ULL << 40) - 1, 1ULL << 40 };

	for (u64 bytes = 0; bytes <= 2 << 20; bytes++)
		assert_int_equal(blklat_size_part(bytes), part_by_hand(bytes));
	for (u32 i = 0; i < ARRAY_SIZE(large); i++)
		assert_int_equal(blklat_size_part(large[i]), 9);
}

/* 1, 2, 3 to 4, 5 to 8, ... 513 and more. */
TEST(test_depth)
{
	u32 part = 1, last = 1;

	for (u32 depth = 1; depth <= 3000; depth++) {
		if (depth > last && part < 11) {
			part++;
			last *= 2;
		}
		assert_int_equal(blklat_depth_part(depth), part);
	}
	assert_int_equal(blklat_depth_part(512), 10);
	assert_int_equal(blklat_depth_part(513), 11);
	assert_int_equal(blklat_depth_part(UINT32_MAX), 11);
	/* A depth of 0 could only come from an end that was seen twice. */
	assert_int_equal(blklat_depth_part(0), 1);
}

/* The first flag that holds, in the order of blklat(8). */
TEST(test_flags)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		for (u32 set = 0; set < 16; set++) {
			bool fua = set & 8 || op == BLKLAT_OP_FLUSH, meta = set & 4, ahead = set & 2, sync = set & 1 || op == BLKLAT_OP_READ;
			const char *label = fua ? "FUA/flush" : meta ? "metadata" : ahead ? "readahead" : sync ? "sync" :
					    op == BLKLAT_OP_WRITE ? "writeback" : "other";

			assert_int_equal(blklat_flags_part(op, set >> 3 & 1, set >> 2 & 1, set >> 1 & 1, set & 1),
					 part_find("flags", label)->number);
		}
}

TEST(test_kinds)
{
	static const struct { u32 op; u64 bytes; const char *label; } kinds[] = {
		{ BLKLAT_OP_READ, 1 << 20, "read" }, { BLKLAT_OP_WRITE, 131071, "write" }, { BLKLAT_OP_WRITE, 0, "write" },
		{ BLKLAT_OP_WRITE, 131072, "big write" }, { BLKLAT_OP_FLUSH, 0, "flush" }, { BLKLAT_OP_DISCARD, 512, "discard" },
		{ BLKLAT_OP_OTHER, 1 << 20, "other" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_int_equal(blklat_kind(kinds[i].op, kinds[i].bytes), part_find("beside", kinds[i].label)->number);
	assert_int_equal(part_find("beside", "nothing")->number, 7);
}

/* As ioprio_set(2) packs them; bits 3 to 12 are hints since Linux 6.5. */
TEST(test_priorities)
{
	static const struct { u32 ioprio; const char *label; } of[] = {
		{ 0, "none" }, { 4, "none" }, { 1 << 13, "rt/0" }, { 1 << 13 | 7, "rt/7" }, { 2 << 13, "be/0" }, { 2 << 13 | 4, "be/4" },
		{ 2 << 13 | 0x1ff8 | 7, "be/7" }, { 3 << 13, "idle" }, { 3 << 13 | 7, "idle" }, { 4 << 13, "none" }, { 0xffff, "none" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(of); i++)
		assert_int_equal(blklat_priority_part(of[i].ioprio), part_find("priority", of[i].label)->number);
}

/* Part and kind do not overlap in a start time, nor do they overlap its marks. */
TEST(test_start_times)
{
	for (u32 part = 0; part < 16; part++)
		for (u32 kind = 0; kind < 16; kind++) {
			u64 ns = blklat_parted_start(UINT64_MAX, part, kind);

			assert_int_equal(ns & (BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN), 0);
			ns |= BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN;
			assert_int_equal(blklat_slot_part(ns, BLKLAT_BY_BESIDE), part);
			assert_int_equal(blklat_slot_kind(ns), kind);
		}
	/* Without kinds there is room for more parts. */
	for (u32 part = 0; part <= BLKLAT_PARTS_MAX; part++) {
		u64 ns = blklat_parted_start(UINT64_MAX, part, 0);

		assert_int_equal(ns & (BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN), 0);
		assert_int_equal(ns << (64 - BLKLAT_SLOT_PART_SHIFT), UINT64_MAX << (64 - BLKLAT_SLOT_PART_SHIFT));
		for (u32 by = BLKLAT_BY_CGROUP; by <= BLKLAT_BY_PRIORITY; by++)
			assert_int_equal(blklat_slot_part(ns | BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN, by), part);
	}
}

/* Every part has a label of its own, which identifies it. */
TEST(test_labels)
{
	const struct watch whole = { .stage = BLKLAT_STAGE_DEVICE };
	struct watch *all;
	u32 n;

	for (u32 by = BLKLAT_BY_SIZE; by < BLKLAT_BYS; by++) {
		assert_int_equal(watches_divide(&whole, 1, by, 0, &all, &n), 0);
		assert_int_equal(n, 1 + blklat_parts(by, 0));
		assert_true(blklat_parts(by, 0) <= (blklat_counts_in_flight(by) ? 15 : BLKLAT_PARTS_MAX));
		for (u32 i = 1; i < n; i++) {
			assert_string_equal(all[i].part->by, by_names[by]);
			assert_int_equal(all[i].part->number, i);
			assert_ptr_equal(part_find(by_names[by], all[i].part->label), all[i].part);
			assert_non_null(part_meaning(all[i].part));
		}
		free(all);
	}
}

/* Two parts are always there, with room for others, and each label is one part. */
static void check_owners(enum blklat_by by, const char *first)
{
	const struct watch wholes[] = { { .stage = BLKLAT_STAGE_TOTAL }, { .stage = BLKLAT_STAGE_QUEUE } };
	const struct part *a = part_find(by_names[by], "/a"), *b = part_find(by_names[by], "/b");
	char longest[PART_LABEL_MAX + 1];
	struct watch *all;
	u32 n;

	assert_int_equal(watches_divide(wholes, 2, by, 3, &all, &n), 0);
	assert_int_equal(n, 12);
	assert_string_equal(all[7].part->label, first);
	assert_string_equal(all[8].part->label, "rest");
	assert_int_equal(all[8].part->number, BLKLAT_CGROUP_REST);
	for (u32 i = 9; i < 12; i++)
		assert_true(part_is_vacant(all[i].part) && part_is_by(all[i].part, by));
	assert_int_equal(watch_parts(all, n, 0), 5);
	free(all);

	assert_ptr_equal(part_find(by_names[by], "/a"), a);
	assert_string_equal(a->label, "/a");
	assert_string_equal(a->by, by_names[by]);
	assert_true(a->number >= BLKLAT_CGROUP_FIRST && b->number > a->number);
	assert_true(part_has_owners(a) && part_is_owner(a));
	assert_true(part_is_vacant(part_find(by_names[by], "")));
	assert_false(part_is_vacant(a));
	memset(longest, 'x', PART_LABEL_MAX);
	longest[PART_LABEL_MAX] = '\0';
	assert_null(part_find(by_names[by], longest));
	longest[PART_LABEL_MAX - 1] = '\0';
	assert_string_equal(part_find(by_names[by], longest)->label, longest);
}

TEST(test_owners)
{
	check_owners(BLKLAT_BY_CGROUP, "none");
	check_owners(BLKLAT_BY_PROCESS, "kworker");
	assert_false(part_has_owners(part_find("size", "4 KiB")) || part_has_owners(NULL));
}

/* A part that is kept, or used now and then, stays the same one. Of all others only the last ones stay. */
TEST(test_owners_pass_by)
{
	const struct part *kept = NULL, *used = part_find("process", "used (2)"), *left = part_find("process", "left (3)");
	u32 number = left->number;
	char label[32];
	size_t before = 0;

	part_keep(&kept, part_find("process", "kept (1)"));
	for (u32 i = 0; i < 100000; i++) {
		before = i == PARTS_SPARE ? in_use() : before;
		snprintf(label, sizeof(label), "dd (%u)", i);
		assert_string_equal(part_find("process", label)->label, label);
		assert_ptr_equal(part_find("process", "used (2)"), used);
		if (i < PARTS_SPARE - 3)
			assert_int_equal(left->number, number);
	}
	assert_in_range(in_use(), 0, before + 4096);
	assert_string_equal(kept->label, "kept (1)");
	assert_ptr_equal(part_find("process", "kept (1)"), kept);
	assert_true(part_find("process", "left (3)")->number > number + 100000);
	for (u32 i = 0; i < PARTS_SPARE - 3; i++) {
		u32 last = 99999 - i;

		snprintf(label, sizeof(label), "dd (%u)", last);
		number = part_find("process", label)->number;
		assert_int_equal(number, kept->number + 1 + last);
	}
}

static void pass_by(u32 n)
{
	static u32 so_far;
	char label[32];

	while (n--) {
		snprintf(label, sizeof(label), "p (%u)", so_far++);
		assert_non_null(part_find("process", label));
	}
}

/* One that two keep goes when both have given it up, and some time has passed. */
TEST(test_owners_kept_twice)
{
	const struct part *a = NULL, *b = NULL, *part = part_find("cgroup", "/twice");
	u32 number = part->number;

	part_keep(&a, part);
	part_keep(&b, a);
	part_keep(&b, b);
	part_keep(&a, NULL);
	assert_null(a);
	pass_by(2 * PARTS_SPARE);
	assert_ptr_equal(part_find("cgroup", "/twice"), part);
	pass_by(2 * PARTS_SPARE);
	part_keep(&b, part_numbered(BLKLAT_BY_CGROUP, BLKLAT_CGROUP_REST));
	pass_by(PARTS_SPARE - 1);
	assert_int_equal(part->number, number);
	pass_by(1);
	assert_true(part_find("cgroup", "/twice")->number > number);
}

TEST(test_list)
{
	const struct watch wholes[] = { { .stage = BLKLAT_STAGE_TOTAL }, { .stage = BLKLAT_STAGE_QUEUE } };
	struct watch *all;
	char label[16];
	u32 n;

	assert_int_equal(watches_divide(wholes, 2, BLKLAT_BY_NOTHING, 0, &all, &n), 0);
	assert_int_equal(n, 2);
	assert_memory_equal(all, wholes, sizeof(wholes));
	free(all);
	assert_int_equal(watches_divide(wholes, 2, BLKLAT_BY_SIZE, 0, &all, &n), 0);
	assert_int_equal(n, 20);
	for (u32 i = 0; i < n; i++) {
		/* The largest IO of a part is what the label says. */
		snprintf(label, sizeof(label), i % 10 < 9 ? "%u KiB" : "1 MiB+", 2u << i % 10);
		assert_int_equal(all[i].stage, wholes[i / 10].stage);
		assert_ptr_equal(all[i].part, i % 10 ? part_find("size", label) : NULL);
	}
	assert_null(part_find("size", "1 MiB"));
	assert_null(part_find("op", "4 KiB"));
	assert_null(part_find("", ""));
	free(all);
}

TEST(test_text)
{
	static const char *const cases[][3] = { { "size", "4 KiB", "4 KiB" }, { "beside", "big write", "beside big write" },
						{ "process", "rest", "process rest" }, { "process", "fio (12)", "fio (12)" },
						{ "cgroup", "rest", "cgroup rest" }, { "cgroup", "/a/b", "/a/b" },
						{ "cgroup", "shop/mysql-0/db", "shop/mysql-0/db" }, { "flags", "FUA/flush", "flags FUA/flush" } };
	char text[PART_TEXT_MAX];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		part_text(text, part_find(cases[i][0], cases[i][1]));
		assert_string_equal(text, cases[i][2]);
	}
}
