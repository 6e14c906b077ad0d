/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the rules, findings_*.c. Only they and findings.c include it. */
#ifndef REPORT_FINDINGS_RULES_H
#define REPORT_FINDINGS_RULES_H

#include "report/findings.h"
#include "util/units.h"

#define FINDING_WHO (DEVICE_NAME_MAX + 32)

/* What a rule examines, and where its findings go. */
struct inquiry {
	const struct run *run;
	const struct watch_run *watch;
	const struct steady_window *window;
	/*
	 * [interval] Whether the oldest IO in flight at the interval's end really was in flight: an IO
	 * of that age ended later, or none had ended by the end of the run. Without this proof it may
	 * be an IO whose end the capture missed: that one also seems to be in flight, until its tag is
	 * used again.
	 */
	bool *age_proven;
	double *stalled_s;		/* [interval] For how long the device stalled. Set by find_stalls(), for the rules that run after it. */
	double *told_s;			/* [interval] The same for stalls that were told: of the device or one of its ops, at any stage. */
	struct findings *to;
};

/* Each returns 0 or -ENOMEM. */
int find_stalls(const struct inquiry *q);
int find_steady_state(const struct inquiry *q);
int find_level_changes(const struct inquiry *q);
/* Like findings_levels(), for an op of the watch; find_stalls() must have run before. */
int find_levels(const struct inquiry *q, u32 op, double *ret);
int find_peaks(const struct inquiry *q);
int find_after_pause(const struct inquiry *q);
int find_beside(const struct inquiry *q);
int find_slow_common(const struct inquiry *q);
int find_losses(const struct inquiry *q);
int find_errors(const struct inquiry *q);
int find_hung(const struct inquiry *q);
int find_gone(const struct inquiry *q);

/*
 * Adds a finding about the whole run, which the caller fills in; NULL: no memory. The pointer is
 * invalid once the next one is added.
 */
struct finding *finding_add(const struct inquiry *q, const char *kind, int op);
void finding_value(struct finding *f, const char *name, double value);
__attribute__((format(printf, 2, 3)))
void finding_say(struct finding *f, const char *format, ...);	/* adds to the text */
__attribute__((format(printf, 2, 3)))
void finding_rule(struct finding *f, const char *format, ...);

/* "nvme0n1 write"; also names the stage if the device is watched at several. */
const char *finding_who(const struct inquiry *q, int op, char text[FINDING_WHO]);

/* True for an op with at least 1 % of the watch's IOs. A rarer one has no meaningful rate. */
bool op_matters(const struct watch_run *w, u32 op);

/* Applies a rule to each op that matters, until one call fails. */
int find_by_op(const struct inquiry *q, int (*find)(const struct inquiry *q, u32 op));

/* The op with the most IOs. */
u32 main_op(const struct watch_run *w);

struct weighted {
	double value, weight;
};

/*
 * The smallest value such that all values up to it have at least half of the weight; 0 if @n is 0.
 * Sorts @w by value.
 */
double weighted_median(struct weighted *w, u32 n);

#endif
