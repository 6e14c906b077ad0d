/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The web server of a service, and how it comes by new certificates and users: a thread reads them, ends the
 * server and starts another, which takes as long as the server may be busy. The capture does not wait for that.
 */
#ifndef CMD_SERVE_WEB_H
#define CMD_SERVE_WEB_H

#include <pthread.h>

#include "serve/server.h"
#include "util/notify.h"

struct serve_web {
	const char *who;		/* program name, for messages */
	const char *file;		/* of --web-config; NULL: there is none */
	struct server_config cfg;	/* but for what stands here */
	struct web_config web;
	int listen_fd;			/* -1: none yet */
	const struct notify *notify;	/* is told when a reload is done */
	pthread_mutex_t lock;		/* of these: */
	pthread_cond_t idle;
	bool reloading, again;
	struct server *server;		/* the reloading thread's while there is one */
};

void serve_web_init(struct serve_web *w);
void serve_web_uninit(struct serve_web *w);	/* after a reload under way */

/* Begins to serve. Returns 0, or a negative errno and a sentence. */
int serve_web_start(struct serve_web *w, struct problem *p);

/* Returns at once. Says what can't be used: that of before then stays. */
void serve_web_reload(struct serve_web *w);

/* Is the server going round, or about to be another one? */
bool serve_web_alive(struct serve_web *w);

#endif
