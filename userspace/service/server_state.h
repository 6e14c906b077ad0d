/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the server; see server.h. */
#ifndef SERVICE_SERVER_STATE_H
#define SERVICE_SERVER_STATE_H

#include <microhttpd.h>
#include <sys/socket.h>

#include "service/download.h"
#include "service/prometheus.h"
#include "service/server.h"
#include "util/blob.h"
#include "util/types.h"

/*
 * A source of connections: an IPv4 address, or an IPv6 /64 network, since whoever has one of its addresses has all. The
 * table has a fixed size. The source not seen for longest is forgotten first, those that have scraped last.
 */
#define SOURCES 512		/* more than connections, so that those with one stay */
#define SOURCE_FAILURES 20	/* wrong passwords at once; eight a second are forgiven */

struct source {
	unsigned char key[16];	/* IPv6 address; for IPv4 the mapped one */
	u64 seen_ns;		/* 0: this place is free */
	u64 scraped_ns;		/* 0: never */
	u64 paid_ns;		/* when the last of its wrong passwords will be forgiven */
	u64 checked_ns;		/* when the last check of a password from there began */
	u32 connections;	/* counted by peers.c; and a check of a password from there */
};

struct sources {
	struct source o[SOURCES];
};

/* The source of @from, which is added if it is new. NULL: all places are taken by sources with connections. */
struct source *sources_get(struct sources *all, const struct sockaddr *from, u64 now_ns);

/* Whether it has scraped within the last ten minutes. */
bool source_known(const struct source *o, u64 now_ns);

/* A password from there was wrong. */
void source_failed(struct source *o, u64 now_ns);

/* When its next password may be checked; 0: now. */
u64 source_until_ns(const struct source *o, u64 now_ns);

/*
 * Answers for the current interval, made at the first request for them: many requests within one interval cost little
 * more than one. They are made anew after as long without an interval, since the recorder's figures move on.
 */
enum { CACHE_SNAPSHOT, CACHE_METRICS, CACHE_KINDS = CACHE_METRICS + PROMETHEUS_FORMATS };

struct cache {
	u64 next;		/* the number of the next interval */
	u64 made_ns;		/* CLOCK_MONOTONIC */
	struct blob *plain[CACHE_KINDS], *gzip[CACHE_KINDS];
};

/* Connections that were cut off take a place until the library has closed them. */
#define SERVER_PEERS (SERVER_CONNECTIONS + 64)

/*
 * A name and a password, as a keyed digest of that: two equal claims need only one check. The last correct password of
 * each user is remembered in the same way, so a scrape is fast.
 */
struct claim {
	struct web_user *user;	/* the user whose hash it is checked against */
	bool nobody;		/* there is no user of this name; another one's hash is taken, for equal timing */
	unsigned char digest[WEB_DIGEST_BYTES];
};

/* What a connection is doing. Each phase has a time limit, whatever the peer sends or receives. */
enum peer_phase {
	PEER_FREE,
	PEER_READING,		/* its request, or the TLS handshake */
	PEER_WAITING,		/* for its password to be checked; it is suspended */
	PEER_ANSWERED,		/* its answer is being sent */
	PEER_RESTING,		/* between requests */
	PEER_STREAMING,		/* for as long as it reads events */
	PEER_CUT,		/* about to be closed by the library */
};

enum access {
	ACCESS_UNKNOWN,
	ACCESS_GRANTED,
	ACCESS_REFUSED,
	ACCESS_LATER,		/* too many passwords wait for a check, or too many were wrong */
	ACCESS_WAITS,		/* the connection is suspended; the request will be handled again */
};

struct peer {
	enum peer_phase phase;
	int fd;
	u64 since_ns, until_ns;		/* of its phase */
	struct source *source;
	struct MHD_Connection *c;
	struct claim claim;		/* while it waits for a check, */
	char *password;			/* of this; NULL: it does not wait */
	enum access access;		/* what it waited for */
};

struct server {
	struct server_config cfg;
	struct web_config web;
	struct MHD_Daemon *daemon;	/* NULL: it does not serve yet */
	unsigned char key[WEB_DIGEST_BYTES];	/* of the digests */
	struct sources sources;
	struct check *check;		/* of a password, in progress; NULL: none */
	u64 check_ns;			/* when the last one began */
	u64 rests_until_ns;		/* no other one begins before that */
	struct cache cache;		/* of routes.c */
	struct peer peers[SERVER_PEERS];
	struct stream *streams;		/* a list */
	u64 streamed;			/* the feed's next number when streams were woken last */
	u64 swept_ns;			/* the last peers_sweep() */
	bool stopping;
};

/* --- peers.c --- */

void peer_notify(void *server, struct MHD_Connection *c, void **socket_context,
		 enum MHD_ConnectionNotificationCode code);
void *peer_request_begins(void *server, const char *uri, struct MHD_Connection *c);
void peer_phase(struct MHD_Connection *c, enum peer_phase phase);
struct peer *peer_of(struct MHD_Connection *c);		/* NULL: there was no place for it */

/* Cuts off peers whose time is up and those that have hung up. */
void peers_sweep(struct server *s);

/* Whether the peer may become a stream. */
bool peer_may_stream(const struct server *s, const struct peer *peer);

/* --- access.c: basic authentication against bcrypt hashes --- */

/* Makes the key. Returns 0 or -EIO. */
int access_init(struct server *s);

/* Passwords that are known in @before stay known, if their hash is the same. */
void access_keep(struct server *s, const struct web_config *before);

/*
 * Decides whether a request is let in. Without users every request is. A password that was right before is let in at
 * once, any other once it has been checked. Requests from one source queue up, and sources take turns; one that has
 * sent many wrong passwords gets eight checks a second. After a check none is made for as long as it took, so checks
 * take half of a CPU at most. The time of an answer does not tell whether a name exists.
 */
enum access access_of(struct server *s, struct MHD_Connection *c);

/* Takes the results of checks, and begins the next one. */
void access_round(struct server *s);

/* Becomes readable when the check in progress is done; -1: there is none. */
int access_fd(const struct server *s);

/* How long until the next check can begin; UINT64_MAX: no peer waits for that. */
u64 access_wait_ns(const struct server *s);

/* Forgets the check in progress: nobody waits for its result any more. */
void access_drop(struct server *s);

/* @peer no longer waits. */
void access_forget(struct peer *peer);

/* --- routes.c --- */

enum MHD_Result route(void *server, struct MHD_Connection *c, const char *url, const char *method, const char *version,
		      const char *upload, size_t *upload_size, void **request);

void cache_clear(struct cache *c);

/* Queues @r with the headers common to all answers, and releases it; NULL ends the connection. */
enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r);

/* Answers with a text that must not be cached. @more: one header, name and value, or NULL. */
enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *text, const char *const more[2]);

/* --- stream.c --- */

enum MHD_Result stream_begin(struct server *s, struct MHD_Connection *c);

/* Resumes streams that have something to send: all of them, or those for which a sign of life is due. */
void streams_wake(struct server *s, bool all);

/* --- accept.c --- */

/* Whether a request with this Accept-Encoding wants it. @accept may be any text; NULL: no such header. */
bool encoding_gzip_wanted(const char *accept);

/* Compresses @b, which stays the caller's. NULL if there is no memory. */
struct blob *encoding_gzip(const struct blob *b);

#endif
