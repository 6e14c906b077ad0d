/* SPDX-License-Identifier: GPL-2.0-only */
/* Is something wrong with a device? All outputs that mark a sick device among many use this one rule. Pure. */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include "core/frame.h"

/* In ascending order of severity; if there are several, the worst is reported. */
enum ailment {
	AILMENT_NONE,
	AILMENT_LOST,		/* a notable share of its IOs was not measured: its figures may be wrong */
	AILMENT_GONE,
	AILMENT_UNLIKE,		/* p99 is at least HEALTH_TIMES that of its peers' median */
	AILMENT_HOST,		/* slow, but so are most devices, by a similar factor: see health_together() */
	AILMENT_HOST_WAITS,	/* old or stalled, but so are most devices, for a similar time */
	AILMENT_SLOW,		/* p99 is at least HEALTH_TIMES that of the last minutes */
	AILMENT_OLD,		/* an IO has been in flight for longer than the interval */
	AILMENT_ERRORS,		/* IOs failed */
	AILMENT_STALLED,	/* see frame_seems_stalled(); and the kernel does not say that its IOs ended */
};

#define HEALTH_TIMES 5
#define HEALTH_INTERVALS_MIN 10		/* intervals with IOs before the past counts */
#define HEALTH_IOS_MIN 20		/* with fewer IOs, p99 is the slowest one, which says little */
#define HEALTH_INTERVALS 64		/* the mean of the past covers so many intervals */
#define HEALTH_LIKE_MIN 4		/* peers with enough IOs, itself included, before they say what is usual */
#define HEALTH_HOST_MIN 3		/* devices before most of them say something about the host */
#define HEALTH_HOST_LIKE 2
#define HEALTH_LOST_SHARE 0.01		/* the share of an interval's IOs that is notable */

/* A watch's behaviour until now; all 0 at first. */
struct health_past {
	double log2_ns;		/* mean of the logarithms of p99 over the intervals with IOs, old ones fading */
	u32 intervals;
};

struct health {
	enum ailment ailment;
	double times;		/* its p99 over that of its past; 0: not known */
	double times_like;	/* its p99 over its peers' median; 0: not known */
	u64 ios;		/* of all ops */
	u64 lost;		/* in this interval; see health_besides() */
	double p99_ns;		/* of all ops; 0: no IO */
	u64 waited_ns;		/* age of the oldest IO in flight; 0: no IO is, or the kernel says that it ended */
	u64 errors;
};

/* Judges an interval of a whole by its past, then adds the interval to the past. @all comes from frame_merge_ops(). */
struct health health_judge(struct health_past *past, const struct frame *f, const struct op_frame *all);

/* Adds what is less severe than a sickness: that the device is gone, or that @lost IOs of the interval were lost. */
void health_besides(struct health *h, const struct frame *f, u64 lost);

/*
 * Compares the wholes of @fs with their peers: devices of the same kind and model, at the same stage,
 * with enough IOs for a p99. @h[i] belongs to frame i. Returns 0 or -ENOMEM.
 */
int health_compare(const struct frames *fs, struct health *h);

/* Devices that slowed together, and devices whose IOs wait together. */
struct health_host {
	u32 n, of;		/* number of slow devices, and of those that can be judged; n = 0: they did not slow together */
	double times;		/* geometric mean of their factors */
	u32 waiting, busy;	/* number of waiting devices, and of those with IOs; waiting = 0: they do not wait together */
	double waited_ns;	/* geometric mean of the ages of their oldest IOs */
};

/*
 * On a host that is starved or throttled, all devices are slow compared with their own past, and none of them is sick.
 * They slowed together if at least 3/4 of the devices that can be judged (HEALTH_HOST_MIN or more, with a past and
 * enough IOs) are slow, by factors within HEALTH_HOST_LIKE of the slow devices' geometric mean. Then each device that
 * is slow by no more than that gets AILMENT_HOST. One that is slower, or has something worse than slow, keeps its mark.
 * Partitions, loop devices and devices on top of others do not count, as they are slow with the disk below; no device
 * counts twice. @h has a pointer for each frame, NULL for parts.
 *
 * Devices whose IOs wait (AILMENT_OLD or AILMENT_STALLED) are judged in the same way, by the age of their oldest IO and
 * among the devices with IOs. A device that has waited longer than the others keeps its mark; each of the others gets
 * AILMENT_HOST_WAITS.
 */
struct health_host health_together(const struct frames *fs, struct health *const *h);

/* Should this device be marked, or is it no worse than all others? */
static inline bool health_marks(const struct health *h)
{
	return h->ailment && h->ailment != AILMENT_HOST && h->ailment != AILMENT_HOST_WAITS;
}

/* For a short line: "all slower: the host?", "all waiting: the host?", or "". */
const char *health_host_text(const struct health_host *host);

/* "sick": somebody has to look; "watch": worth a look; "well". */
const char *health_grade(const struct health *h);

extern const char *const ailment_names[];

/* The figure by which the worst device is found. A device that hangs has no p99, so its oldest IO's age counts. */
static inline double health_worst_ns(const struct health *h, double p99_ns)
{
	return h->waited_ns > p99_ns ? h->waited_ns : p99_ns;
}

#define HEALTH_TEXT 96

/* "slow: p99 is 8.3 times its past"; "" when nothing is wrong. */
const char *health_text(char text[HEALTH_TEXT], const struct health *h);

#endif
