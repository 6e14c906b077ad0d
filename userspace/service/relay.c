// SPDX-License-Identifier: GPL-2.0-only
#include "service/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/held.h"
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
	struct held held;		/* intervals that have not been sent, of the watches that the other end knows */
	bool counts;			/* a recording's are sent */
};

struct relay_sink {
	struct sink sink;
	struct relay *r;
};

void relay_free(struct relay *r)
{
	if (!r)
		return;
	held_drop(&r->held);
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

/* Sends the held intervals, if there are any. */
static int let_go(struct relay *r)
{
	int err = r->held.frames.reads ? post(r, &r->held.frames) : 0;

	held_drop(&r->held);
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
		return held_add(&r->held, r->run, r->told.info.watches, &now);
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
