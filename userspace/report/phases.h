/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The phases of a run: a mark begins one, the next mark ends it. Its figures are those of the intervals that lie
 * completely in it, from the first to the last with IO, since it is unknown how the IOs of an interval divide on the
 * two sides of a mark. Its rates are over its active window. A phase too short for a complete interval gets those whose
 * middle lies in it, and is partial. Pure.
 */
#ifndef REPORT_PHASES_H
#define REPORT_PHASES_H

#include "core/frame.h"
#include "core/origin.h"
#include "report/active.h"
#include "util/budget.h"

#define PHASES_MAX 256		/* more can't be drawn or told apart */
/* The share of an interval that may lie beyond a mark: a script that marks at each full second misses it slightly. */
#define PHASES_SLACK 1e-3

struct phase {
	const char *name;	/* the mark's text, owned by the origin */
	double from_s, to_s;	/* marks, on the run's axis; the last ends with the run */
	u32 first, n;		/* its intervals, by their numbers in the run; n is 0: no figures */
	double length_s;	/* of these intervals; once the run is finished, of the active window in them */
	struct active_window active;	/* known once the run is finished */
	bool partial;
	struct frame **of;	/* [watch of the run]; NULL: nothing happened there. NULL itself while n is 0 */

	/* Private. */
	u32 idle_n;		/* intervals without IO behind the last one with IO */
	double idle_s;
};

struct phases {
	u32 n;
	struct phase *p;	/* by time */
	u32 left_out;		/* how many of the last ones were dropped, beyond PHASES_MAX */

	/* Private. */
	u32 n_watches, scale;
	u32 at;			/* the last interval added does not lie before this phase */
};

/* An interval to be added: its number in the run, its place, and the frame of each watch (NULL: none). */
struct phase_interval {
	u32 number;
	double start_s, length_s;
	const struct frame *const *frames;
};

/* Marks "end" and "pause" end a phase without beginning another. @origin must outlive it. Returns 0 or -ENOMEM. */
int phases_init(struct phases *ph, const struct origin *origin, u32 n_watches, u32 scale);
void phases_uninit(struct phases *ph);

/* Whether a phase begins or ends between these times, which must lie behind all intervals added so far. */
bool phases_divide(const struct phases *ph, double from_s, double to_s);

/* Returns 0, -E2BIG or -ENOMEM. */
int phases_add(struct phases *ph, const struct phase_interval *i, struct budget *b);

/* The run has ended: computes rates, and the percentiles @ps. Phases that begin at its end or later are dropped. */
void phases_finish(struct phases *ph, double end_s, const struct percentiles *ps);

struct run;

/*
 * A phase as a run of its own, so that code for runs works on phases: makes a run that has only the intervals of @r's
 * phase @p, which must have some. It borrows from @r, and has neither heat nor percentiles over time. Nothing may be
 * added to it. Free it with phase_run_free() instead of run_uninit(). Returns 0 or -ENOMEM.
 */
int phase_run_make(const struct run *r, const struct phase *p, struct run *ret);
void phase_run_free(struct run *r);

#endif
