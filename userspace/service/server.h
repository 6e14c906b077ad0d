/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The HTTP server, which reads the feed and the totals for Prometheus. It runs in the loop of its process, and never
 * waits. There is a limit for everything that a peer may take: connections, streams, the time and size of a request,
 * the time of an answer, and password checks, which a thread makes.
 *
 *   /               the live page
 *   /metrics        what Prometheus scrapes, in the format it asks for
 *   /api/snapshot   the last interval, as 'blklat live --format json' prints it
 *   /api/stream     every interval as it ends, after those of the last minutes: server-sent events
 *   /healthz        200, or 503 and why: the capture does not run, or is late
 *   /readyz         the same, also if it lost a notable share of the IOs
 */
#ifndef SERVICE_SERVER_H
#define SERVICE_SERVER_H

#include <poll.h>

#include "service/address.h"
#include "service/feed.h"
#include "service/web_config.h"

#define SERVER_CONNECTIONS 256
#define SERVER_STREAMS 32	/* of these; the rest are for scrapes */

struct prometheus;

struct server_config {
	int listen_fd;			/* borrowed */
	struct address address;		/* that it is bound to */
	struct feed *feed;
	struct prometheus *prometheus;
};

struct server;

/* @cfg is copied; what it points to is borrowed. It does not serve yet. Returns 0 or a negative errno. */
int server_new(const struct server_config *cfg, struct server **ret);
void server_free(struct server *s);	/* ends all connections; takes NULL */

/*
 * Begins to serve with these certificates and users, which it takes over, or ends all connections and goes on with
 * them. Users whose hash is the same stay known. Returns 0, or a negative errno and a sentence, and has changed nothing
 * then.
 */
int server_use(struct server *s, struct web_config *web, struct problem *p);

/* What to wait for, but no longer than it returns (ms), before server_round(). */
#define SERVER_FDS 2
int server_wait(const struct server *s, struct pollfd ret[SERVER_FDS]);

/* Does what there is to do. */
void server_round(struct server *s);

#endif
