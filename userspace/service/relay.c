// SPDX-License-Identifier: GPL-2.0-only
#include "service/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the capture's end ------------------------------------------------------------------------- */

static int post(struct relay *r, const struct frames *fs)
{
	struct wire_out bytes = { 0 };

	wire_put_frames(&bytes, r->run, fs);
	return channel_post(&r->channel, RELAY_INTERVAL, &bytes);
}

/* Sends the held intervals, if there are any. */
static int let_go(struct relay *r)
{
	int err = r->held.frames.reads ? post(r, &r->held.frames) : 0;

	held_drop(&r->held);
	return err;
}

/*
 * Sends the run, unless the other end knows its watches. Frames leave out devices that have gone, so their watches
 * are the current ones. @fs: NULL before the first interval.
 */
static int send_run(struct relay *r, const struct frames *fs)
{
	struct wire_out watches = { 0 }, bytes = { 0 };
	int err;

	wire_put_watches(&watches, r->run, fs);
	if (!watches.failed && watches.len == r->sent.len && !memcmp(watches.data, r->sent.data, watches.len)) {
		wire_out_free(&watches);
		return 0;
	}
	wire_put_run(&bytes, r->run, &watches);
	wire_out_free(&r->sent);
	r->sent = watches;
	err = let_go(r);	/* held intervals belong to the previous watches */
	wired_run_free(&r->copy);
	err = err ?: bytes.failed ? -ENOMEM : wire_get_run(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &r->copy);
	if (!err)
		return channel_post(&r->channel, RELAY_RUN, &bytes);
	wire_out_free(&bytes);
	return err;
}

static int relay_begin(struct follower *f, const struct run_info *run)
{
	struct relay *r = (struct relay *)f;

	r->run = run;
	return send_run(r, NULL);
}

static int relay_interval(struct follower *f, const struct frames *fs)
{
	struct relay *r = (struct relay *)f;
	int err = send_run(r, fs);

	if (err)
		return err;
	if (channel_waiting(&r->channel) > RELAY_HOLD)
		return held_add(&r->held, r->run, r->copy.watches, fs);
	return let_go(r) ?: post(r, fs);
}

static void relay_end(struct follower *f)
{
	let_go((struct relay *)f);	/* if it fails, there is nobody left to tell */
}

void relay_init(struct relay *r, int fd)
{
	*r = (struct relay){ .follower = { relay_begin, relay_interval, relay_end } };
	channel_init(&r->channel, fd);
}

void relay_uninit(struct relay *r)
{
	held_drop(&r->held);
	wired_run_free(&r->copy);
	wire_out_free(&r->sent);
	channel_uninit(&r->channel);
}

int relay_stop(struct relay *r, const char *why)
{
	struct wire_out bytes = { 0 };
	int err = let_go(r);

	if (err)
		return err;
	wire_put_text(&bytes, why);
	return channel_post(&r->channel, RELAY_STOP, &bytes);
}

/* --- the other end ------------------------------------------------------------------------------ */

static void end_run(struct relayed *r)
{
	while (r->begun) {
		struct follower *f = r->followers[--r->begun];

		f->end(f);
	}
}

void relayed_uninit(struct relayed *r)
{
	end_run(r);
	slow_ios_uninit(&r->slow);
	frames_uninit(&r->frames);
	free(r->now.w);
	wired_run_free(&r->run);
}

static int begin_run(struct relayed *r)
{
	int err = 0;

	for (; !err && r->begun < r->n; r->begun += !err)
		err = r->followers[r->begun]->begin(r->followers[r->begun], &r->run.info);
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
	if (r->begins_again && take_owners(r, &run)) {
		wired_run_free(&run);
		return 0;
	}
	if (r->begins_again)
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
		err = r->followers[i]->interval(r->followers[i], &r->frames);
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
