// SPDX-License-Identifier: GPL-2.0-only
#include "service/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void held_drop(struct held *h)
{
	frames_uninit(&h->frames);
	slow_ios_uninit(&h->slow);
	free(h->now.w);
	*h = (struct held){ 0 };
}

static int begin(struct held *h, const struct run_info *run, const struct watch *watches, const struct frames *fs)
{
	int err = frames_init(&h->frames, watches, fs->n, run->scale);

	if (!err && run->slow_most)
		err = slow_ios_init(&h->slow, fs->n, run->slow_most);
	if (!err && fs->now) {
		h->now.w = calloc(fs->n + 1, sizeof(*h->now.w));
		err = h->now.w ? 0 : -ENOMEM;
	}
	if (err) {
		held_drop(h);
		return err;
	}
	for (u32 i = 0; i < fs->n; i++)
		h->frames.f[i].number = fs->f[i].number;
	frames_set_slow(&h->frames, run->slow_most ? &h->slow : NULL);
	return 0;
}

/* If there is no memory, they are only counted. */
static void add_slow(struct held *h, const struct frames *fs)
{
	for (u32 i = 0; i < fs->n; i++)
		if (fs->f[i].slow)
			slow_ios_copy(&h->slow, i, fs->slow, fs->f[i].slow);
	slow_ios_sort(&h->slow);
}

/* Adds the halts of @more to those of @to before; one may go on. If they are too many, the shortest goes. */
static void add_halts(struct watch_counts *to, const struct watch_counts *more)
{
	for (u32 n = 0; n < more->n_halts; n++) {
		struct halt *last = to->n_halts ? &to->halts[to->n_halts - 1] : NULL, *shortest = to->halts;

		if (last && last->to_ns == more->halts[n].from_ns) {
			last->to_ns = more->halts[n].to_ns;
			continue;
		}
		if (to->n_halts == HALTS_MOST) {
			for (struct halt *h = to->halts; h <= last; h++)
				if (h->to_ns - h->from_ns < shortest->to_ns - shortest->from_ns)
					shortest = h;
			memmove(shortest, shortest + 1, (char *)(last + 1) - (char *)(shortest + 1));
			to->n_halts--;
		}
		to->halts[to->n_halts++] = more->halts[n];
	}
}

/* Those at the end of the last interval are also those at the end of all. Only halts add up. */
static void add_counts(struct held *h, const struct frames *fs)
{
	struct watch_counts *held = h->now.w;

	for (u32 i = 0; i < fs->n; i++) {
		struct watch_counts was = held[i];

		add_halts(&was, fs->f[i].counts);
		held[i] = *fs->f[i].counts;
		memcpy(held[i].halts, was.halts, sizeof(was.halts));
		held[i].n_halts = was.n_halts;
		h->frames.f[i].counts = &held[i];
	}
	h->now = *fs->now;
	h->now.w = held;
	h->frames.now = &h->now;
}

int held_add(struct held *h, const struct run_info *run, const struct watch *watches, const struct frames *fs)
{
	static const struct percentiles none;
	int err = h->frames.reads ? 0 : begin(h, run, watches, fs);

	if (err)
		return err;
	if (run->slow_most)
		add_slow(h, fs);
	if (fs->now)
		add_counts(h, fs);
	frames_accumulate(&h->frames, fs, &none);
	return 0;
}
