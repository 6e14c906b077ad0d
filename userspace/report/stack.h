/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays and their members: how much latency a layer adds to that of the devices below. Pure. */
#ifndef REPORT_STACK_H
#define REPORT_STACK_H

#include "report/run.h"

struct stack_op {
	u64 upper_ios;		/* also 0 if stages differ; if this or the next is 0, nothing else is meaningful */
	u64 member_ios;		/* of all members; divided by upper_ios: the amplification */
	/*
	 * The upper device's figure minus that of the members' merged IOs. Negative if the members are
	 * slower, which happens if they do IOs that the upper device does not wait for.
	 */
	double overhead_mean_ns;
	double overhead_ns[PERCENTILES_MAX];	/* in the order of run_over_time */
};

struct stack {
	const struct watch_run *upper;		/* at a stage that it shares with all members, if any; preferably total */
	u32 n_members;
	const struct watch_run **members;	/* one for each device, at the same stage */
	struct stack_op ops[BLKLAT_OPS];
};

struct stacks {
	u32 n;
	struct stack *s;
};

/*
 * Finds every watched device that lies on other watched ones, directly or through devices that are not
 * watched. Its members are the nearest watched devices: for an array of arrays these are the inner
 * arrays. A partition that is not watched stands for its disk. The run is borrowed. Returns 0 or
 * -ENOMEM.
 */
int stacks_make(const struct run *r, struct stacks *ret);
void stacks_uninit(struct stacks *s);

#endif
