/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The HTTP server, which serves the feed and the totals for Prometheus. It runs in the loop of its process and never
 * waits. Whatever a peer may take has a limit: connections, streams, the time and size of a request, the time of an
 * answer, and password checks, which a thread makes.
 *
 *   /               the live page
 *   /metrics        what Prometheus scrapes, in the format it asks for
 *   /api/snapshot   the last interval, as 'blklat live --format json' prints it
 *   /api/stream     the intervals of the last minutes, and then each as it ends: server-sent events
 *   /api/recording  the last minutes as a recording, 503 while it is being made; likewise
 *   /api/report     as a page of charts
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

struct downloads;
struct totals;

struct server_config {
	int listen_fd;			/* borrowed */
	struct address address;		/* that it is bound to */
	struct feed *feed;
	struct totals *totals;
	struct downloads *downloads;	/* NULL: there are none */
};

struct server;

/* @cfg is copied; what it points to is borrowed. It does not serve yet. Returns 0 or a negative errno. */
int server_new(const struct server_config *cfg, struct server **ret);
void server_free(struct server *s);	/* ends all connections; takes NULL */

/*
 * Begins to serve with this certificate and these users, which it takes over. If it serves already, it ends all
 * connections; passwords that were right stay known if their hash is the same. Returns 0, or a negative errno and a
 * sentence and has changed nothing.
 */
int server_use(struct server *s, struct web_config *web, struct problem *p);

/* Sets what to wait for before server_round(), and returns for how long at most (ms). */
#define SERVER_FDS 2
int server_wait(const struct server *s, struct pollfd ret[SERVER_FDS]);

/* Does all that can be done without waiting. */
void server_round(struct server *s);

#endif
