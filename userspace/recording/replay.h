/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources of the replay engine: recordings and scripts, told apart by the first bytes of their files. */
#ifndef RECORDING_REPLAY_H
#define RECORDING_REPLAY_H

#include "core/capture.h"

/* An open replay. Each source embeds it at the start of its own state. */
struct replay {
	struct capture capture;		/* with ops set to capture_replay */
	const struct replay_source *source;
};

/* Hooks as in struct capture_ops. The first read gives the start, each later one the end of an interval. */
struct replay_source {
	int (*open)(const struct capture_config *cfg, struct replay **ret, struct problem *p);
	int (*read)(struct replay *r, struct snapshot *s, struct problem *p);
	void (*close)(struct replay *r);
};

extern const struct replay_source replay_script_source;
extern const struct replay_source replay_recording_source;

/* The scale to replay at: @cfg's, which must not be finer than @captured. Returns it, or -EINVAL and a sentence. */
int replay_scale(const struct capture_config *cfg, u32 captured, struct problem *p);

/*
 * Checks that the counts of @n_watches fit in cfg->max_memory (0: in the limit for any file). Returns
 * 0, or -E2BIG and a sentence.
 */
int replay_fits(const struct capture_config *cfg, u32 n_watches, u32 scale, struct problem *p);

/* Begins an interval by clearing the counts of all ops: these cover one interval only. */
void replay_begin_interval(struct snapshot *s);

#endif
