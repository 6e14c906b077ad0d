// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve_web.h"

#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "util/confine.h"
#include "util/realtime.h"
#include "util/thread.h"

static void reload(struct serve_web *w)
{
	struct web_config web = { 0 };
	struct problem p;
	int err = web_config_read(&web, w->file, &p);

	if (!err) {
		err = serve_server_tell(w->server, &web) ?: serve_server_wait(w->server);
		if (err)
			problem_set(&p, err, "the web server did not take %s: %s", w->file, strerror(-err));
		web_config_free(&web);
	}
	if (err && err != -ECHILD)	/* the loop reports its end */
		command_fail(w->who, 0, &p);
}

/* Notified while the thread still counts as running: the notifier goes away when it does not. */
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

void serve_web_reload(struct serve_web *w)
{
	struct problem p;
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (w->reloading) {
		w->again = true;
	} else if (w->file) {
		err = thread_start_detached(reloader, w);
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

void serve_web_init(struct serve_web *w)
{
	*w = (struct serve_web){ 0 };
	realtime_lock_init(&w->lock);
	pthread_cond_init(&w->idle, NULL);
}

void serve_web_uninit(struct serve_web *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->reloading)
		pthread_cond_wait(&w->idle, &w->lock);
	pthread_mutex_unlock(&w->lock);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->lock);
}
