/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a capture takes over from the previous one, which has counted the same devices with fewer slots:
 * numbers to be added to everything that it reads, so that no count begins again and every IO is in
 * exactly one of the two.
 *
 * Both see the same events for a while, and each event changes a cell of one right after the same cell
 * of the other. So the difference between two cells does not depend on the moment of the look, and is
 * known exactly under any load: for starts, slot by slot, for the accounts, for bytes and errors, and
 * for the number of IOs.
 *
 * Bins are different, since the two captures read the clock one after the other. So everything that an
 * end counts is taken in one look, a CPU's own series (own.h) at a moment at which nothing changes in them, and the shared
 * ones, with those that a CPU has in only one of the two, as well. At that moment a CPU may be held up in the middle of an end. It would later count that IO, or the rest of
 * it, in the second capture, although it was already taken from the first. But this shows: the two
 * captures are further apart than otherwise, in IOs, bytes, errors or time. They are never closer,
 * since the second one counts an IO only when the first one is done with it. So there are several
 * looks, and the one at which they are closest is taken. An IO that ends after the look counts in the
 * second capture alone, which has seen its start.
 *
 * Five inaccuracies remain:
 * - If IOs end so fast, on so many CPUs, that no look is of one moment, an IO that ends during the look
 *   is in neither capture. Its start is, so it is reported as lost.
 * - If IOs for which the first capture has no slots start so fast that no look is of one moment, some of
 *   those that start during the look count twice as lost.
 * - An IO is counted twice if a CPU is in the middle of its end at every look, for 26 ms.
 * - For the bytes of an IO that has not left its slot yet, two such looks are enough if IOs end at the same
 *   time for which the first capture has no slots, since it is not known how many bytes those have.
 * - A missed end is reported as lost without its reason if, at one of the looks, a later end of its
 *   slot is just between its two stores there.
 *
 * An IO whose tag was beyond the slots of the first capture is lost if it had ended by then. If not,
 * the second capture counts it like any other.
 */
#ifndef ENGINE_CARRY_H
#define ENGINE_CARRY_H

#include "engine/kernel_capture.h"

/* The result of one look by carry_over(): how far the first capture is ahead of the second. */
struct carry_look {
	u64 moved;		/* groups of series that changed, and IOs added to ended, during the look; 0: it is of one moment */
	u64 ended;		/* IOs whose tags were beyond the slots of the first: only the second one counts them */
	s64 ios;
	s64 sums;		/* bytes and errors */
	s64 sum_ns;		/* varies a bit, as the clock is read twice */
	u64 took_ns;
	bool again;		/* a later look saw the same */
};

struct carried {
	const struct kernel_capture *of;	/* the first capture */
	u32 from, to;				/* number of the watch in each capture */
	const struct watch_counts *read_from, *read_to;		/* its last reads, including each capture's own carry */
	/* In: to be added to reads of the first; out: to those of the second. Numbers may wrap around 0. */
	struct watch_counts *carry;
	/* For carry_over(), in wholes: the least differences of all looks, and the look that is taken. */
	s64 started_apart, overwritten_apart, lost_apart, account_apart[BLKLAT_ACCOUNTS];
	struct carry_look look;
	bool rests;		/* one look was enough */
};

/*
 * Adds to each carry. @list has watches of @to, each whole followed by its parts; the previous captures may have been
 * several. A part's carry only has ops; the whole's includes those of its parts, as in every read. Takes 26 ms or more
 * if IOs are in flight. *@ret_gap_ns is the length of the longest look during which a watch still moved; 0: none did,
 * so nothing is lost. Returns 0, or -ENOMEM with nothing done.
 */
int carry_over(const struct kernel_capture *to, struct carried *list, u32 n, u64 *ret_gap_ns);

/*
 * IOs of a watch that are in flight with tags for which only the second capture has slots. The first
 * one has counted them as lost, which they are not if the second takes over in time.
 */
u64 carry_waiting(const struct kernel_capture *from, u32 i, const struct kernel_capture *to, u32 j);

/* @w += @carry */
void carry_add(struct watch_counts *w, const struct watch_counts *carry);

/*
 * Reported losses never decrease: IOs with tags beyond the slots that were @told as lost stay lost.
 * @now: how many of them the second capture has counted.
 */
void carry_keep_told(u64 told, u64 now, struct watch_counts *carry);

#endif
