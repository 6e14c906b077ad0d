/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of commands that run a capture: what to watch, with which engine, for how long, and how to show it. */
#ifndef CMD_CAPTURE_OPTIONS_H
#define CMD_CAPTURE_OPTIONS_H

#include "cmd/options.h"
#include "cmd/watches.h"
#include "core/capture.h"
#include "core/sink.h"

struct capture_options {
	struct wanted wanted;
	double interval_s;
	double duration_s;			/* 0: no limit */
	u64 count;				/* 0: no limit */
	struct percentiles percentiles;
	u32 format;			/* enum format */
	bool bins;
	u64 top;			/* text: how many devices to show, the worst; 0: all */
	const struct capture_ops *engine;	/* NULL: auto */
	int scale;
	u64 max_memory;
	u64 max_bios;
	double idle_gap_s;			/* 0: pauses are not looked for; negative: not given */
	double default_idle_gap_s;		/* used if none is given and the engine sees pauses */
	/* nobody has asked for it: do without if a capture can't be opened with it */
	bool may_lack_by, may_lack_slow;
	struct slow_wanted slow;
	u64 slow_most;				/* 0: not given */
	const char *node;			/* of Kubernetes; NULL: names are not asked for */
	const char *replay;			/* NULL: watch devices */
	u32 numbers;				/* arguments so far that were numbers */
};

/* For the member shared of struct options; ended by { 0 }. */
extern const struct option_row capture_option_list[];

/* Sets the defaults. */
void capture_options_init(struct capture_options *o);
void capture_options_uninit(struct capture_options *o);

/* Takes devices, for @wanted (struct wanted), see wanted_add(). Returns 0, or -ENOMEM and a sentence. */
int capture_options_take_device(void *wanted, const char *value, struct problem *p);

/*
 * Takes an argument: a device or, after one, the interval and then the count, as iostat does. No device is named by a
 * number.
 */
int capture_options_take_argument(void *into, const char *value, struct problem *p);

/* To be called after all options were read: checks that they fit together. Returns 0, or -EINVAL and a sentence. */
int capture_options_check(struct capture_options *o, struct problem *p);

#endif
