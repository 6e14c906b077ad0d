// SPDX-License-Identifier: GPL-2.0-only
#include "core/shares.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/units.h"

#define MANY_WAIT 0.25	/* of the time; then how many requests there can be is of interest */

const char *const share_names[SHARES] = { "wait", "plug", "queue", "device" };

/* Of each stage of the device of watch @i; NULL where it is not watched. */
static void ops_at_stages(const struct frames *fs, u32 i, u32 op, const struct op_frame *ret[BLKLAT_STAGES])
{
	const struct device *d = fs->f[i].watch->device;

	while (i && fs->f[i - 1].watch->device == d)
		i--;
	for (; i < fs->n && fs->f[i].watch->device == d; i++)
		if (!fs->f[i].watch->part)
			ret[fs->f[i].watch->stage] = &fs->f[i].ops[op];
}

/* The time of @bios, if each takes as long as one of @requests did on average. */
static u64 of_bios(u64 ns, u64 bios, u64 requests)
{
	return bios == requests || !requests ? ns : (u64)fmin((double)ns / requests * bios, INT64_MAX);
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

bool shares_of(const struct frames *fs, u32 i, u32 op, struct shares *ret)
{
	const struct op_frame *at[BLKLAT_STAGES] = { NULL }, *all, *wait, *queue, *device;

	if (fs->f[i].watch->part || !fs->f[i].ops[op].ios)
		return false;
	ops_at_stages(fs, i, op, at);
	all = at[BLKLAT_STAGE_TOTAL];
	wait = at[BLKLAT_STAGE_WAIT];
	queue = at[BLKLAT_STAGE_QUEUE];
	device = at[BLKLAT_STAGE_DEVICE];
	if (!all || !wait || !queue || !device || !all->ios || !all->sum_ns)
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

/* Not 0, and without overflow, whatever a recording says. */
static double whole_of(const struct shares *s)
{
	double whole = 0;

	for (u32 i = 0; i < SHARES; i++)
		whole += s->ns[i];
	return fmax(whole, 1);
}

void shares_round(const struct shares *s, u32 ret[SHARES])
{
	double whole = whole_of(s), lacks[SHARES];
	u32 left = SHARES_WHOLE;

	for (u32 i = 0; i < SHARES; i++) {
		double exact = s->ns[i] / whole * SHARES_WHOLE;

		ret[i] = exact;
		lacks[i] = exact - ret[i];
		left -= ret[i];
	}
	for (; left; left--) {
		u32 most = 0;

		for (u32 i = 1; i < SHARES; i++)
			if (lacks[i] > lacks[most])
				most = i;
		lacks[most] = 0;
		ret[most]++;
	}
}

/* A request has a tag of the scheduler, if there is one, else of the driver, of which nr_requests may allow fewer. */
static void say_room(char *say, const struct device *d)
{
	bool scheduler = d->scheduler[0] && strcmp(d->scheduler, "none");
	u32 most = scheduler || (d->nr_requests && d->nr_requests < d->tags) ? d->nr_requests : d->tags;

	if (most)
		sprintf(say, "; the %s has %u tag%s%s", scheduler ? "scheduler" : "device", most, most == 1 ? "" : "s",
			d->hw_queues > 1 && !d->shared_tags ? " a queue" : "");
}

const char *shares_text(char text[SHARES_TEXT], const struct shares *s, const struct device *d)
{
	char bios[UNITS_TEXT], requests[UNITS_TEXT];
	u32 part[SHARES];
	int n = 0;

	shares_round(s, part);
	for (u32 i = 0; i < SHARES; i++)
		n += sprintf(text + n, "%s%s %u.%u %%", i ? ", " : "", share_names[i], part[i] / 10, part[i] % 10);
	n += sprintf(text + n, " of this time");
	if (s->bios != s->requests)
		n += sprintf(text + n, ", about, as %s bios were %s requests", units_count(bios, s->bios),
			     units_count(requests, s->requests));
	if (s->ns[SHARE_WAIT] > MANY_WAIT * whole_of(s))
		say_room(text + n, d);
	return text;
}
