// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "cmd/watches.h"

enum { REQUESTS = 1 << BLKLAT_STAGE_DEVICE | 1 << BLKLAT_STAGE_QUEUE | 1 << BLKLAT_STAGE_TOTAL,
       BIOS = 1 << BLKLAT_STAGE_TOTAL };

static struct device devices[] = {
	{ .name = "dm-0", .kind = "dm", .size_bytes = 4096, .parent = 0, .stages = BIOS },
	{ .name = "loop5", .kind = "loop", .parent = 1, .hw_queues = 1, .tags = 128, .stages = REQUESTS },
	{ .name = "sda", .kind = "disk", .size_bytes = 8192, .parent = 2, .hw_queues = 1, .tags = 32,
	  .stages = REQUESTS },
	{ .name = "vda1", .kind = "partition", .size_bytes = 4096, .parent = 2, .hw_queues = 1, .tags = 32, .iostats = true,
	  .stages = REQUESTS },
};

/* Not read from any machine; a name that is not a path is looked up in it. */
static const struct device_table table = { .root = "/nowhere", .n = ARRAY_SIZE(devices), .d = devices };

static struct watches w;
static struct problem p;

void tear_down(void)
{
	watches_free(&w);
	w = (struct watches){ 0 };
	p.text[0] = '\0';
}

static int make_wanted(const struct wanted *wanted)
{
	tear_down();
	return watches_make(&table, wanted, &w, &p);
}

static int make(const char *a, const char *b, u32 stages)
{
	const char *names[] = { a, b };
	const struct wanted wanted = { .n = b ? 2 : 1, .devices = names, .stages = stages };

	return make_wanted(&wanted);
}

/*
 * A partition is compared with the array that it is a member of at stage total, unless this kernel lacks it there. Which other
 * members are: tests/cli/test_check.py.
 */
TEST(test_partitions_of_an_array)
{
	const char *named[] = { "dm-0", "vda1" };
	struct wanted wanted = { .n = 2, .devices = named, .members_at_total = true };

	devices[0].lower[0] = 3;
	devices[0].n_lower = 1;
	for (u32 lack = 0; lack < 2; lack++) {
		wanted.partitions_lack_total = lack;
		assert_int_equal(make_wanted(&wanted), 0);
		assert_int_equal(w.n, lack ? 2 : 3);
		assert_int_equal(w.partitions_at_total, !lack);
	}
	devices[0].n_lower = 0;
	assert_int_equal(make("dm-0", "vda1", 0), 0);
	assert_int_equal(w.n, 2);
}

/* A pattern and 'all' mean the devices that can have IOs, each once. */
TEST(test_all)
{
	assert_int_equal(make("all", "s*", 0), 0);
	assert_int_equal(w.n, 2);
}

/* A device that goes away may lack a stage, which is an error if it is named. */
TEST(test_matched_or_named)
{
	assert_int_equal(make("sda", "*", 0), 0);
	assert_int_equal(w.n, 3);
	assert_true(!w.w[0].matched && w.w[1].matched && w.w[2].matched);
	/* All are gone, as there is no such tree. */
	assert_int_equal(make("all", NULL, 1 << BLKLAT_STAGE_QUEUE), 0);
	assert_true(w.n == 1 && w.w[0].device == &devices[2]);
	assert_int_equal(make("dm-*", NULL, 1 << BLKLAT_STAGE_QUEUE), -ENOENT);
}

static int of(const struct watch *many, u32 n, const struct wanted *wanted)
{
	tear_down();
	return watches_of(many, n, wanted, &w, &p);
}

/* Each pair is ten watches by size, so a tenth as many pairs are too many. */
TEST(test_parts_count_as_watches)
{
	const struct wanted by_size = { .by = BLKLAT_BY_SIZE }, whole = { 0 }, by_cgroup = { .by = BLKLAT_BY_CGROUP, .max_parts = 253 };
	struct watch *many = calloc(BLKLAT_MAX_WATCHES + 1, sizeof(*many));

	for (u32 i = 0; i <= BLKLAT_MAX_WATCHES; i++)
		many[i].device = &devices[2];
	assert_int_equal(of(many, 6553, &by_size), 0);
	assert_int_equal(w.n, 65530);
	assert_true(!w.w[10].part && w.w[19].part && w.w[19].device == &devices[2]);
	assert_int_equal(of(many, 6554, &by_size), -E2BIG);
	assert_string_equal(p.text, "6554 pairs of device and stage, each with its parts, are too many: at most 6553 can be watched: watch fewer "
				    "devices, or leave --by out");
	assert_null(w.w);
	assert_int_equal(of(many, 256, &by_cgroup), 0);
	assert_int_equal(w.n, 65536);
	assert_int_equal(of(many, 257, &by_cgroup), -E2BIG);
	assert_string_equal(p.text, "257 pairs of device and stage, each with its parts, are too many: at most 256 can be watched: watch fewer "
				    "devices, or lower --max-parts");
	assert_int_equal(of(many, 65536, &whole), 0);
	assert_int_equal(of(many, 65537, &whole), -E2BIG);
	assert_string_equal(p.text, "65537 pairs of device and stage are too many: at most 65536 can be watched: watch fewer devices");
	free(many);
}
