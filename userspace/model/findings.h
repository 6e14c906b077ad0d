/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a person would read off the charts of a run, as plain sentences: each with its numbers and the
 * rule that found it. A rule is a file, findings_*.c. Pure.
 */
#ifndef MODEL_FINDINGS_H
#define MODEL_FINDINGS_H

#include "model/steady.h"

#define FINDING_VALUES_MAX 12

struct finding_value {
	const char *name;	/* with its unit: "share", "period_s", "fast_p50_ns" */
	double value;		/* finite */
};

/*
 * Kinds: steady_state, stall, level_change, peaks, after_pause, losses, kernel_count, errors, hung,
 * gone. Names of kinds and values are stable; docs/blklat.8 lists them.
 */
struct finding {
	const char *kind;
	const struct watch *watch;	/* in the run */
	int op;				/* enum blklat_op, or -1: the device as a whole */
	double from_s, to_s;		/* of the run, what it speaks of */
	char text[512];
	char rule[320];
	u32 n;
	struct finding_value values[FINDING_VALUES_MAX];
};

struct findings {
	u32 n;
	u32 room;
	struct finding *f;
};

/*
 * All findings of @r, watch by watch; @w is where the steady state is looked for. Returns 0, or -ENOMEM
 * with none made.
 */
int findings_make(const struct run *r, const struct steady_window *w, struct findings *ret);
void findings_uninit(struct findings *fs);

#endif
