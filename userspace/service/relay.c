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

/* Sends the held intervals, if there are any. Of the run only what does not change is used. */
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
	u32 n = fs ? fs->n : r->run->n_watches;
	struct watch *copy;
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
	copy = reallocarray(r->watches, n + 1, sizeof(*copy));
	r->watches = copy ?: r->watches;
	for (u32 i = 0; copy && i < n; i++)
		copy[i] = fs ? *fs->f[i].watch : r->run->watches[i];
	bytes.failed |= !copy;
	return channel_post(&r->channel, RELAY_RUN, &bytes) ?: err;
}

int relay_begin(struct relay *r, const struct run_info *run)
{
	r->run = run;
	return send_run(r, NULL);
}

int relay_interval(struct relay *r, const struct frames *fs)
{
	int err = send_run(r, fs);

	if (err)
		return err;
	if (channel_waiting(&r->channel) > RELAY_HOLD)
		return held_add(&r->held, r->run, r->watches, fs);
	return let_go(r) ?: post(r, fs);
}

void relay_init(struct relay *r, int fd)
{
	*r = (struct relay){ 0 };
	channel_init(&r->channel, fd);
}

void relay_uninit(struct relay *r)
{
	let_go(r);	/* if it fails, there is nobody left to tell */
	free(r->watches);
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

void relayed_uninit(struct relayed *r)
{
	slow_ios_uninit(&r->slow);
	frames_uninit(&r->frames);
	free(r->now.w);
	wired_run_free(&r->run);
	wired_run_free(&r->before);
}

/* Whether @run only has other owners of parts, by cgroup, which the run then takes over. */
static bool take_owners(struct relayed *r, const struct wired_run *run)
{
	bool same = r->run.watches && run->info.n_watches == r->run.info.n_watches;

	for (u32 i = 0; same && i < run->info.n_watches; i++) {
		const struct watch *w = &run->watches[i], *was = &r->run.watches[i];

		same = w->stage == was->stage && !w->part == !was->part &&
		       !memcmp(w->device, was->device, offsetof(struct device, absent));
	}
	for (u32 i = 0; same && i < run->info.n_watches; i++)
		r->run.watches[i].part = run->watches[i].part;
	return same;
}

static int take_run(struct relayed *r, struct wire_in *bytes)
{
	struct relayed made = { .keeps_run = r->keeps_run };
	int err = wire_get_run(bytes, &made.run);
	u32 n = made.run.info.n_watches;

	if (err)
		return err;
	if (r->keeps_run && take_owners(r, &made.run)) {
		relayed_uninit(&made);
		return 0;
	}
	err = frames_init(&made.frames, made.run.watches, n, made.run.info.scale);
	if (!err && made.run.info.slow_most)
		err = slow_ios_init(&made.slow, n, made.run.info.slow_most);
	made.now.w = calloc(n + 1, sizeof(*made.now.w));
	if (err || !made.now.w) {
		relayed_uninit(&made);
		return err ?: -ENOMEM;
	}
	made.before = r->run;
	r->run = (struct wired_run){ 0 };
	relayed_uninit(r);
	*r = made;
	r->run.info.devices = &r->run.devices;
	r->before.info.devices = &r->before.devices;
	return 1;
}

static int take_interval(struct relayed *r, struct wire_in *bytes)
{
	int err = wire_get_frames(bytes, &r->run.info, &r->frames, &r->slow, &r->now);

	if (!err)
		frames_set_percentiles(&r->frames, &r->run.info.percentiles);
	return err;
}

int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes)
{
	switch (kind) {
	case RELAY_RUN:
		return take_run(r, bytes);
	case RELAY_INTERVAL:
		return r->run.watches ? take_interval(r, bytes) : -EBADMSG;
	case RELAY_STOP:
		return 0;
	default:
		return -EBADMSG;
	}
}
