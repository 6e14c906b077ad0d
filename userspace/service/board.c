// SPDX-License-Identifier: GPL-2.0-only
#include "service/board.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/realtime.h"

#define LOSS_SHOWN_NS (60 * NSEC_PER_SEC)
#define LATE_NS (5 * NSEC_PER_SEC)	/* added to three intervals without a post */

struct kept {
	struct blob *event;
	u64 mono_ns;
};

struct board {
	pthread_mutex_t lock;		/* of all that follows */
	int fd;
	struct blob *snapshot, *run;
	u64 runs;			/* posted so far */
	u64 history_ns;
	struct kept *kept;		/* a ring: interval number i at i & (room - 1) */
	u64 room;
	u64 first, next;		/* numbers of the oldest kept and of the next interval */
	size_t bytes;
	u64 last_ns;			/* end of the last interval, or the start */
	u64 loss_ns;			/* 0: none */
	char loss[BOARD_WORDS];
	char stop[BOARD_WORDS / 2];	/* "": it goes on */
};

int board_new(double history_s, struct board **ret)
{
	struct board *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct board){ .room = 64, .first = 1, .next = 1, .history_ns = history_s * NSEC_PER_SEC };
	b->kept = calloc(b->room, sizeof(*b->kept));
	b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!b->kept || b->fd < 0) {
		int err = b->kept ? -errno : -ENOMEM;

		cleanup_close(&b->fd);
		free(b->kept);
		free(b);
		return err;
	}
	realtime_lock_init(&b->lock);
	b->last_ns = now_ns();
	*ret = b;
	return 0;
}

static struct kept *at(const struct board *b, u64 number)
{
	return &b->kept[number & (b->room - 1)];
}

void board_free(struct board *b)
{
	if (!b)
		return;
	for (u64 i = b->first; i < b->next; i++)
		blob_unref(at(b, i)->event);
	blob_unref(b->snapshot);
	blob_unref(b->run);
	free(b->kept);
	close(b->fd);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

int board_fd(const struct board *b)
{
	return b->fd;
}

static void wake(struct board *b)
{
	eventfd_write(b->fd, 1);
}

/* --- the loop's side ----------------------------------------------------------------------- */

u64 board_next(const struct board *b)
{
	return b->next;
}

static struct blob *drop_first(struct board *b)
{
	struct blob *event = at(b, b->first++)->event;

	b->bytes -= event->len;
	return event;
}

/* Only the loop changes the ring, so it may read it without the lock. */
static bool too_old(const struct board *b, u64 mono_ns, size_t more)
{
	return b->first < b->next && (at(b, b->first)->mono_ns + b->history_ns < mono_ns ||
				      b->bytes + more > BOARD_BYTES_MAX);
}

static bool make_room(struct board *b)
{
	struct kept *more, *old = b->kept;
	u64 room = b->room * 2;

	if (b->next - b->first < b->room)
		return true;
	more = calloc(room, sizeof(*more));
	if (!more)
		return false;
	for (u64 i = b->first; i < b->next; i++)
		more[i & (room - 1)] = *at(b, i);
	pthread_mutex_lock(&b->lock);
	b->kept = more;
	b->room = room;
	pthread_mutex_unlock(&b->lock);
	free(old);
	return true;
}

void board_post(struct board *b, struct blob *snapshot, struct blob *event, u64 mono_ns)
{
	struct blob *old = snapshot;

	while (event && too_old(b, mono_ns, event->len)) {
		struct blob *first;

		pthread_mutex_lock(&b->lock);
		first = drop_first(b);
		pthread_mutex_unlock(&b->lock);
		blob_unref(first);
	}
	if (event && (event->len > BOARD_BYTES_MAX || !make_room(b))) {
		blob_unref(event);
		event = NULL;
	}
	pthread_mutex_lock(&b->lock);
	if (snapshot) {
		old = b->snapshot;
		b->snapshot = snapshot;
	}
	if (event) {
		*at(b, b->next) = (struct kept){ .event = event, .mono_ns = mono_ns };
		b->bytes += event->len;
		b->next++;
	}
	b->last_ns = mono_ns;
	pthread_mutex_unlock(&b->lock);
	blob_unref(old);
	wake(b);
}

void board_post_run(struct board *b, struct blob *run)
{
	struct blob *old;

	pthread_mutex_lock(&b->lock);
	old = b->run;
	b->run = run;
	b->runs++;
	pthread_mutex_unlock(&b->lock);
	blob_unref(old);
}

void board_post_loss(struct board *b, const char *what, u64 mono_ns)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->loss, sizeof(b->loss), "%s", what);
	b->loss_ns = mono_ns;
	pthread_mutex_unlock(&b->lock);
}

void board_post_stop(struct board *b, const char *why)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->stop, sizeof(b->stop), "%s", why);
	pthread_mutex_unlock(&b->lock);
	wake(b);
}

/* --- the readers' side --------------------------------------------------------------------- */

struct blob *board_snapshot(struct board *b, u64 *ret_number)
{
	struct blob *blob;

	pthread_mutex_lock(&b->lock);
	blob = blob_ref(b->snapshot);
	*ret_number = b->next - 1;
	pthread_mutex_unlock(&b->lock);
	return blob;
}

struct blob *board_run(struct board *b, u64 *ret_number)
{
	struct blob *blob;

	pthread_mutex_lock(&b->lock);
	blob = blob_ref(b->run);
	*ret_number = b->runs;
	pthread_mutex_unlock(&b->lock);
	return blob;
}

struct blob *board_event(struct board *b, u64 *number)
{
	struct blob *event = NULL;

	pthread_mutex_lock(&b->lock);
	if (*number < b->first)
		*number = b->first;
	if (*number < b->next)
		event = blob_ref(at(b, *number)->event);
	pthread_mutex_unlock(&b->lock);
	return event;
}

void board_span(struct board *b, u64 *ret_first, u64 *ret_last)
{
	pthread_mutex_lock(&b->lock);
	*ret_first = b->first < b->next ? b->first : 0;
	*ret_last = b->first < b->next ? b->next - 1 : 0;
	pthread_mutex_unlock(&b->lock);
}

bool board_well(struct board *b, double interval_s, bool losses, char why[BOARD_WORDS])
{
	u64 now = now_ns(), patience_ns = 3 * interval_s * NSEC_PER_SEC + LATE_NS;
	bool well = false;

	pthread_mutex_lock(&b->lock);
	if (b->stop[0])
		snprintf(why, BOARD_WORDS, "the capture has stopped: %s", b->stop);
	else if (now > b->last_ns + patience_ns)
		snprintf(why, BOARD_WORDS, "no interval for %llu s", (now - b->last_ns) / NSEC_PER_SEC);
	else if (losses && b->loss_ns && now < b->loss_ns + LOSS_SHOWN_NS)
		snprintf(why, BOARD_WORDS, "%s", b->loss);
	else
		well = true;
	pthread_mutex_unlock(&b->lock);
	return well;
}
