// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/relay.h"
#include "util/cleanup.h"

struct relayed {
	const struct relayed_config *cfg;
	struct sink *sinks[RELAYED_SINKS_MAX];
	bool open;			/* they are */
	struct wired_run run;
	struct frames frames;
	struct slow_ios slow;		/* of these */
	struct snapshot now;		/* if it is sent */
};

int relayed_new(const struct relayed_config *cfg, struct relayed **ret)
{
	struct relayed *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->cfg = cfg;
	*ret = r;
	return 0;
}

static void close_sinks(struct relayed *r)
{
	for (u32 i = 0; i < r->cfg->n_sinks; i++)
		sink_close(TAKE(r->sinks[i]));
	r->open = false;
}

void relayed_free(struct relayed *r)
{
	if (!r)
		return;
	close_sinks(r);
	slow_ios_uninit(&r->slow);
	frames_uninit(&r->frames);
	free(r->now.w);
	wired_run_free(&r->run);
	free(r);
}

static int open_sinks(struct relayed *r)
{
	int err = 0;

	for (u32 i = 0; !err && i < r->cfg->n_sinks; i++)
		err = r->cfg->sinks[i]->open(r->cfg->sinks[i], &r->run.info, &r->sinks[i]);
	r->open = !err;
	return err;
}

/* Whether @run only has other owners of parts, by cgroup, which the run then takes over. */
static bool take_owners(struct relayed *r, const struct wired_run *run)
{
	bool same = r->open && run->info.n_watches == r->run.info.n_watches;

	for (u32 i = 0; same && i < run->info.n_watches; i++) {
		const struct watch *w = &run->watches[i], *was = &r->run.watches[i];

		same = w->stage == was->stage && !w->part == !was->part &&
		       !memcmp(w->device, was->device, offsetof(struct device, absent));
	}
	for (u32 i = 0; same && i < run->info.n_watches; i++)
		r->run.watches[i].part = run->watches[i].part;
	return same;
}

/* The run must stay at its address, which sinks keep. */
static int take_run(struct relayed *r, struct wire_in *bytes)
{
	struct watch_counts *counts = NULL;
	struct slow_ios slow = { 0 };
	struct wired_run run;
	struct frames frames;
	int err = wire_get_run(bytes, &run);

	if (err)
		return err;
	if (r->cfg->reopens && take_owners(r, &run)) {
		wired_run_free(&run);
		return 0;
	}
	if (r->cfg->reopens)
		close_sinks(r);
	err = frames_init(&frames, run.watches, run.info.n_watches, run.info.scale);
	if (!err && run.info.slow_most)
		err = slow_ios_init(&slow, run.info.n_watches, run.info.slow_most);
	if (!err)
		counts = calloc(run.info.n_watches + 1, sizeof(*counts));
	if (err || !counts) {
		slow_ios_uninit(&slow);
		frames_uninit(&frames);
		wired_run_free(&run);
		return err ?: -ENOMEM;
	}
	free(r->now.w);
	r->now.w = counts;
	slow_ios_uninit(&r->slow);
	r->slow = slow;
	frames_uninit(&r->frames);
	wired_run_free(&r->run);
	r->run = run;
	r->run.info.devices = &r->run.devices;
	r->frames = frames;
	return r->open ? 0 : open_sinks(r);
}

static int take_interval(struct relayed *r, struct wire_in *bytes)
{
	int err = wire_get_frames(bytes, &r->run.info, &r->frames, &r->slow, &r->now);

	if (err)
		return err;
	frames_set_percentiles(&r->frames, &r->run.info.percentiles);
	for (u32 i = 0; !err && i < r->cfg->n_sinks; i++)
		err = r->sinks[i]->ops->interval(r->sinks[i], &r->frames);
	return err;
}

int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes)
{
	switch (kind) {
	case RELAY_RUN:
		return take_run(r, bytes);
	case RELAY_INTERVAL:
		return r->open ? take_interval(r, bytes) : -EBADMSG;
	case RELAY_STOP:
		return 0;
	default:
		return -EBADMSG;
	}
}
