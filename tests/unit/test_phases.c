// SPDX-License-Identifier: GPL-2.0-only
/* Phases take memory, which is counted and bounded; tests/cli/test_marked_phases.py has their figures. */
#include "synthetic_run.h"

#include <errno.h>

#include "report/phases.h"

static void read_once(void)
{
	synthetic_io(&s, 0, READ, 1000, 1);
	synthetic_tick(&s, 1);
}

TEST(bounded)
{
	struct mark marks[3];
	u64 before;

	for (u32 i = 0; i < 3; i++)
		marks[i] = (struct mark){ .mono_ns = SYNTHETIC_START_NS + i * NSEC_PER_SEC, .text = "again" };
	init_run();
	s.origin.marks = marks;
	s.origin.n_marks = 3;
	synthetic_begin(&s, 1, 6, 1);
	read_once();
	before = s.run.budget.taken;
	read_once();
	assert_int_equal(s.run.budget.taken - before, sizeof(struct frame) + sizeof(void *) + OP_CELLS(6) * sizeof(u64) +
						     sizeof(struct watch_run) + sizeof(struct frame));
	s.run.budget.most = s.run.budget.taken + 100;
	synthetic_io(&s, 0, READ, 1000, 1);
	s.now.mono_ns += NSEC_PER_SEC;
	s.frames.f[0].interval_s = 1;
	assert_int_equal(run_add(&s.run, &s.frames), -E2BIG);
	assert_true(s.run.budget.exceeded);
	assert_int_equal(s.run.n, 2);
}
