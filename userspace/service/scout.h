/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks for devices that appeared, and opens captures of them, in a thread of its own: that takes a good
 * part of a second, and no interval is to be late for it. Captures that are done end there too.
 */
#ifndef SERVICE_SCOUT_H
#define SERVICE_SCOUT_H

#include "service/member.h"

/* Of a device that is watched already. */
struct known {
	char name[DEVICE_NAME_MAX];
	u32 major, minor;
	enum blklat_stage stage;
};

struct scout_config {
	const struct capture_ops *engine;
	struct capture_config capture;	/* devices and watches are the scout's to fill */
	/*
	 * Gives what is to be watched of the devices in @t, of malloc(); none is no failure. Returns 0 or a
	 * negative errno and a sentence. Called in the scout's thread.
	 */
	int (*find)(void *into, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p);
	/* The thread begins and ends what takes privileges. */
	void (*privileged)(void *into, bool begins);
	void *into;
};

/* Looks once, in the calling thread. No watch is no failure: *ret is then NULL. */
int scout_open(const struct scout_config *cfg, const struct known *known, u32 n_known, struct member **ret,
	       struct problem *p);

struct scout;

/* What came of a look. */
struct scouted {
	struct member *member;		/* NULL: there was nothing new */
	int err;			/* the look failed; see the problem */
	bool anew;			/* it measures all devices, in place of what is open */
	struct problem problem;
};

/* @cfg is borrowed. Returns 0 or a negative errno. */
int scout_start(const struct scout_config *cfg, struct scout **ret);

/* Waits for a look under way, closes what was left to it and what it found. Takes NULL. */
void scout_stop(struct scout *s);

/* Becomes readable when a look is done; scout_take() makes it unreadable. */
int scout_fd(const struct scout *s);

/*
 * Has it look besides @known, copied; with @anew it opens a capture of everything, at the resolution that
 * then fits. Returns false, and does nothing, while a look is under way or its result not taken.
 */
bool scout_look(struct scout *s, const struct known *known, u32 n_known, bool anew);

/* The memory that new captures may take, and the scale they must have (-1: any). Before a look. */
void scout_limit(struct scout *s, u64 max_memory, int scale);

/* Returns whether a look was done; its result is the caller's. */
bool scout_take(struct scout *s, struct scouted *ret);

/* Leaves a member to be closed. */
void scout_close(struct scout *s, struct member *m);

#endif
