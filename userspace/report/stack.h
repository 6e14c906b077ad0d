/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays and their members: what a layer adds to the devices that it lies on. Pure. */
#ifndef REPORT_STACK_H
#define REPORT_STACK_H

#include "report/run.h"

struct stack_op {
	u64 upper_ios;		/* either 0: nothing else is meaningful */
	u64 member_ios;		/* of all members: against upper_ios the amplification */
	/*
	 * The upper's figure less that of all members' IOs merged; negative where members are slower, as they
	 * are when they do IOs that the upper does not wait for.
	 */
	double overhead_mean_ns;
	double overhead_ns[PERCENTILES_MAX];	/* in the order of run_over_time */
};

struct stack {
	const struct watch_run *upper;		/* stage total if that is watched, or its device stage */
	u32 n_members;
	const struct watch_run **members;	/* one a device, all at one stage where they have one in common */
	struct stack_op ops[BLKLAT_OPS];
};

struct stacks {
	u32 n;
	struct stack *s;
};

/*
 * Finds every watched device that lies, directly or through devices not watched, on other watched ones.
 * Members are the nearest watched: an array of arrays has the inner ones as members. A partition that
 * isn't watched stands for its disk. Returns 0 or -ENOMEM. The run is borrowed.
 */
int stacks_make(const struct run *r, struct stacks *ret);
void stacks_uninit(struct stacks *s);

#endif
