// SPDX-License-Identifier: GPL-2.0-only
#include "service/scout.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/realtime.h"

enum state { IDLE, WANTED, LOOKING, DONE };

struct scout {
	const struct scout_config *cfg;
	struct capture_config capture;	/* a copy, with the current limits */
	pthread_t thread;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t work;
	enum state state;
	bool stop, anew;
	struct known *known;
	u32 n_known;
	struct member *closing;
	struct scouted found;
	int fd;
};

static bool is_known(const struct watch *w, const struct known *known, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (known[i].stage == w->stage && known[i].major == w->device->major &&
		    known[i].minor == w->device->minor && !strcmp(known[i].name, w->device->name))
			return true;
	return false;
}

static int open_new(const struct scout_config *cfg, struct capture_config *capture, const struct known *known,
		    u32 n_known, struct member **ret, struct problem *p)
{
	struct watch *watches CLEANUP(cleanup_free) = NULL;
	struct device_table devices = { 0 };
	u32 n = 0, kept = 0;
	int err = device_table_read(&devices, "", p);

	*ret = NULL;
	err = err ?: cfg->find(cfg->into, &devices, &watches, &n, p);
	for (u32 i = 0; !err && i < n; i++)
		if (!is_known(&watches[i], known, n_known))
			watches[kept++] = watches[i];
	if (err || !kept) {
		device_table_free(&devices);
		return err;
	}
	capture->watches = watches;
	capture->n_watches = kept;
	err = member_open(cfg->engine, capture, &devices, ret, p);
	capture->watches = NULL;	/* the engine has a copy */
	return err == -ESTALE ? 0 : err;	/* all went away again */
}

int scout_open(const struct scout_config *cfg, const struct known *known, u32 n_known, struct member **ret,
	       struct problem *p)
{
	struct capture_config capture = cfg->capture;

	return open_new(cfg, &capture, known, n_known, ret, p);
}

static void look(struct scout *s, struct known *known, u32 n_known)
{
	struct scouted found = { .anew = s->anew };

	s->cfg->privileged(s->cfg->into, true);
	found.err = open_new(s->cfg, &s->capture, known, n_known, &found.member, &found.problem);
	s->cfg->privileged(s->cfg->into, false);
	free(known);
	pthread_mutex_lock(&s->lock);
	s->found = found;
	s->state = DONE;
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->fd, 1);
}

static void close_all(struct member *m)
{
	while (m) {
		struct member *next = m->next;

		member_close(m);
		m = next;
	}
}

static void *work(void *arg)
{
	struct scout *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct member *closing = TAKE(s->closing);
		struct known *known = NULL;
		u32 n = s->n_known;
		bool wanted = s->state == WANTED, stop = s->stop;

		if (!closing && !wanted && !stop) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		if (wanted) {
			s->state = LOOKING;
			known = TAKE(s->known);
		}
		pthread_mutex_unlock(&s->lock);
		close_all(closing);
		if (wanted && !stop)
			look(s, known, n);
		else
			free(known);
		pthread_mutex_lock(&s->lock);
		if (stop && !s->closing)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int scout_start(const struct scout_config *cfg, struct scout **ret)
{
	struct scout *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->cfg = cfg;
	s->capture = cfg->capture;
	realtime_lock_init(&s->lock);
	pthread_cond_init(&s->work, NULL);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->fd < 0 ? -errno : -pthread_create(&s->thread, NULL, work, s);
	if (err) {
		cleanup_close(&s->fd);
		free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void scout_stop(struct scout *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	member_close(s->found.member);
	free(s->known);
	close(s->fd);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int scout_fd(const struct scout *s)
{
	return s->fd;
}

bool scout_look(struct scout *s, const struct known *known, u32 n_known, bool anew)
{
	struct known *copy = calloc(n_known + 1, sizeof(*copy));
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = copy && s->state == IDLE;
	if (idle) {
		memcpy(copy, known, n_known * sizeof(*copy));
		s->known = TAKE(copy);
		s->n_known = anew ? 0 : n_known;
		s->anew = anew;
		s->state = WANTED;
		pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	free(copy);
	return idle;
}

void scout_limit(struct scout *s, u64 max_memory)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == IDLE)
		s->capture.max_memory = max_memory;
	pthread_mutex_unlock(&s->lock);
}

bool scout_take(struct scout *s, struct scouted *ret)
{
	eventfd_t ignored;
	bool done;

	eventfd_read(s->fd, &ignored);
	pthread_mutex_lock(&s->lock);
	done = s->state == DONE;
	if (done) {
		*ret = s->found;
		s->found = (struct scouted){ 0 };
		s->state = IDLE;
	}
	pthread_mutex_unlock(&s->lock);
	return done;
}

void scout_close(struct scout *s, struct member *m)
{
	pthread_mutex_lock(&s->lock);
	m->next = s->closing;
	s->closing = m;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}
