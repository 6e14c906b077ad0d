/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last minutes to take away, as a recording or as a report. The intervals are kept as the messages that they came
 * as, and a thread of low priority makes a file of them when somebody asks: one at a time, and each kind once in
 * DOWNLOAD_FRESH_NS, however many ask.
 */
#ifndef SERVICE_DOWNLOAD_H
#define SERVICE_DOWNLOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "service/recent.h"
#include "util/blob.h"
#include "util/clock.h"

enum download {
	DOWNLOAD_RECORDING,
	DOWNLOAD_REPORT,
	DOWNLOADS,
};

#define DOWNLOAD_FRESH_NS (10 * NSEC_PER_SEC)

/* Makes the file, in another thread, of all messages of @from. Returns 0 or a negative errno. @ret: of malloc(). */
typedef int (*download_make)(void *into, enum download kind, const struct recent *from, char **ret, size_t *ret_len);

struct downloads {
	download_make make;
	void *into;
	u64 keep_ns;		/* how long intervals are kept; they take RECENT_BYTES at most */
	/* Private. */
	struct recent recent;
	struct { struct blob *made; u64 until_ns; } of[DOWNLOADS];
	pthread_t thread;
	bool busy;		/* there is a thread, for: */
	enum download kind;
	struct recent source;		/* as it was then */
	char *data;
	size_t len;
	int err;
	atomic_bool done;
};

/* Keeps a message (RELAY_RUN or RELAY_INTERVAL). Returns 0 or -ENOMEM. */
int downloads_add(struct downloads *d, u32 kind, const struct wire_in *bytes);

/* Returns 0 and the file, borrowed; -EAGAIN: it is being made, or another one is; or why it could not be made. */
int download_get(struct downloads *d, enum download kind, struct blob **ret);

/* To be called now and then: takes what the thread has made, and frees what is old. */
void downloads_round(struct downloads *d);
void downloads_uninit(struct downloads *d);	/* waits for the thread; takes a struct that is all 0 */

#endif
