// SPDX-License-Identifier: GPL-2.0-only
/* Libmicrohttpd bounds how long a connection may be silent; here is how long it may take over all. */
#include <poll.h>
#include <sys/socket.h>

#include "serve/parts.h"
#include "util/clock.h"
#include "util/types.h"

#define NEARLY_ALL (SERVER_CONNECTIONS - 8)

static const u64 patience_ns[] = {
	[PEER_READING] = 10 * NSEC_PER_SEC,
	[PEER_ANSWERED] = 30 * NSEC_PER_SEC,
	[PEER_RESTING] = 90 * NSEC_PER_SEC,	/* more than the usual time between scrapes */
	[PEER_STREAMING] = UINT64_MAX / 2,
};

static void enter(struct peer *peer, enum peer_phase phase)
{
	peer->phase = phase;
	peer->until_ns = now_ns() + patience_ns[phase];
}

void peer_notify(void *server, struct MHD_Connection *c, void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct server *s = server;
	struct peer *peer = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (peer)
			peer->phase = PEER_FREE;
		*socket_context = NULL;
		return;
	}
	for (peer = s->peers; peer < s->peers + SERVER_CONNECTIONS && peer->phase != PEER_FREE; peer++)
		;
	if (!info || peer == s->peers + SERVER_CONNECTIONS)
		return;
	peer->fd = info->connect_fd;
	enter(peer, PEER_READING);
	*socket_context = peer;
}

struct peer *peer_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void peer_phase(struct MHD_Connection *c, enum peer_phase phase)
{
	struct peer *peer = peer_of(c);

	if (peer)
		enter(peer, phase);
}

/* Its first line is there. */
void *peer_request_begins(void *server, const char *uri, struct MHD_Connection *c)
{
	struct peer *peer = peer_of(c);

	(void)server;
	(void)uri;
	/* The time of a first request began with the connection. */
	if (peer && peer->phase != PEER_READING)
		enter(peer, PEER_READING);
	return NULL;
}

u32 peers_streaming(const struct server *s)
{
	u32 n = 0;

	for (u32 i = 0; i < SERVER_CONNECTIONS; i++)
		n += s->peers[i].phase == PEER_STREAMING;
	return n;
}

/*
 * The library does not see an end that came together with a request (it waits for edges), and does not look
 * at those that are suspended.
 */
static void find_hung_up(const struct server *s, bool hung_up[SERVER_CONNECTIONS])
{
	struct pollfd fds[SERVER_CONNECTIONS];

	for (u32 i = 0; i < SERVER_CONNECTIONS; i++) {
		bool taken = s->peers[i].phase != PEER_FREE && s->peers[i].phase != PEER_ANSWERED;

		fds[i] = (struct pollfd){ .fd = taken ? s->peers[i].fd : -1, .events = POLLRDHUP };
	}
	if (poll(fds, SERVER_CONNECTIONS, 0) < 0)
		return;
	for (u32 i = 0; i < SERVER_CONNECTIONS; i++)
		hung_up[i] = fds[i].revents;
}

/* Its end, not its descriptor: that is the library's, which notices. */
static void cut_off(struct peer *peer)
{
	peer->phase = PEER_CUT;
	shutdown(peer->fd, SHUT_RDWR);
}

void peers_sweep(struct server *s)
{
	bool hung_up[SERVER_CONNECTIONS] = { false };
	u64 now = now_ns();
	u32 used = 0;

	find_hung_up(s, hung_up);
	for (u32 i = 0; i < SERVER_CONNECTIONS; i++)
		used += s->peers[i].phase != PEER_FREE;
	for (u32 i = 0; i < SERVER_CONNECTIONS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->phase == PEER_FREE || peer->phase == PEER_CUT)
			continue;
		if (hung_up[i] || now > peer->until_ns || (peer->phase == PEER_RESTING && used > NEARLY_ALL))
			cut_off(peer);
	}
}
