// SPDX-License-Identifier: GPL-2.0-only
/*
 * Libmicrohttpd limits how long a connection may be silent. This file limits how long it may take overall, and decides
 * which one is closed when there are too many. A new connection always gets in: a well-behaved client sends its request
 * at once, and is done before it is among the oldest.
 */
#include <poll.h>
#include <sys/socket.h>

#include "service/server_state.h"
#include "service/prometheus.h"
#include "util/clock.h"
#include "util/types.h"

#define OF_ONE (SERVER_CONNECTIONS / 2)	/* source */
#define STREAMS_OF_ONE (SERVER_STREAMS / 2)
#define KEPT 8				/* of a source that has scraped: connections that are cut off last, */
#define KEPT_OF_ALL (SERVER_CONNECTIONS / 2)	/* unless all of these together are more than this */

static const u64 patience_ns[] = {
	[PEER_READING] = 5 * NSEC_PER_SEC,
	[PEER_WAITING] = 10 * NSEC_PER_SEC,
	[PEER_ANSWERED] = 30 * NSEC_PER_SEC,
	[PEER_RESTING] = 90 * NSEC_PER_SEC,	/* more than the usual time between scrapes */
	[PEER_STREAMING] = UINT64_MAX / 2,
};

static void enter(struct peer *peer, enum peer_phase phase)
{
	peer->phase = phase;
	peer->since_ns = now_ns();
	peer->until_ns = peer->since_ns + patience_ns[phase];
}

/* Shuts the connection down; the library notices and closes the descriptor. */
static void cut_off(struct peer *peer)
{
	peer->phase = PEER_CUT;
	shutdown(peer->fd, SHUT_RDWR);
}

/* --- who makes room -------------------------------------------------------------------------- */

/* With many sources that have scraped, as when anyone may, having done so gives no privilege. */
static bool scrapers_go_last(const struct server *s, u64 now)
{
	u32 n = 0;

	for (const struct peer *peer = s->peers; peer < s->peers + SERVER_PEERS; peer++)
		n += peer->phase != PEER_FREE && source_known(peer->source, now);
	return n <= KEPT_OF_ALL;
}

static u32 crowd(const struct source *o, u32 kept, u64 now)
{
	if (!source_known(o, now))
		kept = 0;
	return o->connections > kept ? o->connections - kept : 0;
}

/*
 * The source with the most connections loses one first; of its connections those that rest, since they lose nothing,
 * and then the one that has taken longest.
 */
static bool goes_before(const struct peer *a, const struct peer *b, u32 kept, u64 now)
{
	u32 beside_a = crowd(a->source, kept, now), beside_b = crowd(b->source, kept, now);
	bool rests = a->phase == PEER_RESTING;

	if (beside_a != beside_b)
		return beside_a > beside_b;
	if (rests != (b->phase == PEER_RESTING))
		return rests;
	return a->since_ns < b->since_ns;
}

/* Streams and peers that wait for a check have limits of their own. */
static bool can_go(const struct peer *peer)
{
	return peer->phase == PEER_READING || peer->phase == PEER_RESTING || peer->phase == PEER_ANSWERED;
}

/* Cuts off one connection, of the source @of or (NULL) of any. */
static void make_room(struct server *s, const struct source *of)
{
	struct peer *first = NULL;
	u64 now = now_ns();
	u32 kept = scrapers_go_last(s, now) ? KEPT : 0;

	for (struct peer *peer = s->peers; peer < s->peers + SERVER_PEERS; peer++)
		if (can_go(peer) && (!of || peer->source == of) && (!first || goes_before(peer, first, kept, now)))
			first = peer;
	if (!first)
		return;
	if (first->phase != PEER_RESTING)
		s->cfg.totals->refused[REFUSAL_CROWDED]++;
	cut_off(first);
}

static u32 in_use(const struct server *s, const struct source *of)
{
	u32 n = 0;

	for (const struct peer *peer = s->peers; peer < s->peers + SERVER_PEERS; peer++)
		n += peer->phase != PEER_FREE && peer->phase != PEER_CUT && (!of || peer->source == of);
	return n;
}

/* --- from the library ------------------------------------------------------------------------ */

static struct peer *take_place(struct server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *from = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct peer *peer = s->peers;
	struct source *source;

	while (peer < s->peers + SERVER_PEERS && peer->phase != PEER_FREE)
		peer++;
	if (!fd || !from || peer == s->peers + SERVER_PEERS)
		return NULL;
	source = sources_get(&s->sources, from->client_addr, now_ns());
	if (!source)
		return NULL;
	source->connections++;
	*peer = (struct peer){ .fd = fd->connect_fd, .source = source, .c = c };
	enter(peer, PEER_READING);
	return peer;
}

static void give_up_place(struct peer *peer)
{
	access_forget(peer);
	peer->source->connections--;
	*peer = (struct peer){ .phase = PEER_FREE };
}

void peer_notify(void *server, struct MHD_Connection *c, void **socket_context,
		 enum MHD_ConnectionNotificationCode code)
{
	struct server *s = server;
	struct peer *peer = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (peer)
			give_up_place(peer);
		*socket_context = NULL;
		return;
	}
	peer = take_place(s, c);
	*socket_context = peer;
	if (!peer)
		return;
	if (in_use(s, peer->source) > OF_ONE)
		make_room(s, peer->source);
	else if (in_use(s, NULL) > SERVER_CONNECTIONS)
		make_room(s, NULL);
}

struct peer *peer_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void peer_phase(struct MHD_Connection *c, enum peer_phase phase)
{
	struct peer *peer = peer_of(c);

	if (peer && peer->phase != PEER_CUT)
		enter(peer, phase);
}

/* A request's first line has arrived. */
void *peer_request_begins(void *server, const char *uri, struct MHD_Connection *c)
{
	struct peer *peer = peer_of(c);

	(void)server;
	(void)uri;
	/* The time limit of the first request began with the connection. */
	if (peer && peer->phase != PEER_READING && peer->phase != PEER_CUT)
		enter(peer, PEER_READING);
	return NULL;
}

bool peer_may_stream(const struct server *s, const struct peer *peer)
{
	u32 all = 0, of_one = 0;

	for (const struct peer *p = s->peers; p < s->peers + SERVER_PEERS; p++) {
		all += p->phase == PEER_STREAMING;
		of_one += p->phase == PEER_STREAMING && p->source == peer->source;
	}
	return all < SERVER_STREAMS && of_one < STREAMS_OF_ONE;
}

void peers_sweep(struct server *s)
{
	struct pollfd fds[SERVER_PEERS];
	u64 now = now_ns();

	/*
	 * The library does not notice a hang-up that came together with a request (it waits for edges), and does not
	 * watch suspended connections.
	 */
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		bool watched = s->peers[i].phase != PEER_FREE && s->peers[i].phase != PEER_ANSWERED;

		fds[i] = (struct pollfd){ .fd = watched ? s->peers[i].fd : -1, .events = POLLRDHUP };
	}
	poll(fds, SERVER_PEERS, 0);
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->phase == PEER_FREE || peer->phase == PEER_CUT)
			continue;
		/* Peers that wait for a check are answered when their time is up. */
		if (!fds[i].revents && (now <= peer->until_ns || peer->phase == PEER_WAITING))
			continue;
		if (!fds[i].revents && peer->phase != PEER_RESTING)
			s->cfg.totals->refused[REFUSAL_SLOW]++;
		cut_off(peer);
	}
}
