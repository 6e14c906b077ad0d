/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes new certificates and users to the process that serves, which can't read files itself: a thread
 * of this process reads them and sends them. The capture does not wait for that.
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
	const struct notify *notify;	/* told when a reload is done */
	pthread_mutex_t lock;		/* of these: */
	pthread_cond_t idle;
	bool reloading, again;
};

void serve_web_init(struct serve_web *w);
void serve_web_uninit(struct serve_web *w);	/* waits for a reload in progress */

/* Returns at once. If the new files can't be used, a message says so, and the old contents stay in use. */
void serve_web_reload(struct serve_web *w);

#endif
