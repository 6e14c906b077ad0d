/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is something wrong with a device? Every interval's frames say so, by this one rule; outputs only choose words.
 * Pure.
 */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include "util/types.h"

struct frame;
struct frames;

/* In ascending order of severity; if there are several, the worst is reported. */
enum ailment {
	AILMENT_NONE,
	AILMENT_LOST,		/* a notable share of its IOs was not measured: its figures may be wrong */
	AILMENT_GONE,
	AILMENT_UNLIKE,		/* p99 is at least HEALTH_TIMES that of its peers' median */
	AILMENT_HOST,		/* slow, but so are most devices, by a similar factor: see health_together() */
	AILMENT_HOST_WAITS,	/* old or stalled, but so are most devices, for a similar time */
	/* p99 is at least HEALTH_TIMES that of its past, and since then not below HEALTH_TIMES_WELL */
	AILMENT_SLOW,
	AILMENT_OLD,		/* an IO has been in flight for longer than the interval */
	AILMENT_ERRORS,		/* IOs failed */
	AILMENT_STALLED,	/* see frame_seems_stalled(); and the kernel does not say that its IOs ended */
	AILMENTS,
};

#define HEALTH_TIMES 5
/* a slow device whose p99 is at the limit must not be well in every other interval */
#define HEALTH_TIMES_WELL 2.5
#define HEALTH_INTERVALS_MIN 10		/* intervals with IOs before the past counts */
#define HEALTH_IOS_MIN 20		/* with fewer IOs, p99 is the slowest one, which says little */
#define HEALTH_INTERVALS 64		/* the mean of the past covers so many intervals */
/* a device that has been slow for so long does other work now: its past begins anew */
#define HEALTH_SLOW_MAX_S 86400
#define HEALTH_LIKE_MIN 4		/* peers with enough IOs, itself included, before they say what is usual */
#define HEALTH_HOST_MIN 3		/* devices before most of them say something about the host */
#define HEALTH_HOST_LIKE 2
#define HEALTH_LOST_SHARE 0.01		/* the share of an interval's IOs that is notable */

/* IOs of the last minute: they fade by the factor e in one. */
struct health_tally {
	double ios, lost;
};

/* Adds an interval. Returns whether it lost IOs, and those of the last minute are a notable share of the IOs. */
bool health_tally_add(struct health_tally *t, double interval_s, u64 ios, u64 lost);

/*
 * A watch's behaviour until now; all 0 at first. Only intervals in which it was well are in the mean: otherwise an
 * illness that lasts would become what is usual.
 */
struct health_past {
	double log2_ns;		/* mean of the logarithms of p99 over the intervals with IOs, old ones fading */
	u32 intervals;
	bool slow;		/* when there were enough IOs to judge it last */
	s64 since_ns;		/* see struct health; kept while there are too few IOs to say that it is well again */
	u64 lost;		/* since the capture began */
	struct health_tally tally;
};

struct health {
	enum ailment ailment;
	double times;		/* its p99 over that of its past; 0: not known */
	double times_like;	/* its p99 over its peers' median; 0: not known */
	u64 ios;		/* of all ops */
	/* in this interval; a loss that is explained later only moves to another reason, and is not a new one */
	u64 lost;
	bool lost_lately;	/* it lost IOs, and those of the last minute are a notable share */
	double p99_ns;		/* of all ops; 0: no IO */
	u64 waited_ns;		/* age of the oldest IO in flight; 0: no IO is, or the kernel says that it ended */
	u64 errors;
	/* when the first interval of the illness began (CLOCK_REALTIME); 0: it is well, or only gone or lost */
	s64 since_ns;
};

/* Devices that slowed together, and devices whose IOs wait together. */
struct health_host {
	/* number of slow devices, and of those that can be judged; n = 0: they did not slow together */
	u32 n, of;
	double times;		/* geometric mean of their factors */
	/* number of waiting devices, and of those with IOs; waiting = 0: they do not wait together */
	u32 waiting, busy;
	double waited_ns;	/* geometric mean of the ages of their oldest IOs */
};

/*
 * Sets the health of the wholes of an interval, and of the host, and adds the interval to their past. Parts have none.
 * Returns 0 or -ENOMEM.
 */
int health_judge(struct frames *interval);

/* The same for frames of a whole run, which no past and no peer is compared with. */
int health_judge_run(struct frames *run);

/*
 * Compares the wholes of @fs with their peers: devices of the same kind and model, at the same stage,
 * with enough IOs for a p99. Returns 0 or -ENOMEM.
 */
int health_compare(struct frames *fs);

/*
 * On a host that is starved or throttled, all devices are slow compared with their own past, and none of them is sick.
 * They slowed together if at least 3/4 of the devices that can be judged (HEALTH_HOST_MIN or more, with a past and
 * enough IOs) are slow, by factors within HEALTH_HOST_LIKE of the slow devices' geometric mean. Then each device that
 * is slow by no more than that gets AILMENT_HOST. One that is slower, or has something worse than slow, keeps its mark.
 * Partitions, loop devices and devices on top of others do not count, as they are slow with the disk below; no device
 * counts twice.
 *
 * Devices whose IOs wait (AILMENT_OLD or AILMENT_STALLED) are judged in the same way, by the age of their oldest IO and
 * among the devices with IOs. A device that has waited longer than the others keeps its mark; each of the others gets
 * AILMENT_HOST_WAITS.
 */
void health_together(struct frames *fs);

/* Should this device be marked, or is it no worse than all others? That IOs were lost does not make a device sick. */
static inline bool health_marks(const struct health *h)
{
	return h->ailment > AILMENT_LOST && h->ailment != AILMENT_HOST && h->ailment != AILMENT_HOST_WAITS;
}

/* For a short line: "all slower: the host?", "all waiting: the host?", or "". */
const char *health_host_text(const struct health_host *host);

enum health_grade { HEALTH_WELL, HEALTH_WATCH, HEALTH_SICK };	/* worth a look; somebody has to look */

enum health_grade health_grade(const struct health *h);

extern const char *const health_grade_names[];
extern const char *const ailment_names[];

/* The figure by which the worst device is found. A device that hangs has no p99, so its oldest IO's age counts. */
static inline double health_worst_ns(const struct health *h, double p99_ns)
{
	return h->waited_ns > p99_ns ? h->waited_ns : p99_ns;
}

#define HEALTH_TEXT 96

/* "slow: p99 is 8.3 times its past"; "" when nothing is wrong. */
const char *health_text(char text[HEALTH_TEXT], const struct health *h);

/* "since 07:34:12 (22 min)" at @now_ns; "" when nothing is wrong, or only since this interval of @interval_s. */
const char *health_since(char text[HEALTH_TEXT], const struct health *h, s64 now_ns, double interval_s);

#endif
