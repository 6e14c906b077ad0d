// SPDX-License-Identifier: GPL-2.0-only
#include "report/document.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

#define DEPTH_MAX 16		/* limits the recursion: in a recording, devices may lie on each other in a circle */

/* The watch of a device at a stage, as a whole, or NULL. */
static const struct watch_run *watch_at(const struct run *r, u32 device, enum blklat_stage stage)
{
	run_for_each_whole(w, r)
		if (w->watch->device == &r->devices.d[device] && w->watch->stage == stage)
			return w;
	return NULL;
}

/* Stage queue does not count: this time alone can't be compared with what a layer above sees. */
static bool watched(const struct run *r, u32 device)
{
	return watch_at(r, device, BLKLAT_STAGE_DEVICE) || watch_at(r, device, BLKLAT_STAGE_TOTAL);
}

/* Marks the nearest watched devices below @device in @set. */
static void find_lower(const struct run *r, u32 device, bool *set, u32 depth)
{
	const struct device *d = &r->devices.d[device];

	for (u32 i = 0; i < d->n_lower && depth < DEPTH_MAX; i++) {
		u32 lower = d->lower[i];

		if (lower >= r->devices.n)
			continue;
		if (!watched(r, lower) && device_is_partition(&r->devices.d[lower]))
			lower = r->devices.d[lower].parent;
		if (watched(r, lower))
			set[lower] = true;
		else
			find_lower(r, lower, set, depth + 1);
	}
}

/* The stage at which to compare: one that the upper device and all members have, preferably total. */
static enum blklat_stage common_stage(const struct run *r, const bool *set, u32 upper)
{
	bool total = watch_at(r, upper, BLKLAT_STAGE_TOTAL);

	for (u32 i = 0; i < r->devices.n; i++)
		total &= !set[i] || watch_at(r, i, BLKLAT_STAGE_TOTAL);
	return total ? BLKLAT_STAGE_TOTAL : BLKLAT_STAGE_DEVICE;
}

static int compare_op(struct stack *s, u32 op)
{
	const struct op_frame *upper = s->upper->ops[op].total;
	struct stack_op *ret = &s->ops[op];
	struct op_frame members = { 0 };
	int err = hist_init(&members.hist, upper->hist.scale);
	struct hist owned CLEANUP(hist_uninit) = members.hist;

	if (err)
		return err;
	for (u32 i = 0; i < s->n_members; i++)
		op_frame_merge(&members, s->members[i]->ops[op].total);
	ret->upper_ios = upper->ios;
	ret->member_ios = members.ios;
	if (!upper->ios || !members.ios)
		return 0;
	ret->overhead_mean_ns = (double)upper->sum_ns / upper->ios - (double)members.sum_ns / members.ios;
	for (u32 i = 0; i < run_over_time.n; i++)
		ret->overhead_ns[i] = op_quantile_ns(upper, run_over_time.p[i].q) -
				      op_quantile_ns(&members, run_over_time.p[i].q);
	ret->overhead_p10_ns = op_quantile_ns(upper, 0.1) - op_quantile_ns(&members, 0.1);
	return 0;
}

/* Fills @s with the devices below @device; n_members is 0 if none of them is watched. */
static int stack_make(const struct run *r, u32 device, struct stack *s)
{
	CLEANUP(cleanup_free) bool *set = calloc(r->devices.n, sizeof(*set));
	enum blklat_stage stage;
	bool one = true;
	int err = 0;

	if (!set)
		return -ENOMEM;
	find_lower(r, device, set, 0);
	set[device] = false;
	s->members = calloc(r->devices.n, sizeof(*s->members));
	if (!s->members)
		return -ENOMEM;
	stage = common_stage(r, set, device);
	s->upper = watch_at(r, device, stage) ?: watch_at(r, device, BLKLAT_STAGE_TOTAL) ?:
		   watch_at(r, device, BLKLAT_STAGE_DEVICE);
	for (u32 i = 0; i < r->devices.n; i++)
		if (set[i])
			s->members[s->n_members++] = watch_at(r, i, stage) ?: watch_at(r, i, BLKLAT_STAGE_TOTAL);
	/* The difference between two stages is not an overhead: total includes waiting, device does not. */
	for (u32 i = 0; i < s->n_members; i++)
		one &= s->members[i]->watch->stage == s->upper->watch->stage;
	for (u32 op = 0; !err && s->n_members && one && op < BLKLAT_OPS; op++)
		err = compare_op(s, op);
	return err;
}

int stacks_make(const struct run *r, struct stacks *ret)
{
	struct stacks made = { .s = calloc(r->devices.n ?: 1, sizeof(*made.s)) };
	int err = made.s ? 0 : -ENOMEM;

	for (u32 i = 0; !err && i < r->devices.n; i++) {
		struct stack *s = &made.s[made.n];

		if (!r->devices.d[i].n_lower || !watched(r, i))
			continue;
		err = stack_make(r, i, s);
		if (!err && s->n_members) {
			made.n++;
			continue;
		}
		free(s->members);
		*s = (struct stack){ 0 };
	}
	if (err) {
		stacks_uninit(&made);
		return err;
	}
	*ret = made;
	return 0;
}

void stacks_uninit(struct stacks *s)
{
	for (u32 i = 0; i < s->n; i++)
		free(s->s[i].members);
	free(s->s);
	*s = (struct stacks){ 0 };
}
