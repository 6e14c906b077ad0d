/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of commands that run a capture: what to watch, with which engine, how long, how shown. */
#ifndef CMD_CAPTURE_OPTIONS_H
#define CMD_CAPTURE_OPTIONS_H

#include "cmd/options.h"
#include "cmd/watches.h"
#include "core/capture.h"
#include "core/sink.h"

/* Keys from here on are these options', see struct options. */
#define CAPTURE_OPTIONS_LONG (OPTIONS_LONG + 0x100)

struct capture_options {
	struct wanted wanted;
	double interval_s;
	double duration_s;			/* 0: no limit */
	u64 count;				/* 0: no limit */
	struct percentiles percentiles;
	u32 format;			/* enum format */
	bool bins;
	u64 top;			/* text: devices that are shown, the worst; 0: all */
	const struct capture_engine *engine;	/* NULL: auto */
	int scale;
	u64 max_memory;
	u64 max_bios;
	double idle_gap_s;			/* 0: pauses are not looked for; negative: not given */
	double default_idle_gap_s;		/* if not given and the engine sees pauses */
	struct slow_wanted slow;
	u64 slow_most;				/* 0: not given */
	const char *replay;			/* NULL: watch devices */
};

/* To be shared by struct options: ended by { 0 }. */
extern const struct argp_option capture_option_list[];

/* Copies those with these long names, at most @room - 1 of them, to @ret, and ends it by { 0 }. */
void capture_options_pick(const char *const *names, u32 n, struct argp_option *ret, u32 room);

/* The defaults, with room for the devices of @argc words. Returns 0 or -ENOMEM. */
int capture_options_init(struct capture_options *o, int argc);
void capture_options_uninit(struct capture_options *o);

/* Takes one of them, as the hook of struct options does. */
int capture_options_take(struct capture_options *o, int key, const char *value, struct problem *p);

/* Once all are read: do they fit together? Returns 0, or -EINVAL and a sentence. */
int capture_options_check(const struct capture_options *o, struct problem *p);

#endif
