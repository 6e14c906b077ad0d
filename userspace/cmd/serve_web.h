/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the process that serves comes by new certificates and users, whose files it can't read: a thread of this one reads
 * them and tells it. The capture does not wait for that.
 */
#ifndef CMD_SERVE_WEB_H
#define CMD_SERVE_WEB_H

#include <pthread.h>

#include "cmd/serve_server.h"
#include "util/notify.h"

struct serve_web {
	const char *who;		/* program name, for messages */
	const char *file;		/* of --web-config; NULL: there is none */
	struct serve_server *server;
	const struct notify *notify;	/* is told when a reload is done */
	pthread_mutex_t lock;		/* of these: */
	pthread_cond_t idle;
	bool reloading, again;
};

void serve_web_init(struct serve_web *w);
void serve_web_uninit(struct serve_web *w);	/* after a reload under way */

/* Returns at once. Says what can't be used: that of before then stays. */
void serve_web_reload(struct serve_web *w);

#endif
