/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process of a service that talks to the network, as the one that captures sees it. It has the board, the totals and the
 * web server; it is told of intervals and of --web-config by messages (service/relay.h, SERVER_WEB), and confined
 * (util/confine_server.h) before the first one.
 *
 * Nothing that it says is looked at, since it may be in other hands: signs tell that it goes round, and that it took
 * what it was told, bytes that are thrown away; a descriptor of the process tells that it ended.
 */
#ifndef CMD_SERVE_SERVER_H
#define CMD_SERVE_SERVER_H

#include "service/address.h"
#include "service/relay.h"
#include "service/web_config.h"
#include "util/user.h"

#define SERVER_WEB RELAY_MESSAGES	/* a message: --web-config, what is in its files */

struct serve_server_config {
	const char *who;		/* program name, for messages */
	const struct user *user;	/* to become; NULL: it stays who it is */
	struct address address;		/* that listen_fd is bound to */
	int listen_fd;
	double interval_s;
	double history_s;
	int schema;
	bool bins;
};

struct serve_server {
	pid_t pid;			/* 0: none */
	int process;			/* readable once it has ended */
	int taken, alive;		/* its signs (pipes) */
	int leave;			/* ours: nobody shall wait any more */
	struct channel *channel;
	u64 alive_ns;			/* when it was seen to go round */
};

/*
 * Starts it: to be called while there is one thread, and nothing open that it must not have. @cfg is copied by that.
 * Messages are kept until channel_start(). Returns 0, or a negative errno and a sentence.
 */
int serve_server_start(const struct serve_server_config *cfg, struct serve_server *ret, struct problem *p);

/*
 * Tells it what is in --web-config's files: it begins to serve, or does so anew. Returns 0 or a negative errno. Of
 * any thread.
 */
int serve_server_tell(struct serve_server *s, const struct web_config *web);

/*
 * Waits until it has taken that. Returns 0; -ECHILD when it has ended, -ETIMEDOUT when it doesn't come to that, -ECANCELED
 * after serve_server_leave(). Of one thread at a time. What could not be used it says itself.
 */
int serve_server_wait(struct serve_server *s);
void serve_server_leave(struct serve_server *s);

/* Does it go round? */
bool serve_server_alive(struct serve_server *s);

/* Has it ended by itself? Then @p says how, or is empty when it has told why. */
bool serve_server_ended(const struct serve_server *s, struct problem *p);

/*
 * Ends it, and waits a moment for that, in which one that hangs ends too; but see confine_server.h. Takes one that is
 * all 0.
 */
void serve_server_end(struct serve_server *s);

/* --- in that process -------------------------------------------------------------------------- */

/* Serves until the stream of messages ends, and gives signs. Returns an exit status; what failed is told. */
int server_process(const struct serve_server_config *cfg, int messages, int taken, int alive);

#endif
