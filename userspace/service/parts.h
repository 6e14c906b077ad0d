/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the server; see server.h. All of it belongs to the server's thread. */
#ifndef SERVICE_PARTS_H
#define SERVICE_PARTS_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "service/auth.h"
#include "service/cache.h"
#include "service/checker.h"
#include "service/server.h"
#include "service/sources.h"

/*
 * The library may have a few more connections than there are places, until it has closed those that
 * were cut off.
 */
#define SERVER_PEERS (SERVER_CONNECTIONS + 64)

/* What a connection is doing. Every phase has a time limit, whatever the peer sends or receives. */
enum peer_phase {
	PEER_FREE,
	PEER_READING,		/* its request, or the TLS handshake */
	PEER_WAITING,		/* suspended while its password is checked */
	PEER_ANSWERED,		/* its answer is being sent */
	PEER_RESTING,		/* between requests */
	PEER_STREAMING,		/* for as long as it takes events */
	PEER_CUT,		/* about to be closed by the library */
};

enum access {
	ACCESS_UNKNOWN,
	ACCESS_GRANTED,
	ACCESS_REFUSED,
	ACCESS_LATER,		/* too many passwords to check, or too many wrong ones */
	ACCESS_WAITS,		/* the connection is suspended; the request will come again */
};

struct peer {
	enum peer_phase phase;
	int fd;
	u64 since_ns, until_ns;		/* of its phase */
	struct source *source;
	struct MHD_Connection *c;
	struct check *check;		/* while it waits */
	enum access access;		/* what it waited for */
};

struct server_memory {
	struct auth *auth;
	struct sources sources;
};

struct server {
	struct server_config cfg;
	struct MHD_Daemon *daemon;
	struct auth *auth;		/* belongs to the memory, as does sources */
	struct sources *sources;
	struct checker *checker;	/* NULL: there are no users */
	struct check *under_way;	/* the check in progress */
	struct cache cache;
	struct peer peers[SERVER_PEERS];
	struct stream *streams;		/* a list */
	int stop_fd;
	atomic_ullong round_ns;		/* when the thread's loop ran last */
	bool stopping;
	unsigned long thread;
};

/* --- peers.c -------------------------------------------------------------------------------- */

void peer_notify(void *server, struct MHD_Connection *c, void **socket_context, enum MHD_ConnectionNotificationCode code);
void *peer_request_begins(void *server, const char *uri, struct MHD_Connection *c);
void peer_phase(struct MHD_Connection *c, enum peer_phase phase);
struct peer *peer_of(struct MHD_Connection *c);		/* NULL: it found no place */

/* Cuts off peers whose time is over and those that have hung up. */
void peers_sweep(struct server *s);

/* Whether the peer may become a stream. */
bool peer_may_stream(const struct server *s, const struct peer *peer);

/* --- access.c ------------------------------------------------------------------------------- */

/*
 * Decides whether a request is let in. Without users everybody is. A password that was right before is
 * let in at once, any other when it has been checked. Requests from one source wait in line, and
 * sources take turns; a source that sent many wrong passwords gets eight checks a second.
 */
enum access access_of(struct server *s, struct MHD_Connection *c);

/* Takes the results of checks, and begins the next one. */
void access_round(struct server *s);

/* Whether a connection waits whose check has not begun: its turn may come soon. */
bool access_pending(const struct server *s);

/* Forgets the check in progress: nobody waits for its result any more. */
void access_drop(struct server *s);

/* @peer no longer waits. */
void access_forget(struct peer *peer);

/* --- routes.c ------------------------------------------------------------------------------- */

enum MHD_Result route(void *server, struct MHD_Connection *c, const char *url, const char *method, const char *version,
		      const char *upload, size_t *upload_size, void **request);

/* --- answer.c ------------------------------------------------------------------------------- */

/* Queues @r with the headers common to all answers, and releases it; NULL ends the connection. */
enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r);

/* Answers with a text that must not be cached. @more: one header, name and value, or NULL. */
enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *text, const char *const more[2]);

/* Answers with @b and takes over the caller's reference; NULL gives status 500. */
enum MHD_Result answer_blob(struct MHD_Connection *c, struct blob *b, const char *type, bool gzip);

/* --- stream.c ------------------------------------------------------------------------------- */

enum MHD_Result stream_begin(struct server *s, struct MHD_Connection *c);

/* Resumes waiting streams: there is a new interval, or a sign of life is due. */
void streams_wake(struct server *s, bool all);

#endif
