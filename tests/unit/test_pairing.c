// SPDX-License-Identifier: GPL-2.0-only
/* Two runs side by side; a layer and what it lies on. Expected figures are worked by hand. */
#include "synthetic_run.h"

#include <errno.h>

#include "report/comparison.h"
#include "report/distance.h"
#include "report/stack.h"

#define READ BLKLAT_OP_READ
#define WRITE BLKLAT_OP_WRITE

static void put(struct hist *h, u64 ns, u64 n)
{
	h->cells[blklat_cell(ns, h->scale)] += n;
}

/* Cumulative 0.5, 0.75, 1 against 0, 0.25, 1: they are farthest apart, 0.5, at the first two. */
static void ks_by_hand(void **state)
{
	struct hist a, b, coarse;
	double d;

	(void)state;
	assert_int_equal(hist_init(&a, 6), 0);
	assert_int_equal(hist_init(&b, 6), 0);
	assert_int_equal(hist_init(&coarse, 2), 0);
	assert_int_equal(ks_distance(&a, &b, &d), -ENODATA);
	put(&a, 10000, 2);
	assert_int_equal(ks_distance(&a, &b, &d), -ENODATA);
	put(&a, 20000, 1);
	put(&a, 80000, 1);
	put(&b, 20000, 25);
	put(&b, 80000, 75);
	assert_int_equal(ks_distance(&a, &b, &d), 0);
	assert_close(d, 0.5, 1e-15);
	assert_int_equal(ks_distance(&b, &a, &d), 0);
	assert_close(d, 0.5, 1e-15);
	assert_int_equal(ks_distance(&a, &a, &d), 0);
	assert_close(d, 0, 0);
	/* Of another scale: 10 and 20 us lie in different bins of a quarter octave, too. */
	put(&coarse, 20000, 1);
	put(&coarse, 80000, 3);
	assert_int_equal(ks_distance(&a, &coarse, &d), 0);
	assert_close(d, 0.5, 1e-15);
	assert_int_equal(ks_distance(&coarse, &a, &d), 0);
	assert_close(d, 0.5, 1e-15);
	hist_clear(&b);
	put(&b, 1000000, 7);
	assert_int_equal(ks_distance(&a, &b, &d), 0);
	assert_close(d, 1, 0);
	hist_uninit(&a);
	hist_uninit(&b);
	hist_uninit(&coarse);
}

static void ratios(void **state)
{
	(void)state;
	assert_close(ratio_of(200, 300), 1.5, 0);
	assert_true(ratio_of(0, 3) < 0);
	assert_true(ratio_of(3, -1) < 0);
	assert_close(ratio_of(3, 0), 0, 0);
}

static void begin_named(struct synthetic *s, const char *const *names, u32 n)
{
	synthetic_init(s);
	for (u32 i = 0; i < n; i++)
		strcpy(s->device[i].name, names[i]);
	synthetic_begin(s, n, 3, 1);
}

static void pairs(void **state)
{
	struct synthetic a, b;
	struct pair p[4];

	(void)state;
	begin_named(&a, (const char *const[]){ "sda", "sdb", "sdc" }, 3);
	begin_named(&b, (const char *const[]){ "sdc", "sda", "nvme0n1" }, 3);
	assert_int_equal(comparison_pairs(&a.run, &b.run, p), 3);
	assert_true(p[0].base == 0 && p[0].other == 1);
	assert_true(p[1].base == 2 && p[1].other == 0);
	assert_true(p[2].base == 1 && p[2].other == 2);		/* what is left once in each */
	synthetic_uninit(&b);
	begin_named(&b, (const char *const[]){ "nvme0n1", "nvme1n1", "sda" }, 3);
	assert_int_equal(comparison_pairs(&a.run, &b.run, p), 1);	/* two are left: who is whose? */
	synthetic_uninit(&b);
	synthetic_uninit(&a);

	/* A recording that claims to have watched a device twice does not get more pairs than there is room for. */
	begin_named(&a, (const char *const[]){ "sda", "sda" }, 2);
	begin_named(&b, (const char *const[]){ "sda", "sda" }, 2);
	assert_int_equal(comparison_pairs(&a.run, &b.run, p), 2);
	synthetic_uninit(&b);
	synthetic_uninit(&a);

	begin_named(&a, (const char *const[]){ "sda" }, 1);
	synthetic_init(&b);
	b.watch[0].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&b, 1, 3, 1);
	assert_int_equal(comparison_pairs(&a.run, &b.run, p), 0);
	synthetic_uninit(&b);
	synthetic_uninit(&a);
}

static void ops_merge(void **state)
{
	struct op_frame m;
	struct synthetic s;

	(void)state;
	synthetic_init(&s);
	synthetic_begin(&s, 1, 6, 1);
	synthetic_io(&s, 0, READ, 60000, 99);
	synthetic_io(&s, 0, WRITE, 2000000, 1);
	synthetic_tick(&s, 2);
	run_finish(&s.run);
	assert_int_equal(merged_make(s.run.watches[0].total, &m), 0);
	assert_int_equal(m.ios, 100);
	assert_int_equal(m.min_ns, 60000);
	assert_int_equal(m.max_ns, 2000000);
	assert_close(m.iops, 50, 1e-12);
	assert_close(m.bytes_per_s, 204800, 1e-9);
	assert_close(m.mean_ns, (99 * 60000 + 2000000) / 100.0, 1e-9);
	assert_close(m.percentile_ns[0], 60000, 400);
	assert_close(m.percentile_ns[4], 2000000, 0);
	merged_uninit(&m);
	synthetic_uninit(&s);
}

/* md0 on sdb and on a partition of sdc, whose disk is what is watched; sdd lies on nothing. */
static void array_and_members(void **state)
{
	const struct stack_op *o;
	struct synthetic s;
	struct stacks st;

	(void)state;
	synthetic_init(&s);
	strcpy(s.device[0].name, "md0");
	strcpy(s.device[5].name, "sdc1");
	strcpy(s.device[5].kind, "partition");
	s.device[5].parent = 2;
	s.device[0].n_lower = 2;
	s.device[0].lower[0] = 1;
	s.device[0].lower[1] = 5;
	s.watch[0].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&s, 4, 6, 1);
	/* 100 us above; below 80 us, and 90 us of which there are more. */
	synthetic_io(&s, 0, READ, 100000, 300);
	synthetic_io(&s, 1, READ, 80000, 100);
	synthetic_io(&s, 2, READ, 90000, 200);
	synthetic_io(&s, 0, WRITE, 100000, 10);
	synthetic_io(&s, 3, WRITE, 5000, 10);
	synthetic_tick(&s, 1);
	run_finish(&s.run);

	assert_int_equal(stacks_make(&s.run, &st), 0);
	assert_int_equal(st.n, 1);
	assert_string_equal(st.s[0].upper->watch->device->name, "md0");
	assert_int_equal(st.s[0].n_members, 2);
	assert_string_equal(st.s[0].members[0]->watch->device->name, "sdb");
	assert_string_equal(st.s[0].members[1]->watch->device->name, "sdc");
	assert_int_equal(st.s[0].members[1]->watch->stage, BLKLAT_STAGE_DEVICE);
	o = &st.s[0].ops[READ];
	assert_int_equal(o->upper_ios, 300);
	assert_int_equal(o->member_ios, 300);
	assert_close(o->overhead_mean_ns, 100000 - 26e6 / 300, 1e-6);
	/* Rank 150 of 300 is one of the 90 us, as is the last; bins are 1.09 % wide. */
	assert_close(o->overhead_ns[0], 10000, 1100);
	assert_close(o->overhead_ns[3], 10000, 1100);
	assert_close(st.s[0].members[1]->total->queue_depth, 0.018, 1e-12);
	assert_int_equal(st.s[0].ops[WRITE].upper_ios, 10);
	assert_int_equal(st.s[0].ops[WRITE].member_ios, 0);
	stacks_uninit(&st);
	synthetic_uninit(&s);
}

/* dm-0 on dm-1 (not watched) on sda: sda is the member. A loop of claims ends. */
static void through_what_is_not_watched(void **state)
{
	struct synthetic s;
	struct stacks st;

	(void)state;
	synthetic_init(&s);
	for (u32 i = 0; i < 2; i++)
		s.device[i].n_lower = 1;
	s.device[0].lower[0] = 1;
	s.device[1].lower[0] = 2;
	s.watch[1].device = &s.device[2];
	synthetic_begin(&s, 2, 3, 1);
	assert_int_equal(stacks_make(&s.run, &st), 0);
	assert_int_equal(st.n, 1);
	assert_int_equal(st.s[0].n_members, 1);
	assert_string_equal(st.s[0].members[0]->watch->device->name, "sdc");
	stacks_uninit(&st);
	synthetic_uninit(&s);

	synthetic_init(&s);
	s.device[1].n_lower = 1;
	s.device[0].n_lower = 2;
	s.device[0].lower[0] = 1;
	s.device[0].lower[1] = 77;
	s.device[1].lower[0] = 1;
	synthetic_begin(&s, 1, 3, 1);
	assert_int_equal(stacks_make(&s.run, &st), 0);
	assert_int_equal(st.n, 0);
	stacks_uninit(&st);
	synthetic_uninit(&s);
}

/* Members that have only stage total in common are compared at that. */
static void members_share_a_stage(void **state)
{
	struct synthetic s;
	struct stacks st;

	(void)state;
	synthetic_init(&s);
	s.device[0].n_lower = 2;
	s.device[0].lower[0] = 1;
	s.device[0].lower[1] = 2;
	s.watch[3] = (struct watch){ &s.device[1], BLKLAT_STAGE_TOTAL };
	s.watch[2].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&s, 4, 3, 1);
	assert_int_equal(stacks_make(&s.run, &st), 0);
	assert_int_equal(st.n, 1);
	assert_int_equal(st.s[0].n_members, 2);
	assert_int_equal(st.s[0].members[0]->watch->stage, BLKLAT_STAGE_TOTAL);
	assert_int_equal(st.s[0].members[1]->watch->stage, BLKLAT_STAGE_TOTAL);
	stacks_uninit(&st);
	synthetic_uninit(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ks_by_hand),
		cmocka_unit_test(ratios),
		cmocka_unit_test(pairs),
		cmocka_unit_test(ops_merge),
		cmocka_unit_test(array_and_members),
		cmocka_unit_test(through_what_is_not_watched),
		cmocka_unit_test(members_share_a_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
