// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve_web.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd/cmd.h"
#include "util/cleanup.h"
#include "util/confine.h"
#include "util/realtime.h"

int serve_web_start(struct serve_web *w, struct problem *p)
{
	struct server_config cfg = w->cfg;

	cfg.web = &w->web;
	cfg.listen_fd = fcntl(w->listen_fd, F_DUPFD_CLOEXEC, 0);	/* so that another can follow */
	if (cfg.listen_fd < 0)
		return problem_set(p, -errno, "could not listen: %s", strerror(errno));
	return server_start(&cfg, &w->server, p);
}

static void reload(struct serve_web *w)
{
	struct web_config web = { 0 }, old = w->web;
	struct problem p;

	if (web_config_read(&web, w->file, &p)) {
		command_fail(w->who, 0, &p);
		return;
	}
	server_stop(TAKE(w->server));
	w->web = web;
	if (!serve_web_start(w, &p)) {
		web_config_free(&old);
		return;
	}
	command_fail(w->who, 0, &p);
	web_config_free(&web);
	w->web = old;
	if (serve_web_start(w, &p))
		command_fail(w->who, 0, &p);
}

/* Told while the thread still counts as there: what it is told by goes when there is none. */
static bool go_on(struct serve_web *w)
{
	bool again;

	pthread_mutex_lock(&w->lock);
	again = w->again;
	w->again = false;
	if (!again) {
		notify_send(w->notify, "READY=1");
		w->reloading = false;
		pthread_cond_signal(&w->idle);
	}
	pthread_mutex_unlock(&w->lock);
	return again;
}

static void *reloader(void *web)
{
	confine_thread();
	do
		reload(web);
	while (go_on(web));
	return NULL;
}

static int start_reloader(struct serve_web *w)
{
	pthread_attr_t detached;
	pthread_t thread;
	int err;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	err = -pthread_create(&thread, &detached, reloader, w);
	pthread_attr_destroy(&detached);
	return err;
}

void serve_web_reload(struct serve_web *w)
{
	struct problem p;
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (w->reloading) {
		w->again = true;
	} else if (w->file) {
		err = start_reloader(w);
		w->reloading = !err;
	}
	if (!w->reloading)
		notify_send(w->notify, "READY=1");
	pthread_mutex_unlock(&w->lock);
	if (!err)
		return;
	problem_set(&p, err, "could not start a thread: %s", strerror(-err));
	command_fail(w->who, 0, &p);
}

bool serve_web_alive(struct serve_web *w)
{
	bool alive;

	pthread_mutex_lock(&w->lock);
	alive = w->reloading || (w->server && server_alive(w->server));
	pthread_mutex_unlock(&w->lock);
	return alive;
}

void serve_web_init(struct serve_web *w)
{
	*w = (struct serve_web){ .listen_fd = -1 };
	realtime_lock_init(&w->lock);
	pthread_cond_init(&w->idle, NULL);
}

void serve_web_uninit(struct serve_web *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->reloading)
		pthread_cond_wait(&w->idle, &w->lock);
	pthread_mutex_unlock(&w->lock);
	server_stop(w->server);
	web_config_free(&w->web);
	cleanup_close(&w->listen_fd);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->lock);
}
