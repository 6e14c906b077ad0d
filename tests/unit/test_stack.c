// SPDX-License-Identifier: GPL-2.0-only
/* A layer and what it lies on. Expected figures are worked out by hand. */
#include "synthetic_run.h"

#include "report/document.h"

static struct stacks st;

void tear_down(void)
{
	stacks_uninit(&st);
}

static void make(u32 n)
{
	stacks_uninit(&st);
	assert_int_equal(stacks_make(&s.run, &st), 0);
	assert_int_equal(st.n, n);
}

static void lies_on(u32 upper, u32 lower)
{
	struct device *d = &s.device[upper];

	d->lower[d->n_lower++] = lower;
}

/* md0 on sdb and on a partition of sdc, where the disk is watched; sdd lies on nothing. */
TEST(array_and_members)
{
	const struct stack_op *o;

	init_run();
	strcpy(s.device[0].name, "md0");
	strcpy(s.device[5].name, "sdc1");
	strcpy(s.device[5].kind, "partition");
	s.device[5].parent = 2;
	lies_on(0, 1);
	lies_on(0, 5);
	for (u32 i = 0; i < 3; i++)
		s.watch[i].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&s, 4, 6, 1);
	/* 100 us above; below, 80 us and, twice as often, 90 us. */
	synthetic_io(&s, 0, READ, 100000, 300);
	synthetic_io(&s, 1, READ, 80000, 100);
	synthetic_io(&s, 2, READ, 90000, 200);
	synthetic_io(&s, 0, WRITE, 100000, 10);
	synthetic_io(&s, 3, WRITE, 5000, 10);
	synthetic_tick(&s, 1);
	run_finish(&s.run);

	make(1);
	assert_string_equal(st.s[0].upper->watch->device->name, "md0");
	assert_int_equal(st.s[0].n_members, 2);
	assert_string_equal(st.s[0].members[0]->watch->device->name, "sdb");
	assert_string_equal(st.s[0].members[1]->watch->device->name, "sdc");
	assert_int_equal(st.s[0].members[1]->watch->stage, BLKLAT_STAGE_TOTAL);
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
}

/* dm-0 on dm-1 (not watched) on sda: sda is the member. The search ends even if the devices form a loop. */
TEST(through_what_is_not_watched)
{
	init_run();
	lies_on(0, 1);
	lies_on(1, 2);
	s.watch[1].device = &s.device[2];
	synthetic_begin(&s, 2, 3, 1);
	make(1);
	assert_int_equal(st.s[0].n_members, 1);
	assert_string_equal(st.s[0].members[0]->watch->device->name, "sdc");

	init_run();
	lies_on(0, 1);
	lies_on(0, 77);
	lies_on(1, 1);
	synthetic_begin(&s, 1, 3, 1);
	make(0);
}

/* The array's total less its member's device stage would be 414 us of waiting that is not the array's doing. */
TEST(unlike_stages_are_not_subtracted)
{
	init_run();
	lies_on(0, 1);
	s.watch[0].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&s, 2, 3, 1);
	synthetic_io(&s, 0, READ, 500000, 10);
	synthetic_io(&s, 1, READ, 86000, 10);
	synthetic_tick(&s, 1);
	run_finish(&s.run);
	make(1);
	assert_int_equal(st.s[0].n_members, 1);
	assert_int_equal(st.s[0].ops[READ].upper_ios, 0);
}

/* Members that have only stage total in common are compared there. */
TEST(members_share_a_stage)
{
	init_run();
	lies_on(0, 1);
	lies_on(0, 2);
	s.watch[3] = (struct watch){ .device = &s.device[1], .stage = BLKLAT_STAGE_TOTAL };
	s.watch[0].stage = BLKLAT_STAGE_TOTAL;
	s.watch[2].stage = BLKLAT_STAGE_TOTAL;
	synthetic_begin(&s, 4, 3, 1);
	make(1);
	assert_int_equal(st.s[0].n_members, 2);
	assert_int_equal(st.s[0].members[0]->watch->stage, BLKLAT_STAGE_TOTAL);
	assert_int_equal(st.s[0].members[1]->watch->stage, BLKLAT_STAGE_TOTAL);
}
