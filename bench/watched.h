/* SPDX-License-Identifier: GPL-2.0-only */
/* A device that the BPF engine watches, opened as 'blklat --dev DEV' does. */
#ifndef BENCH_WATCHED_H
#define BENCH_WATCHED_H

#include "cmd/watches.h"
#include "core/capture.h"

struct watched {
	struct device_table devices;
	struct watches watches;
	struct capture *capture;
};

/* Returns 0, or a negative errno and a sentence. @w starts as all zeros; close it whatever the result. */
static inline int watched_open(struct watched *w, const char *dev, struct problem *p)
{
	const struct wanted wanted = { .n = 1, .devices = &dev };
	struct capture_config cfg = { .devices = &w->devices, .scale = -1, .max_bios = CAPTURE_MAX_BIOS };
	int err = device_table_read(&w->devices, "", p);

	if (!err)
		err = watches_make(&w->devices, &wanted, &w->watches, p);
	if (err)
		return err;
	cfg.watches = w->watches.w;
	cfg.n_watches = w->watches.n;
	return capture_bpf.open(&cfg, &w->capture, p);
}

static inline void watched_close(struct watched *w)
{
	if (w->capture)
		capture_bpf.close(w->capture);
	watches_free(&w->watches);
	device_table_free(&w->devices);
}

#endif
