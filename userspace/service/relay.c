// SPDX-License-Identifier: GPL-2.0-only
#include "service/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/clock.h"

/* What the other end knows of the run. The watches are copies, as devices may go away. */
struct told {
	u64 memory_bytes;
	u32 n;
	struct watch *watches;
	u32 *numbers;			/* see struct frame */
	struct device *copies;
};

/* Intervals that have not been sent, merged into one, of the watches that the other end knows. */
struct held {
	u64 mono_ns;
	struct frames frames;	/* of so many reads; 0: none are held */
	struct slow_ios slow;
};

struct relay {
	struct sink_source source;
	struct channel *to;
	const struct run_info *run;	/* of the open sink; NULL: none */
	struct told told;
	struct held held;
};

struct relay_sink {
	struct sink sink;
	struct relay *r;
};

static void forget(struct relay *r)
{
	free(r->told.watches);
	free(r->told.numbers);
	free(r->told.copies);
	r->told = (struct told){ 0 };
}

static void drop_held(struct held *h)
{
	frames_uninit(&h->frames);
	slow_ios_uninit(&h->slow);
	*h = (struct held){ 0 };
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	drop_held(&r->held);
	forget(r);
	free(r);
}

/* --- intervals -------------------------------------------------------------------------------- */

/* @watches: the array that the frames' watches are in. */
static int post(struct relay *r, const struct watch *watches, const struct frames *fs, u64 mono_ns)
{
	struct wire_out bytes = { 0 };

	wire_put(&bytes, mono_ns);
	wire_put(&bytes, fs->reads);
	wire_put(&bytes, fs->drain_ns);
	wire_put_frames(&bytes, r->run, watches, fs);
	return channel_post(r->to, RELAY_INTERVAL, &bytes);
}

static int begin_to_hold(struct relay *r)
{
	struct held *h = &r->held;
	int err = frames_init(&h->frames, r->told.watches, r->told.n, r->run->scale);

	if (!err && r->run->slow_most)
		err = slow_ios_init(&h->slow, r->told.n, r->run->slow_most);
	if (err) {
		drop_held(h);
		return err;
	}
	frames_track(&h->frames);
	for (u32 i = 0; i < r->told.n; i++)
		h->frames.f[i].number = r->told.numbers[i];
	return 0;
}

/* Adds slow IOs to those held. The frames' watches are those that the other end knows, in their order. */
static int hold_slow(struct relay *r, const struct frames *fs)
{
	u32 *numbers CLEANUP(cleanup_free) = calloc(fs->slow->n_watches, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++)
		numbers[fs->f[i].watch - r->run->watches] = i;
	/* If there is no memory, they are only counted. */
	slow_ios_copy(&r->held.slow, fs->slow, numbers);
	slow_ios_sort(&r->held.slow);
	r->held.frames.slow = &r->held.slow;
	return 0;
}

static int hold(struct relay *r, const struct frames *fs, u64 mono_ns)
{
	struct held *h = &r->held;
	int err = h->frames.reads ? 0 : begin_to_hold(r);

	if (!err && r->run->slow_most)
		err = hold_slow(r, fs);
	if (err && !h->frames.reads)
		drop_held(h);
	if (err)
		return err;
	frames_accumulate(&h->frames, fs, &r->run->percentiles);
	h->mono_ns = mono_ns;
	return 0;
}

/* Sends the held intervals, if there are any. */
static int let_go(struct relay *r)
{
	struct held *h = &r->held;
	int err;

	if (!h->frames.reads)
		return 0;
	err = post(r, r->told.watches, &h->frames, h->mono_ns);
	drop_held(h);
	return err;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Whether watch @i has the same device as the previous one. Compares addresses: all watches of a device share one. */
static bool same_device(const struct watch *w, u32 i)
{
	return i && w[i].device == w[i - 1].device;
}

/* @fs: frames of these watches; NULL: none so far, and they are numbered as they stand. */
static int remember(struct relay *r, const struct watch *w, u32 n, const struct frames *fs)
{
	struct told told = { .memory_bytes = r->run->memory_bytes, .n = n };

	told.watches = calloc(n + 1, sizeof(*told.watches));
	told.numbers = calloc(n + 1, sizeof(*told.numbers));
	told.copies = calloc(n + 1, sizeof(*told.copies));
	forget(r);
	r->told = told;
	if (!told.watches || !told.numbers || !told.copies)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		told.watches[i] = w[i];
		told.numbers[i] = fs ? fs->f[i].number : i;
		if (same_device(w, i)) {
			told.watches[i].device = told.watches[i - 1].device;
			continue;
		}
		memcpy(&told.copies[i], w[i].device, sizeof(told.copies[i]));	/* including the padding */
		told.watches[i].device = &told.copies[i];
	}
	return 0;
}

static int describe(struct relay *r, const struct watch *w, u32 n, const struct frames *fs)
{
	struct wire_out bytes = { 0 };
	int err = remember(r, w, n, fs);

	if (err)
		return err;
	wire_put_run(&bytes, r->run, w, n);
	return channel_post(r->to, RELAY_RUN, &bytes);
}

static bool is_told(const struct relay *r, const struct frames *fs)
{
	const struct told *t = &r->told;
	bool same = t->memory_bytes == r->run->memory_bytes && t->n == fs->n;
	const struct device *before = NULL;

	for (u32 i = 0; same && i < fs->n; i++) {
		const struct watch *w = &t->watches[i], *now = fs->f[i].watch;

		/* The first of a device's watches decides. */
		same = t->numbers[i] == fs->f[i].number && w->part == now->part &&
		       ((same_device(t->watches, i) && now->device == before) || !memcmp(w->device, now->device, offsetof(struct device, absent)));
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
	u64 mono_ns = now_ns();
	int err = is_told(r, fs) ? 0 : describe_anew(r, fs);

	if (err)
		return err;
	if (channel_waiting(r->to) > RELAY_HOLD)
		return hold(r, fs, mono_ns);
	return let_go(r) ?: post(r, r->run->watches, fs, mono_ns);
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

int relay_new(struct channel *to, struct relay **ret)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->source.open = relay_open;
	r->to = to;
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
