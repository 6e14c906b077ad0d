// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/relay.h"
#include "util/cleanup.h"

struct relayed {
	const struct relayed_config *cfg;
	u32 begun;			/* followers */
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

static void end_run(struct relayed *r)
{
	while (r->begun) {
		struct follower *f = r->cfg->followers[--r->begun];

		f->end(f);
	}
}

void relayed_free(struct relayed *r)
{
	if (!r)
		return;
	end_run(r);
	slow_ios_uninit(&r->slow);
	frames_uninit(&r->frames);
	free(r->now.w);
	wired_run_free(&r->run);
	free(r);
}

static int begin_run(struct relayed *r)
{
	int err = 0;

	for (; !err && r->begun < r->cfg->n; r->begun += !err)
		err = r->cfg->followers[r->begun]->begin(r->cfg->followers[r->begun], &r->run.info);
	return err;
}

/* Whether @run only has other owners of parts, by cgroup, which the run then takes over. */
static bool take_owners(struct relayed *r, const struct wired_run *run)
{
	bool same = r->begun && run->info.n_watches == r->run.info.n_watches;

	for (u32 i = 0; same && i < run->info.n_watches; i++) {
		const struct watch *w = &run->watches[i], *was = &r->run.watches[i];

		same = w->stage == was->stage && !w->part == !was->part &&
		       !memcmp(w->device, was->device, offsetof(struct device, absent));
	}
	for (u32 i = 0; same && i < run->info.n_watches; i++)
		r->run.watches[i].part = run->watches[i].part;
	return same;
}

/* The run must stay at its address, which followers keep. */
static int take_run(struct relayed *r, struct wire_in *bytes)
{
	struct watch_counts *counts = NULL;
	struct slow_ios slow = { 0 };
	struct wired_run run;
	struct frames frames;
	int err = wire_get_run(bytes, &run);

	if (err)
		return err;
	if (r->cfg->begins_again && take_owners(r, &run)) {
		wired_run_free(&run);
		return 0;
	}
	if (r->cfg->begins_again)
		end_run(r);
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
	return r->begun ? 0 : begin_run(r);
}

static int take_interval(struct relayed *r, struct wire_in *bytes)
{
	int err = wire_get_frames(bytes, &r->run.info, &r->frames, &r->slow, &r->now);

	if (err)
		return err;
	frames_set_percentiles(&r->frames, &r->run.info.percentiles);
	for (u32 i = 0; !err && i < r->begun; i++)
		err = r->cfg->followers[i]->interval(r->cfg->followers[i], &r->frames);
	return err;
}

int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes)
{
	switch (kind) {
	case RELAY_RUN:
		return take_run(r, bytes);
	case RELAY_INTERVAL:
		return r->begun ? take_interval(r, bytes) : -EBADMSG;
	case RELAY_STOP:
		return 0;
	default:
		return -EBADMSG;
	}
}
