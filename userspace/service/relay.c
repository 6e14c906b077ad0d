// SPDX-License-Identifier: GPL-2.0-only
#include "service/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/clock.h"

struct relay {
	struct sink_source source;
	struct channel *to;
	const struct run_info *run;	/* of the open sink; NULL: none */
	/* What the other end knows of the run. It has copies of the devices, which may go away meanwhile. */
	struct wired_run told;
	u32 *numbers;			/* of these watches, see struct frame */
	/* Intervals that have not been sent, merged into one of the watches that the other end knows. */
	struct frames held;		/* of no reads: none */
	struct slow_ios held_slow;
	bool counts;			/* a recording's are sent */
	struct snapshot held_now;	/* those of the last interval held, with its times */
};

struct relay_sink {
	struct sink sink;
	struct relay *r;
};

static void drop_held(struct relay *r)
{
	frames_uninit(&r->held);
	slow_ios_uninit(&r->held_slow);
	free(r->held_now.w);
	r->held_now = (struct snapshot){ 0 };
	r->held = (struct frames){ 0 };
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	drop_held(r);
	wired_run_free(&r->told);
	free(r->numbers);
	free(r);
}

/* --- intervals -------------------------------------------------------------------------------- */

static int post(struct relay *r, const struct frames *fs)
{
	struct wire_out bytes = { 0 };

	wire_put_frames(&bytes, r->run, fs);
	return channel_post(r->to, RELAY_INTERVAL, &bytes);
}

static int begin_to_hold(struct relay *r)
{
	const struct run_info *told = &r->told.info;
	int err = frames_init(&r->held, told->watches, told->n_watches, r->run->scale);

	if (!err && r->run->slow_most)
		err = slow_ios_init(&r->held_slow, told->n_watches, r->run->slow_most);
	if (!err && r->counts) {
		r->held_now.w = calloc(told->n_watches + 1, sizeof(*r->held_now.w));
		err = r->held_now.w ? 0 : -ENOMEM;
	}
	if (err) {
		drop_held(r);
		return err;
	}
	for (u32 i = 0; i < told->n_watches; i++)
		r->held.f[i].number = r->numbers[i];
	frames_set_slow(&r->held, r->run->slow_most ? &r->held_slow : NULL);
	return 0;
}

/* Adds slow IOs to those held. If there is no memory, they are only counted. */
static void hold_slow(struct relay *r, const struct frames *fs)
{
	for (u32 i = 0; i < fs->n; i++)
		if (fs->f[i].slow)
			slow_ios_copy(&r->held_slow, i, fs->slow, fs->f[i].slow);
	slow_ios_sort(&r->held_slow);
}

/* Those at the end of the last interval are also those at the end of all. Only halts add up, as far as there is room. */
static void hold_counts(struct relay *r, const struct frames *fs)
{
	struct watch_counts *held = r->held_now.w;

	for (u32 i = 0; i < fs->n; i++) {
		struct watch_counts was = held[i];

		held[i] = *fs->f[i].counts;
		for (u32 n = 0; n < held[i].n_halts && was.n_halts < HALTS_MOST; n++)
			was.halts[was.n_halts++] = held[i].halts[n];
		memcpy(held[i].halts, was.halts, sizeof(was.halts));
		held[i].n_halts = was.n_halts;
		r->held.f[i].counts = &held[i];
	}
	r->held_now = *fs->now;
	r->held_now.w = held;
	r->held.now = &r->held_now;
}

static int hold(struct relay *r, const struct frames *fs)
{
	static const struct percentiles none;
	int err = r->held.reads ? 0 : begin_to_hold(r);

	if (err)
		return err;
	if (r->run->slow_most)
		hold_slow(r, fs);
	if (fs->now)
		hold_counts(r, fs);
	frames_accumulate(&r->held, fs, &none);
	return 0;
}

/* Sends the held intervals, if there are any. */
static int let_go(struct relay *r)
{
	int err = r->held.reads ? post(r, &r->held) : 0;

	drop_held(r);
	return err;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Whether watch @i has the same device as the previous one. Compares addresses: all watches of a device share one. */
static bool same_device(const struct watch *w, u32 i)
{
	return i && w[i].device == w[i - 1].device;
}

/* @fs: frames of these watches; NULL: none so far, and they are numbered as they stand. */
static int describe(struct relay *r, const struct watch *w, u32 n, const struct frames *fs)
{
	struct wire_out bytes = { 0 };
	int err;

	wired_run_free(&r->told);
	if (array_grow(&r->numbers, sizeof(*r->numbers), n + 1))
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		r->numbers[i] = fs ? fs->f[i].number : i;
	wire_put_run(&bytes, r->run, w, n);
	err = bytes.failed ? -ENOMEM :
	      wire_get_run(&(struct wire_in){ .at = bytes.data, .end = bytes.data + bytes.len }, &r->told);
	free(TAKE(r->told.devices.d));	/* only the watches' devices are needed */
	if (err) {
		wire_out_free(&bytes);
		return err;
	}
	return channel_post(r->to, RELAY_RUN, &bytes);
}

static bool is_told(const struct relay *r, const struct frames *fs)
{
	const struct run_info *told = &r->told.info;
	bool same = told->memory_bytes == r->run->memory_bytes && told->n_watches == fs->n;
	const struct device *before = NULL;

	for (u32 i = 0; same && i < fs->n; i++) {
		const struct watch *w = &told->watches[i], *now = fs->f[i].watch;

		/* The first of a device's watches decides. */
		same = r->numbers[i] == fs->f[i].number && w->part == now->part &&
		       ((same_device(told->watches, i) && now->device == before) ||
			!memcmp(w->device, now->device, offsetof(struct device, absent)));
		before = now->device;
	}
	return same;
}

/*
 * Tells the other end of a new list of watches. Frames leave out devices that have gone, so their
 * watches are the current ones.
 */
static int describe_anew(struct relay *r, const struct frames *fs)
{
	struct watch *list = calloc(fs->n + 1, sizeof(*list));
	int err = list ? let_go(r) : -ENOMEM;	/* held intervals belong to the previous watches */

	if (err) {
		free(list);
		return err;
	}
	for (u32 i = 0; i < fs->n; i++)
		list[i] = *fs->f[i].watch;
	err = describe(r, list, fs->n, fs);
	free(list);
	return err;
}

/* --- the sink --------------------------------------------------------------------------------- */

static int relay_interval(struct sink *s, const struct frames *fs)
{
	struct relay *r = ((struct relay_sink *)s)->r;
	struct frames now = *fs;
	int err = is_told(r, fs) ? 0 : describe_anew(r, fs);

	if (err)
		return err;
	now.mono_ns = now_ns();		/* a replay's own may be of another day */
	if (!r->counts)
		now.now = NULL;
	if (channel_waiting(r->to) > RELAY_HOLD)
		return hold(r, &now);
	return let_go(r) ?: post(r, &now);
}

static void relay_close(struct sink *sink)
{
	struct relay_sink *s = (struct relay_sink *)sink;

	let_go(s->r);	/* if it fails, there is nobody left to tell */
	s->r->run = NULL;
	free(s);
}

static const struct sink_ops sink_relay = {
	.interval = relay_interval,
	.summary = sink_without_summary,
	.close = relay_close,
};

static int relay_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct relay *r = (struct relay *)of;
	struct relay_sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct relay_sink){ .sink.ops = &sink_relay, .r = r };
	r->run = run;
	err = describe(r, run->watches, run->n_watches, NULL);
	if (err) {
		r->run = NULL;
		free(s);
		return err;
	}
	*ret = &s->sink;
	return 0;
}

int relay_new(struct channel *to, bool counts, struct relay **ret)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->source.open = relay_open;
	r->to = to;
	r->counts = counts;
	*ret = r;
	return 0;
}

struct sink_source *relay_source(struct relay *r)
{
	return &r->source;
}

int relay_stop(struct relay *r, const char *why)
{
	struct wire_out bytes = { 0 };
	int err = let_go(r);

	if (err)
		return err;
	wire_put_text(&bytes, why);
	return channel_post(r->to, RELAY_STOP, &bytes);
}
