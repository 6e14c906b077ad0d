/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of targets, which changes while probes read it without a lock. Only one caller changes it, apart from
 * blklat_target_gone().
 *
 * A target's fields are written while no probe can find it, or while a stage is closed, and it is shown, or the stage
 * opened, a grace period later. So a probe that finds it sees all of them, without a barrier. They change again a
 * grace period after it was hidden, or the stage closed.
 */
#ifndef KMOD_TARGETS_H
#define KMOD_TARGETS_H

#include "session.h"

/* A watch and its targets. */
struct blklat_entry {
	u32 watch;				/* number + 1 of the whole */
	u32 stage;
	u32 n;
	const void *key[2];			/* of a watch that is added */
	struct blklat_target *target[2];
};

/* Makes room for @wholes watches. Returns 0 or -ENOMEM. */
int blklat_targets_new(struct blklat_session *s, u32 wholes);

/* Whether a session that has started can take this watch of @d. Returns 0 or an errno, as abi.h says. */
int blklat_entry_check(struct blklat_session *s, const struct blklat_watch *watch, const struct blklat_device *d);

/*
 * Gives the watch its targets, which no probe sees yet, and prepares the session for it. Returns 0 or an errno, as
 * abi.h says; then nothing has changed.
 */
int blklat_entry_add(struct blklat_session *s, const struct blklat_watch *watch, const struct blklat_device *d,
		     struct blklat_entry *ret);

/* A grace period later: probes see it. A target of the same address whose device was removed is not found any more. */
void blklat_entry_show(struct blklat_session *s, const struct blklat_entry *e);

/* Finds the whole with a number. Returns 0 or -EINVAL. */
int blklat_entry_find(struct blklat_session *s, u32 number, struct blklat_entry *ret);

/*
 * Also for a watch that was not shown. On return, no probe sees it, and its number is free; bios in flight still end.
 * Sleeps.
 */
void blklat_entry_remove(struct blklat_session *s, const struct blklat_entry *e);

/* Returns 0 or an errno, as abi.h says. Sleeps. */
int blklat_entry_move(struct blklat_session *s, const struct blklat_entry *e, const struct blklat_move *move);

#endif
