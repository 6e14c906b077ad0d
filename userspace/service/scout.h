/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that looks for new devices and opens captures of them. Opening takes a good part of a
 * second, which must not delay an interval. Captures that have ended are closed there, too.
 */
#ifndef SERVICE_SCOUT_H
#define SERVICE_SCOUT_H

#include "core/intervals.h"

/*
 * One of the captures that a service has open at the same time, with what was last read from it. Each
 * measures different devices, so none is disturbed when another begins or ends.
 */

struct member {
	struct member *next;		/* for the owner's lists */
	struct device_table devices;	/* the watches' devices; owned */
	struct capture *capture;
	struct intervals intervals;
	u32 present;			/* watches whose device is still there */
	u32 turn;			/* member_outgrown()'s */
};

/*
 * Opens a capture of @cfg->watches. Takes ownership of @devices, which holds their devices, even if it
 * fails. Nothing is read yet: a live engine counts from 0 since it was opened, and the first interval
 * begins there. Returns 0, or the engine's error.
 */
int member_open(const struct capture_ops *engine, struct capture_config *cfg, struct device_table *devices,
		struct member **ret, struct problem *p);

/* Reads the capture; its frames then cover the time since the previous read. Returns the engine's result. */
int member_read(struct member *m, const struct percentiles *ps, struct problem *p);

/*
 * A device that has more tags than slots, or NULL. Checks each device that lost IOs for that reason in
 * the last interval, and one more pair of device and stage in turn.
 */
const struct device *member_outgrown(struct member *m);

void member_close(struct member *m);	/* takes NULL */

/* A device that is watched already. */
struct known {
	char name[DEVICE_NAME_MAX];
	u32 major, minor;
	enum blklat_stage stage;
};

struct scout_config {
	const struct capture_ops *engine;
	struct capture_config capture;	/* devices and watches are the scout's to fill */
	/*
	 * Returns the watches to make for the devices in @t, in malloc()ed memory; none is not an
	 * error. Returns 0 or a negative errno and a sentence. Called in the scout's thread.
	 */
	int (*find)(void *into, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p);
	/* Called when the thread begins and ends work that needs privileges. */
	void (*privileged)(void *into, bool begins);
	void *into;
};

/* Looks once, in the calling thread. If there is nothing to watch, it succeeds with *ret set to NULL. */
int scout_open(const struct scout_config *cfg, const struct known *known, u32 n_known, struct member **ret,
	       struct problem *p);

struct scout;

/* The result of a look. */
struct scouted {
	struct member *member;		/* NULL: there was nothing new */
	int err;			/* the look failed; see the problem */
	bool anew;			/* it measures all devices and is to replace all open captures */
	struct problem problem;
};

/* @cfg is borrowed. Returns 0 or a negative errno. */
int scout_start(const struct scout_config *cfg, struct scout **ret);

/* Waits for a look in progress. Closes the members left to it, and any that it found. Takes NULL. */
void scout_stop(struct scout *s);

/* Becomes readable when a look is done; scout_take() makes it unreadable. */
int scout_fd(const struct scout *s);

/*
 * Asks for a look for devices other than @known, which is copied. With @anew it opens a capture of
 * everything instead. Returns false, and does nothing, while a look
 * is in progress or its result was not taken yet.
 */
bool scout_look(struct scout *s, const struct known *known, u32 n_known, bool anew);

/* Sets the memory that new captures may take. To be called before a look. */
void scout_limit(struct scout *s, u64 max_memory);

/* Returns whether a look was done; its result is the caller's. */
bool scout_take(struct scout *s, struct scouted *ret);

/* Has the scout's thread close a member. */
void scout_close(struct scout *s, struct member *m);

#endif
