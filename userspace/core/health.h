/* SPDX-License-Identifier: GPL-2.0-only */
/* Is something wrong with a device? The one rule for all that mark the sick one among many. Pure. */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include "core/frame.h"

/* Ascending by how bad it is; of several the worst is told. */
enum ailment {
	AILMENT_NONE,
	AILMENT_LOST,		/* a notable share of its IOs was not measured: what is said of it may be wrong */
	AILMENT_GONE,
	AILMENT_UNLIKE,		/* p99 is HEALTH_TIMES and more of the middle one of its like */
	AILMENT_HOST,		/* would be slow, but so are most, by a like factor: see health_together() */
	AILMENT_HOST_WAITS,	/* would be old or stalled, but so are most, for a like time */
	AILMENT_SLOW,		/* p99 is HEALTH_TIMES and more of what it was in the last minutes */
	AILMENT_OLD,		/* an IO has been in flight for longer than the interval */
	AILMENT_ERRORS,		/* IOs failed */
	AILMENT_STALLED,	/* see frame_seems_stalled(); the kernel does not say that they ended */
};

#define HEALTH_TIMES 5
#define HEALTH_INTERVALS_MIN 10		/* with IOs, before the past says anything */
#define HEALTH_IOS_MIN 20		/* of fewer p99 is the slowest one, which says little */
#define HEALTH_INTERVALS 64		/* that the mean of the past goes over */
#define HEALTH_LIKE_MIN 4		/* alike with enough IOs, itself among them, before they tell what is usual */
#define HEALTH_HOST_MIN 3		/* devices, before most of them tell of the host */
#define HEALTH_HOST_LIKE 2
#define HEALTH_LOST_SHARE 0.01		/* of an interval's IOs, that is notable */

/* What a watch was like until now: all 0 at first. */
struct health_past {
	double log2_ns;		/* mean of the logarithms of p99 over the intervals with IOs, old ones fading */
	u32 intervals;
};

struct health {
	enum ailment ailment;
	double times;		/* its p99 over that of its past; 0: not known */
	double times_like;	/* its p99 over the middle one of its like; 0: not known */
	u64 ios;		/* of all ops */
	u64 lost;		/* in this interval; see health_besides() */
	double p99_ns;		/* of all ops; 0: no IO */
	u64 waited_ns;		/* age of the oldest in flight; 0: none is, or the kernel says that it ended */
	u64 errors;
};

/* The IOs of all ops of @f; @ret->hist is made by the caller, of the frame's scale or coarser. Rates and percentiles are left alone. */
void frame_merge_ops(const struct frame *f, struct op_frame *ret);

/* Judges an interval of a whole by its past, and adds it to that. @all is of frame_merge_ops(). */
struct health health_judge(struct health_past *past, const struct frame *f, const struct op_frame *all);

/* Adds what is less than an illness of the device: that it is gone, and @lost IOs of the interval. */
void health_besides(struct health *h, const struct frame *f, u64 lost);

/*
 * Holds the wholes of @fs against their like: devices of one kind and model, at one stage, whose p99 is of enough
 * IOs. @h[i] is that of frame i. Returns 0 or -ENOMEM.
 */
int health_compare(const struct frames *fs, struct health *h);

/* Devices that slowed together, and devices whose IOs wait together. */
struct health_host {
	u32 n, of;		/* so many, of so many that could tell; n is 0: they did not */
	double times;		/* the mean by which, geometric */
	u32 waiting, busy;	/* so many wait, of so many with IOs; waiting is 0: not together */
	double waited_ns;	/* the mean age of the oldest, geometric */
};

/*
 * On a host that is starved or throttled all devices are slow against their own past, and none of them is sick. They slowed
 * together if at least 3/4 of HEALTH_HOST_MIN or more devices (of those with a past and enough IOs) are slow, by factors within
 * HEALTH_HOST_LIKE of the geometric mean of the slow ones'. Each that is slow by no more than that has AILMENT_HOST then; who is
 * slower still keeps its mark, as does what is worse than slow. A partition, a loop device or what lies on others does not
 * count, as it is slow with the disk below; nor does a device twice. @h has a pointer for each frame, NULL for parts.
 *
 * In the same way those are told whose IOs wait, AILMENT_OLD or AILMENT_STALLED, by how old the oldest is: of those that have IOs
 * the same share, and who waits for longer than all keeps its mark. Each of the others has AILMENT_HOST_WAITS.
 */
struct health_host health_together(const struct frames *fs, struct health *const *h);

/* Is this device to be marked, or is it no worse than all are? */
static inline bool health_marks(const struct health *h)
{
	return h->ailment && h->ailment != AILMENT_HOST && h->ailment != AILMENT_HOST_WAITS;
}

/* For a line that is short: "all slower: the host?", "all wait: the host?", or "". */
const char *health_host_text(const struct health_host *host);

/* "sick": somebody has to look; "watch": worth a look; "well". */
const char *health_grade(const struct health *h);

extern const char *const ailment_names[];

/* What the worst one is found by. What hangs has no p99: it is as bad as its oldest IO is old. */
static inline double health_worst_ns(const struct health *h, double p99_ns)
{
	return h->waited_ns > p99_ns ? h->waited_ns : p99_ns;
}

#define HEALTH_TEXT 96

/* "slow: p99 is 8.3 times its past"; "" when nothing is wrong. */
const char *health_text(char text[HEALTH_TEXT], const struct health *h);

#endif
