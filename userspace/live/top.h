/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of 'blklat top', and what of it is to be shown: each watch's last interval, the last minutes, the order of
 * the lines, which line is selected. Pure: it is fed with frames and keys, and other files draw it.
 *
 * A line is a device at the chosen stage or, if it is not watched there, at the first stage at which it is.
 */
#ifndef LIVE_TOP_H
#define LIVE_TOP_H

#include "core/hist.h"
#include "core/shares.h"
#include "core/sink.h"
#include "core/slow.h"

/* --- the last slow IOs of a device and stage, for the screen --- */

#define TOP_SLOW 256

struct top_slow {
	u64 taken;		/* taken since the capture began; the last TOP_SLOW are kept */
	u64 found;		/* including those that were only counted */
	struct top_slow_io {
		u64 sample;	/* the interval in which it ended */
		struct slow_io io;
	} io[TOP_SLOW];
};

/*
 * Walks back in time: the last IO before number *@at, which is set to the IO's number, that is of an interval before
 * @shown and of @op (BLKLAT_OPS: of any op). Begin with *@at = taken. NULL: there is none.
 */
const struct slow_io *top_slow_before(const struct top_slow *s, u64 shown, u32 op, u64 *at);

/*
 * How many IOs took how long in each of the last intervals, for one op of one watch. It is coarse, as
 * it is only drawn: a count is kept as its logarithm in a byte, to 5 %, and a latency as one of six
 * steps a decade. So this takes TOP_SAMPLES * TOP_STEPS bytes, however many IOs there are. Pure.
 */

#define TOP_SAMPLES 240		/* intervals: four minutes at one a second */
#define TOP_DECADE 6		/* steps a decade */
#define TOP_FIRST 2		/* 10^2 ns; anything below counts in the first step */
#define TOP_DECADES 9		/* to 10^11 ns; anything above counts in the last step */
#define TOP_STEPS (TOP_DECADES * TOP_DECADE)

struct top_heat {
	u8 level[TOP_SAMPLES][TOP_STEPS];
};

/* Tables made once for the run's scale: the step of each histogram cell, and the count that a level stands for. */
struct top_scale {
	u8 step[BLKLAT_CELLS_MAX];
	double ios[256];
};

/* The shade for @ios IOs if the maximum is @most: 0 for none, else 1 to @shades, logarithmic. */
u32 top_shade(double ios, double most, u32 shades);

#define TOP_ALL_OPS BLKLAT_OPS		/* in place of an op */
#define TOP_FILTER_MAX 32
#define TOP_NONE UINT32_MAX

enum top_sort { TOP_BY_P99, TOP_BY_OLDEST, TOP_BY_DEPTH, TOP_BY_IOPS, TOP_BY_MBPS, TOP_BY_NAME, TOP_SORTS };

/* Their names on the screen. */
extern const char *const top_sort_names[TOP_SORTS];

enum { TOP_P50, TOP_P99, TOP_P999, TOP_PERCENTILES };

/* What is below the state of the selected device. */
enum top_view { TOP_MAP, TOP_SLOW_IOS, TOP_PARTS };

struct top_figures {
	u64 ios;		/* 0: all are 0 */
	u64 errors;
	double iops, bytes_per_s;
	u64 sum_ns;		/* of the latencies */
	double percentile_ns[TOP_PERCENTILES];
	u64 max_ns;
	struct shares shares;	/* of the device, whichever stage this is; no bios: not known */
};

struct top_item {
	const struct watch *watch;
	const struct part *part;	/* the figures' part; by the time they are shown, the watch's may be another */
	u32 parts;			/* this many items behind it are its parts */
	bool viewed;			/* it stands for its device at the chosen stage */
	bool gone;
	bool idle;			/* no IO completed and none is in flight */
	struct top_figures figures[BLKLAT_OPS + 1];
	u64 in_flight, oldest_ns;
	double depth;
	bool busy_known;		/* see struct frame */
	double busy;
	u64 lost;			/* since the capture began */
	struct health health;
	s64 acknowledged_ns;		/* the illness that began then is not marked any more; 0: none */
	struct top_heat *heat[BLKLAT_OPS];	/* NULL: no such IO yet */
	struct top_slow *slow;		/* of a whole; NULL: none yet */
};

struct top {
	const struct run_info *run;
	u32 n;
	struct top_item *items;		/* one for each watch that there was, in the run's order */
	u32 stages;			/* bit set, over all watches */
	bool divided;			/* they have parts */
	bool busy_known;		/* of a watch, so far */
	u32 stage, op;			/* chosen; op may be TOP_ALL_OPS */
	enum top_sort sort;
	char filter[TOP_FILTER_MAX];	/* part of a name; "": all */
	bool typing;			/* the filter */
	bool paused, help;
	enum top_view view;
	bool over;			/* a replay has ended */
	/* The lines in the chosen order. Idle devices come behind the n_lines others, by name. */
	u32 *order;
	u32 n_lines, n_idle;
	u32 chosen;			/* item that the user selected; TOP_NONE selects the first line */
	u32 first, room;		/* first line shown, and how many fit */
	u64 samples;			/* intervals so far, including those not shown */
	u64 shown;			/* samples when the figures were made */
	u64 skipped;
	struct health_host host;	/* of the interval shown */
	s64 end_ns[TOP_SAMPLES];	/* wall clock of each interval, by its number */
	double interval_s;		/* of the last */
	struct top_scale scale;
	struct op_frame all;		/* all ops of the item being filled in */
};

/* Returns 0 or -ENOMEM. @run is borrowed. */
int top_init(struct top *t, const struct run_info *run);
void top_uninit(struct top *t);

/* Takes an interval. While paused, it only goes into the history. Returns 0 or -ENOMEM. */
int top_take(struct top *t, const struct frames *fs);

/* Sorts, filters and folds the lines again. To be called after each interval and each key. */
void top_arrange(struct top *t);

/* Shows @stage from now on. */
void top_look_at(struct top *t, enum blklat_stage stage);

/* The selected item; NULL if there are no lines. */
struct top_item *top_selected(const struct top *t);

/*
 * The part of @whole after @after that had IOs of the chosen op; begin with NULL. Cgroups come in the order of the
 * time that their IOs took, all others in the order of their parts. NULL: there is none left.
 */
const struct top_item *top_next_part(const struct top *t, const struct top_item *whole, const struct top_item *after);

/* The share of the time that all IOs of the device took which those of a part and the chosen op did. */
double top_share_of_time(const struct top *t, const struct top_item *whole, const struct top_item *part);

/* Is it to be marked as sick? */
bool top_marks(const struct top_item *item);

/* The line that it is on. */
u32 top_selected_line(const struct top *t);

/* Adds to @ret the IOs of the chosen op in interval @sample, by step. */
void top_heat_of(const struct top *t, const struct top_item *item, u64 sample, double ret[TOP_STEPS]);

/* The oldest interval in the history. */
u64 top_first_sample(const struct top *t);

/* Keys that are not characters. */
enum { TOP_UP = 0x1000, TOP_DOWN, TOP_PAGE_UP, TOP_PAGE_DOWN, TOP_HOME, TOP_END, TOP_ENTER, TOP_ESCAPE, TOP_BACKSPACE };

/* Handles a key. Returns false if the user wants to leave. The lines are arranged when it returns. */
bool top_key(struct top *t, int key);

/* The text of the help screen: a line for each key, ended by NULL. */
extern const char *const top_help[];

#endif
