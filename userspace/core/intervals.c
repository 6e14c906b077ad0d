// SPDX-License-Identifier: GPL-2.0-only
#include "core/intervals.h"

#include "util/clock.h"

int intervals_init(struct intervals *in, struct capture *c)
{
	int err;

	*in = (struct intervals){ .capture = c };
	err = snapshot_init(&in->snapshots[0], c->n_watches, c->scale);
	err = err ?: snapshot_init(&in->snapshots[1], c->n_watches, c->scale);
	err = err ?: frames_init(&in->frames, c->watches, c->n_watches, c->scale);
	if (!err && c->slow && c->live)
		err = slow_limits_init(&in->slow, &c->slow_wanted, c->watches, c->n_watches, c->scale);
	if (err)
		return err;
	snapshot_track(&in->snapshots[0]);
	snapshot_track(&in->snapshots[1]);
	frames_track(&in->frames);
	in->snapshots[0].mono_ns = clock_ns(CLOCK_MONOTONIC);
	in->snapshots[0].wall_ns = clock_ns(CLOCK_REALTIME);
	if (in->slow.from_ns)
		c->live->set_slow(c, in->slow.from_ns);
	return 0;
}

void intervals_uninit(struct intervals *in)
{
	snapshot_uninit(&in->snapshots[0]);
	snapshot_uninit(&in->snapshots[1]);
	frames_uninit(&in->frames);
	slow_limits_uninit(&in->slow);
}

int intervals_begin(struct intervals *in, struct problem *p)
{
	struct snapshot *now = &in->snapshots[in->now];
	int err = in->capture->ops->read(in->capture, now, p);

	for (u32 i = 0; !err && i < now->n; i++) {
		in->frames.f[i].gone = now->w[i].gone;
		/*
		 * IOs in flight now are hardly older than the capture, and a recording does not have
		 * their ages.
		 */
		now->w[i].waited_ns = 0;
	}
	return err;
}

int intervals_next(struct intervals *in, const struct percentiles *ps, struct problem *p)
{
	const struct snapshot *before = &in->snapshots[in->now];
	struct snapshot *now = &in->snapshots[!in->now];
	int err = in->capture->ops->read(in->capture, now, p);

	if (err)
		return err;
	in->now = !in->now;
	frames_between(&in->frames, before, now, ps, in->capture->cpus);
	in->frames.slow = in->capture->slow;
	if (in->slow.from_ns) {
		slow_limits_follow(&in->slow, &in->frames);
		in->capture->live->set_slow(in->capture, in->slow.from_ns);
	}
	return 0;
}
