// SPDX-License-Identifier: GPL-2.0-only

#include <crypt.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "service/auth.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/process.h"

#define NICE 10			/* more than the server's */

enum state { IDLE, ASKED, CHECKING, DONE };

struct checker {
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t news;
	enum state state;
	bool stop, matches;
	u32 users;		/* its thread and its owner; the last one frees it */
	char *password, *hash;
	int fd;
	struct crypt_data work;	/* of the thread; large */
};

static void forget(struct checker *c)
{
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	free(c->password);
	free(c->hash);
	c->password = c->hash = NULL;
}

/* Called with the lock held; releases it. */
static void leave(struct checker *c)
{
	bool last = !--c->users;

	pthread_mutex_unlock(&c->lock);
	if (!last)
		return;
	forget(c);
	cleanup_close(&c->fd);
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Called with the lock held; releases it while it works. */
static void check(struct checker *c)
{
	u64 began_ns = now_ns(), until_ns;
	struct timespec until;
	bool matches;

	c->state = CHECKING;
	pthread_mutex_unlock(&c->lock);
	matches = auth_matches(c->password, c->hash, &c->work);
	pthread_mutex_lock(&c->lock);
	forget(c);
	c->matches = matches;
	c->state = DONE;
	eventfd_write(c->fd, 1);
	until_ns = 2 * now_ns() - began_ns;
	until = (struct timespec){ until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	while (!c->stop && !pthread_cond_timedwait(&c->news, &c->lock, &until))
		;
}

static void *work(void *checker)
{
	struct checker *c = checker;

	setpriority(PRIO_PROCESS, 0, NICE);	/* on Linux this applies to this thread only */
	pthread_mutex_lock(&c->lock);
	while (!c->stop) {
		if (c->state == ASKED)
			check(c);
		else
			pthread_cond_wait(&c->news, &c->lock);
	}
	leave(c);
	return NULL;
}

int checker_start(struct checker **ret)
{
	struct checker *c = calloc(1, sizeof(*c));
	pthread_condattr_t monotonic;
	int err;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	c->users = 2;
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = c->fd < 0 ? -errno : thread_start_detached(work, c);
	if (err) {
		c->users = 1;
		checker_stop(c);
		return err;
	}
	*ret = c;
	return 0;
}

void checker_stop(struct checker *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->news);
	leave(c);
}

int checker_fd(const struct checker *c)
{
	return c->fd;
}

bool checker_ask(struct checker *c, const char *password, const char *hash)
{
	bool idle;

	pthread_mutex_lock(&c->lock);
	idle = c->state == IDLE;
	if (idle) {
		c->password = strdup(password);
		c->hash = strdup(hash);
		idle = c->password && c->hash;
		c->state = idle ? ASKED : IDLE;
		pthread_cond_signal(&c->news);
	}
	if (!idle && c->state == IDLE)
		forget(c);
	pthread_mutex_unlock(&c->lock);
	return idle;
}

bool checker_take(struct checker *c, bool *ret_matches)
{
	eventfd_t ignored;
	bool done;

	eventfd_read(c->fd, &ignored);
	pthread_mutex_lock(&c->lock);
	done = c->state == DONE;
	if (done) {
		*ret_matches = c->matches;
		c->state = IDLE;
	}
	pthread_mutex_unlock(&c->lock);
	return done;
}
