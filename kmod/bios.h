/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bios in flight at stage total, by address, and whether they still are at stage wait. The table is bounded and
 * lock-free: an entry is claimed by one compare-and-exchange, and only the end of its bio frees it. So any context
 * may use it.
 */
#ifndef KMOD_BIOS_H
#define KMOD_BIOS_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "blklat/abi.h"

struct blklat_bio_table;

struct blklat_bio {
	u64 ns;			/* start, CLOCK_MONOTONIC; of a piece: the address of its bio */
	u32 bytes;
	atomic_t pieces;	/* split off and not ended yet, see blklat_bio_split() */
	s16 error;		/* of a piece that failed */
	u8 op;
	bool held;		/* a limit may hold it back; block_bio_queue is yet to come */
	bool after_idle[2];	/* for each of the two watches: queued after a pause */
	bool waits[2];		/* likewise: stage wait, which is the next whole's (abi.h), has not ended */
	/* number + 1 of the whole device's and of the partition's watch, or of its part; 0: none */
	u32 watch[2];
};

/* Has room for at least @max_bios (at least 1). Each watch has @parts. Returns 0 or -ENOMEM. */
int blklat_bio_table_new(u32 max_bios, u32 parts, struct blklat_bio_table **ret);
void blklat_bio_table_free(struct blklat_bio_table *t);

/*
 * Notes a bio's start. Returns 0, -ENOSPC, or -EALREADY: the bio was held back, for the same watches, and keeps its
 * time and its parts. -EEXIST: there is a start for this address already, so its end was missed.
 */
int blklat_bio_add(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start);

/* Replaces that start, which is returned in @missed. */
void blklat_bio_replace(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start,
			struct blklat_bio *missed);

/* The same for a bio that may be held back. False: there is no room, or the address has an entry already. */
bool blklat_bio_hold(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start);

/*
 * @piece was split off @bio: if that is in the table, it ends when all of its pieces and what remains of it have
 * ended. A piece may be split again. Does nothing if @piece is in the table already, or if there is no room for it.
 */
void blklat_bio_split(struct blklat_bio_table *t, const void *piece, const void *bio);

/*
 * The bio *@bio, or a piece, ends with @error: by itself (@alone), which is after all of its pieces, or with a
 * request. Returns whether a bio ends for good, and takes it out: this one, or the one of which this was the last
 * piece, which *@bio is then. ret->error is @error, or that of a piece.
 */
bool blklat_bio_take(struct blklat_bio_table *t, const void **bio, int error, bool alone, struct blklat_bio *ret);

/*
 * The bio has a request, or was merged into one. Returns whether it is in the table and waited; then it no longer
 * does, and @ret is its start.
 */
bool blklat_bio_got(struct blklat_bio_table *t, const void *bio, struct blklat_bio *ret);

/* Counts the bios of each of @watches. Bios that come or go in the meantime may be counted or not. */
void blklat_bio_count(const struct blklat_bio_table *t, struct blklat_bio_count *counts, u32 watches);

#endif
