// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int make(const char *a, const char *b, u32 stages, struct watches *ret, struct problem *p)
{
	const char *names[] = { a, b };
	const struct wanted wanted = { .n = b ? 2 : 1, .devices = names, .stages = stages };

	p->text[0] = '\0';
	*ret = (struct watches){ 0 };
	return watches_make(&table, &wanted, ret, p);
}

static void check_watch(const struct watches *w, u32 i, u32 device, enum blklat_stage stage)
{
	assert_true(i < w->n);
	assert_ptr_equal(w->w[i].device, &devices[device]);
	assert_int_equal(w->w[i].stage, stage);
}

/* If there are requests, their time at the device; otherwise that of bios. */
static void test_default_stage(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("sda", "dm-0", 0, &w, &p), 0);
	assert_int_equal(w.n, 2);
	check_watch(&w, 0, 2, BLKLAT_STAGE_DEVICE);
	check_watch(&w, 1, 0, BLKLAT_STAGE_TOTAL);
	watches_free(&w);
}

/*
 * An array is compared with its members at stage total, be they disks or partitions and whatever is named first. No other
 * partition gets that stage.
 */
static void test_members_of_an_array(void **state)
{
	static const char *const names[][2] = { { "dm-0", "vda1" }, { "vda1", "dm-0" }, { "dm-0", "sda" } };
	struct watches w;
	struct problem p;

	(void)state;
	devices[0].lower[0] = 3;
	devices[0].n_lower = 1;
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		const char *named[] = { names[i][0], names[i][1] };
		struct wanted wanted = { .n = 2, .devices = named, .members_at_total = true };
		u32 member = i < 2 ? 3 : 2, first = i == 1 ? 0 : 1;

		assert_int_equal(watches_make(&table, &wanted, &w, &p), 0);
		assert_int_equal(w.n, 3);
		assert_int_equal(w.partitions_at_total, i < 2);
		check_watch(&w, first, member, BLKLAT_STAGE_DEVICE);
		check_watch(&w, first + 1, member, BLKLAT_STAGE_TOTAL);
		check_watch(&w, first ? 0 : 2, 0, BLKLAT_STAGE_TOTAL);
		watches_free(&w);
		wanted.partitions_lack_total = true;
		assert_int_equal(watches_make(&table, &wanted, &w, &p), 0);
		assert_int_equal(w.n, i < 2 ? 2 : 3);
		assert_false(w.partitions_at_total);
		watches_free(&w);
	}
	devices[0].n_lower = 0;
	assert_int_equal(make("dm-0", "vda1", 0, &w, &p), 0);
	assert_int_equal(w.n, 2);
	watches_free(&w);
}

static void test_several_stages(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("sda", NULL, REQUESTS, &w, &p), 0);
	assert_int_equal(w.n, 3);
	check_watch(&w, 0, 2, BLKLAT_STAGE_DEVICE);
	check_watch(&w, 1, 2, BLKLAT_STAGE_QUEUE);
	check_watch(&w, 2, 2, BLKLAT_STAGE_TOTAL);
	watches_free(&w);
	assert_int_equal(make("sda", "sda", BIOS, &w, &p), 0);
	assert_int_equal(w.n, 1);
	watches_free(&w);
}

/* Which stage is missing, on which device, and what that has instead; a good device before it does not help. */
static void test_lacking_stage(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("sda", "dm-0", 1 << BLKLAT_STAGE_QUEUE | BIOS, &w, &p), -EINVAL);
	assert_non_null(strstr(p.text, "--stage 'queue'"));
	assert_non_null(strstr(p.text, "'dm-0' does not have it; it has total"));
	assert_null(w.w);
	assert_int_equal(make("dm-0", NULL, REQUESTS, &w, &p), -EINVAL);
	assert_non_null(strstr(p.text, "--stage 'device,queue'"));
}

static void test_device_without_a_size(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_true(make("loop5", NULL, 0, &w, &p) < 0);
	assert_non_null(strstr(p.text, "'loop5' has no size"));
	assert_null(w.w);
	assert_true(make("sda", "loop5", 0, &w, &p) < 0);
	assert_null(w.w);
}

/* A pattern and 'all' mean the devices that can have IOs, each once. */
static void test_all(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("all", "s*", 0, &w, &p), 0);
	assert_int_equal(w.n, 2);
	watches_free(&w);
}

/* A device that goes away may lack a stage, which is an error if it is named. */
static void test_matched_or_named(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("sda", "*", 0, &w, &p), 0);
	assert_int_equal(w.n, 3);
	assert_true(!w.w[0].matched && w.w[1].matched && w.w[2].matched);
	watches_free(&w);
	/* All are gone, as there is no such tree. */
	assert_int_equal(make("all", NULL, 1 << BLKLAT_STAGE_QUEUE, &w, &p), 0);
	assert_true(w.n == 1 && w.w[0].device == &devices[2]);
	watches_free(&w);
	assert_int_equal(make("dm-*", NULL, 1 << BLKLAT_STAGE_QUEUE, &w, &p), -ENOENT);
}

static void test_unknown_device(void **state)
{
	struct watches w;
	struct problem p;

	(void)state;
	assert_int_equal(make("sdaa", NULL, 0, &w, &p), -ENODEV);
	assert_non_null(strstr(p.text, "'sdaa'"));
	assert_non_null(strstr(p.text, "did you mean 'sda'"));
	assert_int_equal(make("nvme*", NULL, 0, &w, &p), -ENOENT);
	assert_null(w.w);
}

/* Each pair is ten watches by size, so a tenth as many pairs are too many. */
static void test_parts_count_as_watches(void **state)
{
	const struct wanted by_size = { .by = BLKLAT_BY_SIZE }, whole = { 0 }, by_cgroup = { .by = BLKLAT_BY_CGROUP, .max_parts = 253 };
	struct watch *many = calloc(BLKLAT_MAX_WATCHES + 1, sizeof(*many));
	struct watches w;
	struct problem p;

	(void)state;
	for (u32 i = 0; i <= BLKLAT_MAX_WATCHES; i++)
		many[i].device = &devices[2];
	assert_int_equal(watches_of(many, 6553, &by_size, &w, &p), 0);
	assert_int_equal(w.n, 65530);
	assert_true(!w.w[10].part && w.w[19].part && w.w[19].device == &devices[2]);
	watches_free(&w);
	assert_int_equal(watches_of(many, 6554, &by_size, &w, &p), -E2BIG);
	assert_string_equal(p.text, "6554 pairs of device and stage, each with its parts, are too many, 6553 can be watched: watch fewer "
				    "devices, or leave --by out");
	assert_null(w.w);
	assert_int_equal(watches_of(many, 256, &by_cgroup, &w, &p), 0);
	assert_int_equal(w.n, 65536);
	watches_free(&w);
	assert_int_equal(watches_of(many, 257, &by_cgroup, &w, &p), -E2BIG);
	assert_string_equal(p.text, "257 pairs of device and stage, each with its parts, are too many, 256 can be watched: watch fewer "
				    "devices, or lower --max-parts");
	assert_int_equal(watches_of(many, 65536, &whole, &w, &p), 0);
	watches_free(&w);
	assert_int_equal(watches_of(many, 65537, &whole, &w, &p), -E2BIG);
	assert_string_equal(p.text, "65537 pairs of device and stage are too many, 65536 can be watched: watch fewer devices");
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_stage),
		cmocka_unit_test(test_members_of_an_array),
		cmocka_unit_test(test_several_stages),
		cmocka_unit_test(test_lacking_stage),
		cmocka_unit_test(test_device_without_a_size),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_matched_or_named),
		cmocka_unit_test(test_unknown_device),
		cmocka_unit_test(test_parts_count_as_watches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
