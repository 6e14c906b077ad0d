/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A capture that lasts while devices come and go, interval by interval. A device that comes is added to the open
 * capture. Only if that has no room, or not what the device needs, is another capture opened in its place, with more
 * room.
 */
#ifndef CORE_MONITOR_H
#define CORE_MONITOR_H

#include "core/intervals.h"
#include "core/sink.h"

struct monitor_hooks {
	void (*came)(void *into, const struct device *d);
	/* As struct watch_counts has it. */
	void (*gone)(void *into, const struct device *d, bool replaced);
	/* A device had more tags than slots and was given more. */
	void (*outgrown)(void *into, const struct device *d);
	/* Another capture was opened, because of @why. IOs that ended within @gap_ns may be missing. */
	void (*reopened)(void *into, const char *why, u64 gap_ns);
	/* Looking for devices, or watching one, failed. It is tried again later; each failure is told once. */
	void (*failed)(void *into, const struct problem *p);
	/* Work that needs privileges begins and ends. */
	void (*privileged)(void *into, bool begins);
	void *into;
};

struct monitor_config {
	const struct capture_ops *engine;
	/* its devices and watches are the monitor's to fill; of a replay, all is ready */
	struct capture_config capture;
	const char *root;		/* of the tree of sysfs, see device_table_read(); NULL: "" */
	const char *node;		/* of Kubernetes, see struct device_table; NULL: not asked for */
	double interval_s;		/* as asked for */
	/* nobody else refers to devices and watches that are gone: their places may be used again */
	bool reuse;
	/*
	 * Returns the watches to make for the devices in @t, in malloc()ed memory; none is not an error. Returns 0 or
	 * a negative errno and a sentence. Called again whenever devices may have come.
	 */
	int (*find)(void *into, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p);
	void *find_into;
	struct monitor_hooks hooks;
};

struct monitor {
	const struct monitor_config *cfg;
	/* all that were there at any time and are still in use; its entries never move */
	struct device_table devices;
	struct capture *capture;	/* NULL: there is nothing to watch yet */
	struct intervals intervals;	/* its frames have no watches as long as there is no capture */
	/* the last interval without devices that were gone before it: shallow copies, whose watches are those of all */
	struct frames shown;
	u32 room;			/* of these */
	struct monitor_next {		/* the capture that replaces it */
		struct background *opening;	/* it is being opened; no device is added meanwhile; NULL: it is not */
		struct background *closing;	/* the one that it has replaced; NULL: none */
		struct capture *capture;	/* NULL: none */
		struct intervals intervals;
		bool begun;			/* the next interval is its own */
	} next;
	struct watch *all;		/* [number]: every watch that there was; NULL if places are used again */
	u32 n_all, most;		/* so far; and that there can be */
	/* how much more room than usual the last capture has, see struct capture_config */
	u32 doubled;
	char why[sizeof(((struct problem *)0)->text)];	/* another capture is wanted; "": it is not */
	char told[sizeof(((struct problem *)0)->text)];	/* the last failure */
	u64 opened_ns, looked_ns;	/* when the capture was opened, and devices were looked for */
	u64 look_ns, early_ns, glance_ns, reopen_ns;	/* what is due when */
};

/*
 * Opens the capture of what there is to watch. @cfg is borrowed. Nothing is read yet, see intervals_init(). Returns
 * 0, or a negative errno and a sentence; monitor_close() has to be called in both cases, and works on all 0.
 */
int monitor_open(struct monitor *m, const struct monitor_config *cfg, struct problem *p);
void monitor_close(struct monitor *m);

/* What a sink is told at first, see run_info_of(); unless places are used again. */
struct run_info monitor_run_info(const struct monitor *m, double interval_s);

/* What the kernel has announced. */
enum monitor_news {
	MONITOR_NO_NEWS,
	MONITOR_DEVICES,		/* of block devices */
	MONITOR_DEVICES_GONE,		/* one may have gone, see uevents_take() */
};

/*
 * To be called between intervals: when the kernel has announced something, and at monitor_due_ns() (CLOCK_MONOTONIC;
 * UINT64_MAX: never). Looks for devices that have come, if the capture follows them; does early looks, see
 * capture_early_look(), and nine glances in an interval, see live_ops.glance; opens another capture if that is
 * wanted. Tells failures by the hooks. What takes long is done by a thread.
 */
void monitor_tend(struct monitor *m, enum monitor_news news);
u64 monitor_due_ns(const struct monitor *m);

/*
 * Another capture has counted beside the first for long enough. It replaces that when the interval ends, so that is
 * to end now.
 */
bool monitor_ends_interval(const struct monitor *m);

/* Looks for devices that have come, at once or, if another capture is being opened, after that. */
void monitor_look(struct monitor *m);

/*
 * Ends the interval, see intervals_next(), and sets what is shown of it. A device that has outgrown its slots is told,
 * and perhaps has another capture opened by the next monitor_tend(). The interval after the one that
 * monitor_ends_interval() is that of the new one.
 */
int monitor_next(struct monitor *m, const struct percentiles *ps, struct problem *p);

/* Tells by the hooks which devices went away in this interval, each once. Returns how many watches are left. */
u32 monitor_tell_gone(struct monitor *m);

#endif
