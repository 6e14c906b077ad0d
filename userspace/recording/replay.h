/* SPDX-License-Identifier: GPL-2.0-only */
/* What the replay engine plays: a source is told from the others by its file's first bytes. */
#ifndef RECORDING_REPLAY_H
#define RECORDING_REPLAY_H

#include "core/capture.h"

/* An open replay. Sources embed it at the start of their own state. */
struct replay {
	struct capture capture;		/* with ops set to capture_replay */
	const struct replay_source *source;
};

/* As struct capture_ops has them. The first read gives the start, each later one an interval's end. */
struct replay_source {
	int (*open)(const struct capture_config *cfg, struct replay **ret, struct problem *p);
	int (*read)(struct replay *r, struct snapshot *s, struct problem *p);
	void (*close)(struct replay *r);
};

extern const struct replay_source replay_script_source;
extern const struct replay_source replay_recording_source;

/*
 * The scale to replay at what was captured at @captured: @cfg's, if it is no finer. Returns it, or -EINVAL and
 * a sentence.
 */
int replay_scale(const struct capture_config *cfg, u32 captured, struct problem *p);

/*
 * Whether the counts of so many watches are within cfg->max_memory, or what any file may take where that is 0. Returns 0,
 * or -E2BIG and a sentence.
 */
int replay_fits(const struct capture_config *cfg, u32 n_watches, u32 scale, struct problem *p);

/* Begins an interval, since extremes are those of one: no IO has ended in it yet. */
void replay_forget_extremes(struct snapshot *s);

#endif
