// SPDX-License-Identifier: GPL-2.0-only
/*
 * /api/stream. Each reader has a position among the kept intervals and gets the next one when it has room for it. A
 * slow reader lags behind; one that lags behind by more than is kept goes on with the oldest that is. Neither takes
 * memory.
 */
#include <stdlib.h>
#include <string.h>

#include "service/server_state.h"
#include "service/prometheus.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define SILENCE_NS (15 * NSEC_PER_SEC)	/* after which a sign of life is sent */
#define STUCK_S 30			/* after which a reader that reads nothing is cut off */
#define BLOCK (16 << 10)

struct stream {
	struct stream *next;
	struct server *s;
	struct MHD_Connection *c;
	const struct peer *peer;
	bool waits;		/* suspended */
	u64 number;		/* of the next interval */
	u64 runs;		/* number of the last "run" event sent; 0: none */
	struct blob *now;	/* being sent */
	size_t sent;		/* of it */
	u64 said_ns;		/* when something was sent last */
};

static const char begin[] = "retry: 2000\n\n";
static const char alive[] = ": alive\n\n";

static struct blob *text_blob(const char *text)
{
	char *copy = strdup(text);

	return copy ? blob_take(copy, strlen(text)) : NULL;
}

/* Makes st->now the next thing to send, or leaves it NULL. */
static void choose(struct stream *st)
{
	const struct feed *feed = st->s->cfg.feed;

	st->sent = 0;
	if (!feed->run)		/* intervals are meaningless before the run is known */
		return;
	if (feed->runs != st->runs) {
		st->now = blob_ref(feed->run);
		st->runs = feed->runs;
		return;
	}
	st->now = blob_ref(feed_event(feed, &st->number));
	if (st->now)
		st->number++;
	else if (now_ns() > st->said_ns + SILENCE_NS)
		st->now = text_blob(alive);
}

static ssize_t stream_read(void *stream, uint64_t pos, char *to, size_t max)
{
	struct stream *st = stream;
	size_t n;

	(void)pos;
	if (st->s->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (st->peer->phase == PEER_CUT)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!st->now)
		choose(st);
	if (!st->now) {
		st->waits = true;
		MHD_suspend_connection(st->c);
		return 0;
	}
	n = st->now->len - st->sent < max ? st->now->len - st->sent : max;
	memcpy(to, st->now->data + st->sent, n);
	st->sent += n;
	st->said_ns = now_ns();
	if (st->sent == st->now->len) {
		blob_unref(st->now);
		st->now = NULL;
	}
	return n;
}

static void stream_free(void *stream)
{
	struct stream *st = stream, **at;

	for (at = &st->s->streams; *at && *at != st; at = &(*at)->next)
		;
	if (*at)
		*at = st->next;
	blob_unref(st->now);
	free(st);
}

/*
 * Continues after interval BOOT.NUMBER, the last one that the reader has; with the first one kept if that is not one of
 * this process.
 */
static void resume(struct stream *st, const char *last)
{
	const struct feed *feed = st->s->cfg.feed;
	size_t len = strlen(feed->boot);
	u64 number = 0;

	st->number = 1;
	if (!last || strncmp(last, feed->boot, len) || last[len] != '.' || strlen(last + len) > 20)
		return;
	for (last += len + 1; *last; last++) {
		if (*last < '0' || *last > '9')
			return;
		number = number * 10 + *last - '0';
	}
	if (number < feed->next && number + 1 >= feed->first)
		st->number = number + 1;
}

enum MHD_Result stream_begin(struct server *s, struct MHD_Connection *c)
{
	const char *last = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Last-Event-ID");
	struct peer *peer = peer_of(c);
	struct MHD_Response *r;
	struct stream *st;

	if (!peer)
		return MHD_NO;
	if (!peer_may_stream(s, peer))
		peers_sweep(s);
	if (!peer_may_stream(s, peer)) {
		s->cfg.totals->refused[REFUSAL_STREAMS]++;
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "too many streams are open\n",
				   (const char *const[]){ MHD_HTTP_HEADER_RETRY_AFTER, "10" });
	}
	st = calloc(1, sizeof(*st));
	if (!st)
		return MHD_NO;
	*st = (struct stream){ .s = s, .c = c, .peer = peer, .said_ns = now_ns(), .now = text_blob(begin) };
	resume(st, last);
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, st, stream_free);
	if (!r) {
		blob_unref(st->now);
		free(st);
		return MHD_NO;
	}
	st->next = s->streams;
	s->streams = st;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, STUCK_S);
	peer_phase(c, PEER_STREAMING);
	return answer(c, MHD_HTTP_OK, r);
}

void streams_wake(struct server *s, bool all)
{
	u64 now = now_ns();

	for (struct stream *st = s->streams; st; st = st->next) {
		if (!st->waits || !(all || st->peer->phase == PEER_CUT || now > st->said_ns + SILENCE_NS))
			continue;
		st->waits = false;
		MHD_resume_connection(st->c);
	}
}
