/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bios in flight at stage total, by address. The table is bounded and lock-free: an entry is
 * claimed by one compare-and-exchange, and only the end of its bio frees it. So any context may use it.
 */
#ifndef KMOD_BIOS_H
#define KMOD_BIOS_H

#include <linux/types.h>

#include "blklat/abi.h"

struct blklat_bio_table;

struct blklat_bio {
	u64 ns;			/* start, CLOCK_MONOTONIC */
	u32 bytes;
	u8 op;
	bool held;		/* a limit may hold it back; block_bio_queue is yet to come */
	bool after_idle[2];	/* for each of the two watches: queued after a pause */
	u32 watch[2];		/* number + 1 of the whole device's and of the partition's watch, or of its part; 0: none */
};

/* Has room for at least @max_bios (at least 1). Each watch has @parts. Returns 0 or -ENOMEM. */
int blklat_bio_table_new(u32 max_bios, u32 parts, struct blklat_bio_table **ret);
void blklat_bio_table_free(struct blklat_bio_table *t);

/*
 * Notes a bio's start. Returns 0, -ENOSPC, or -EALREADY: the bio was held back, for the same watches,
 * and keeps its time and its parts. If there is a start for this address already, its end was missed:
 * the old start is replaced and returned in @missed. Otherwise missed->ns is 0.
 */
int blklat_bio_add(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start,
		   struct blklat_bio *missed);

/* The same for a bio that may be held back. False: there is no room, or the address has an entry already. */
bool blklat_bio_hold(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start);

/* Takes a bio out. False: it was not in the table. */
bool blklat_bio_take(struct blklat_bio_table *t, const void *bio, struct blklat_bio *ret);

/* Counts the bios of each of @watches. Bios that come or go in the meantime may be counted or not. */
void blklat_bio_count(const struct blklat_bio_table *t, struct blklat_bio_count *counts, u32 watches);

#endif
