// SPDX-License-Identifier: GPL-2.0-only
#include "core/background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

struct background {
	const struct capture_ops *engine;
	struct capture_config cfg;
	pthread_t thread;
	bool joined;
	/* Then: */
	struct capture *capture;
	struct intervals intervals;
	struct problem p;
	int err;
};

/* Returns 0 if devices were left out, so that opening may succeed now; or @err, which has another reason. */
static int leave_out_gone(struct capture_config *cfg, int err, struct problem *p)
{
	struct watch *watches = cfg->watches;
	bool gone = false;
	u32 kept = 0;

	for (u32 i = 0; i < cfg->n_watches; i++) {
		const struct device *d = watches[i].device;

		if (!i || d != watches[i - 1].device)
			gone = device_is_gone(cfg->devices, d);
		if (gone && !watches[i].matched)
			return problem_set(p, -ENODEV, "%s went away before it could be watched", d->name);
		if (!gone)
			watches[kept++] = watches[i];
	}
	if (kept == cfg->n_watches)
		return err;
	cfg->n_watches = kept;
	return kept ? 0 : problem_set(p, -ESTALE, "all devices went away before they could be watched");
}

int open_now(const struct capture_ops *engine, struct capture_config *cfg, struct capture **ret,
	     struct intervals *ret_in, struct problem *p)
{
	int err;

	/* Each round that does not end leaves out a device. */
	do
		err = engine->open(cfg, ret, p);
	while (err == -ENODEV && !(err = leave_out_gone(cfg, err, p)));
	if (err)
		return err;
	err = intervals_init(ret_in, *ret);
	if (!err)
		return 0;
	intervals_uninit(ret_in);
	engine->close(TAKE(*ret));
	return problem_set(p, err, "out of memory");
}

static void *open_meanwhile(void *background)
{
	struct background *b = background;

	b->err = open_now(b->engine, &b->cfg, &b->capture, &b->intervals, &b->p);
	return NULL;
}

static void *close_meanwhile(void *background)
{
	struct background *b = background;

	b->engine->close(TAKE(b->capture));
	return NULL;
}

/* Signals are for the thread that waits for them. */
static int start(const struct background *is, void *(*does)(void *b), struct background **ret)
{
	struct background *b = malloc(sizeof(*b));
	sigset_t all, before;
	int err;

	if (!b)
		return -ENOMEM;
	*b = *is;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&b->thread, NULL, does, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		free(b);
	else
		*ret = b;
	return err;
}

int background_open(const struct capture_ops *engine, const struct capture_config *cfg, struct background **ret,
		    struct problem *p)
{
	const struct background is = { .engine = engine, .cfg = *cfg };
	int err = start(&is, open_meanwhile, ret);

	if (!err)
		return 0;
	free(cfg->watches);
	return problem_set(p, err, "could not start a thread: %s", strerror(-err));
}

struct background *background_close(const struct capture_ops *engine, struct capture *c)
{
	const struct background is = { .engine = engine, .capture = c };
	struct background *b = NULL;

	if (start(&is, close_meanwhile, &b))
		engine->close(c);
	return b;
}

bool background_is_done(struct background *b)
{
	b->joined = b->joined || !pthread_tryjoin_np(b->thread, NULL);
	return b->joined;
}

int background_end(struct background *b, struct capture **ret, struct intervals *ret_in, struct problem *p)
{
	int err;

	if (!b->joined)
		pthread_join(b->thread, NULL);
	err = b->err;
	*p = b->p;
	*ret = b->capture;
	*ret_in = b->intervals;
	free(b->cfg.watches);
	free(b);
	return err;
}
