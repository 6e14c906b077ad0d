// SPDX-License-Identifier: GPL-2.0-only
#include "core/shares.h"

const char *const share_names[SHARES] = { "wait", "plug", "queue", "device" };

static const struct op_frame *op_at(const struct frames *fs, const struct device *d, enum blklat_stage stage, u32 op)
{
	for (u32 i = 0; i < fs->n; i++)
		if (fs->f[i].watch->device == d && fs->f[i].watch->stage == stage && !fs->f[i].watch->part)
			return &fs->f[i].ops[op];
	return NULL;
}

/* The time of @bios, if each takes as long as one of @requests did on average. */
static u64 of_bios(u64 ns, u64 bios, u64 requests)
{
	return bios == requests || !requests ? ns : (u64)((double)ns / requests * bios);
}

/* Makes the shares no more than the whole. That takes averages of requests, or IOs in flight at the beginning. */
static void fit(struct shares *s, u64 whole)
{
	u64 left = whole;

	for (u32 i = 0; i < SHARES; i++) {
		s->ns[i] = min_u64(s->ns[i], left);
		left -= s->ns[i];
	}
	s->ns[SHARE_PLUG] += left;
}

bool shares_of(const struct frames *fs, u32 total, u32 op, struct shares *ret)
{
	const struct device *d = fs->f[total].watch->device;
	const struct op_frame *all = &fs->f[total].ops[op], *wait = op_at(fs, d, BLKLAT_STAGE_WAIT, op);
	const struct op_frame *queue = op_at(fs, d, BLKLAT_STAGE_QUEUE, op),
			      *device = op_at(fs, d, BLKLAT_STAGE_DEVICE, op);

	if (fs->f[total].watch->stage != BLKLAT_STAGE_TOTAL || !all->ios || !wait || !queue || !device)
		return false;
	*ret = (struct shares){
		.ns = {
			[SHARE_WAIT] = of_bios(wait->sum_ns, all->ios, wait->ios),
			[SHARE_QUEUE] = of_bios(queue->sum_ns, all->ios, device->ios),
			[SHARE_DEVICE] = of_bios(device->sum_ns, all->ios, device->ios),
		},
		.bios = all->ios, .requests = device->ios,
		.exact = all->ios == device->ios && all->ios == wait->ios,
	};
	fit(ret, all->sum_ns);
	return true;
}
