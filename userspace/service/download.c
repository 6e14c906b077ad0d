// SPDX-License-Identifier: GPL-2.0-only
#include "service/download.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "util/cleanup.h"

#define NICE 15			/* of the thread */

/* --- intervals ----------------------------------------------------------------------------------- */

int downloads_add(struct downloads *d, u32 kind, const struct wire_in *bytes)
{
	s64 now = now_ns();
	int err = recent_add(&d->recent, kind, bytes, now);

	/* While the thread reads them, none goes. */
	if (!err && !d->busy)
		recent_trim(&d->recent, now - (s64)d->keep_ns);
	return err;
}

/* --- files --------------------------------------------------------------------------------------- */

static void *work(void *downloads)
{
	struct downloads *d = downloads;

	setpriority(PRIO_PROCESS, 0, NICE);	/* on Linux this applies to this thread only */
	d->err = d->make(d->into, d->kind, &d->source, &d->data, &d->len);
	atomic_store(&d->done, true);
	return NULL;
}

static int begin(struct downloads *d, enum download kind)
{
	if (!d->recent.run || !d->recent.first)
		return -ENODATA;
	d->source = d->recent;
	d->kind = kind;
	d->done = false;
	d->busy = !pthread_create(&d->thread, NULL, work, d);
	return d->busy ? -EAGAIN : -ENOMEM;
}

void downloads_round(struct downloads *d)
{
	u64 now = now_ns();

	for (u32 i = 0; i < DOWNLOADS; i++)
		if (d->of[i].made && now > d->of[i].until_ns)
			blob_unref(TAKE(d->of[i].made));
	if (!d->busy || !atomic_load(&d->done))
		return;
	pthread_join(d->thread, NULL);
	d->busy = false;
	if (!d->err) {
		d->of[d->kind].made = blob_take(TAKE(d->data), d->len);
		d->of[d->kind].until_ns = now + DOWNLOAD_FRESH_NS;
	}
}

int download_get(struct downloads *d, enum download kind, struct blob **ret)
{
	int failed;

	downloads_round(d);
	*ret = d->of[kind].made;
	if (*ret)
		return 0;
	failed = !d->busy && d->kind == kind ? d->err : 0;
	d->err = 0;
	return failed ?: d->busy ? -EAGAIN : begin(d, kind);
}

void downloads_uninit(struct downloads *d)
{
	if (d->busy)
		pthread_join(d->thread, NULL);
	for (u32 i = 0; i < DOWNLOADS; i++)
		blob_unref(d->of[i].made);
	free(d->data);
	recent_clear(&d->recent);
}
