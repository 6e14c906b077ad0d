// SPDX-License-Identifier: GPL-2.0-only
#include "service/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/held.h"
#include "util/clock.h"

struct relay {
	struct follower follower;
	struct channel *to;
	const struct run_info *run;	/* that began last */
	struct wire_out sent;		/* the watches that the other end knows */
	struct wired_run copy;		/* of what it knows, since devices may go away while intervals are held */
	struct held held;		/* intervals that have not been sent, of the copy's watches */
};

void relay_free(struct relay *r)
{
	if (!r)
		return;
	held_drop(&r->held);
	wired_run_free(&r->copy);
	wire_out_free(&r->sent);
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
		return channel_post(r->to, RELAY_RUN, &bytes);
	wire_out_free(&bytes);
	return err;
}

/* --- the follower ----------------------------------------------------------------------------- */

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
	if (channel_waiting(r->to) > RELAY_HOLD)
		return held_add(&r->held, r->run, r->copy.watches, fs);
	return let_go(r) ?: post(r, fs);
}

static void relay_end(struct follower *f)
{
	let_go((struct relay *)f);	/* if it fails, there is nobody left to tell */
}

int relay_new(struct channel *to, struct relay **ret)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->follower = (struct follower){ relay_begin, relay_interval, relay_end };
	r->to = to;
	*ret = r;
	return 0;
}

struct follower *relay_follower(struct relay *r)
{
	return &r->follower;
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
