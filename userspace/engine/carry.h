/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a capture takes over from the one before it, which has counted the same devices with fewer slots: numbers to be
 * added to all that it reads, so that nothing begins again and every IO is in one of the two.
 *
 * Both see the same events for a while, and each event changes a cell of the one right after the same cell of the
 * other. So how far two cells are apart does not depend on when one looks, and is known exactly under any load:
 * for starts, slot by slot, for the accounts, for bytes and errors, and for the number of IOs.
 *
 * Bins are not like that, since the two look at the clock one after the other. So all that an end counts is taken at one
 * look, each row at a moment at which nothing changes in it. The row's CPU may be held up in the middle of an end just then,
 * and would count that IO, or the rest of it, in the second capture, besides what was taken of the first. But this shows: the
 * two are further apart than otherwise, in IOs, bytes, errors or time. They are never closer, since the second one counts
 * an IO when the first one is done with it. So there are some looks, and that at which they are closest is taken.
 * An IO that ends after the look is the second one's alone, which has seen its start.
 *
 * Three things remain. Where IOs end so fast, on so many CPUs, that no look is of one moment, one that ends within is in
 * neither; its start is, so it shows as lost, and is never missed in silence. And what a CPU is in the middle of at every
 * look, for 26 ms, is counted twice. For the bytes of an IO that has not left its slot two looks at once are enough, if
 * others end meanwhile that the first capture has no slots for: nobody knows how many bytes those are. An end that was missed is
 * told as lost without its reason, if at one of the looks a later end of its slot is just between its two stores there.
 *
 * An IO whose tag was beyond the slots of the first capture is lost if it had ended by then. If not, the second one
 * counts it as any other.
 */
#ifndef ENGINE_CARRY_H
#define ENGINE_CARRY_H

#include "engine/kernel_capture.h"

/* What carry_over() saw at a look: how far the first capture is ahead of the second one. */
struct carry_look {
	u64 moved;		/* rows, and IOs of those that ended, that changed during the look; 0: it is of one moment */
	u64 ended;		/* IOs whose tags were beyond the slots of the first: only the second one counts them */
	s64 ios;
	s64 sums;		/* bytes and errors */
	s64 sum_ns;		/* varies a bit, as the clock is read twice */
	u64 took_ns;
	bool again;		/* and a later one saw the same */
};

struct carried {
	const struct kernel_capture *of;	/* the first capture */
	u32 from, to;				/* number of the watch in the two captures */
	const struct watch_counts *read_from, *read_to;		/* what was read of it last, with what each carries itself */
	/* In: to be added to what is read of the first, out: of the second. Numbers may wrap around 0. */
	struct watch_counts *carry;
	/* For carry_over(), where it is a whole: the least of all looks, and that which is taken. */
	s64 started_apart, overwritten_apart, lost_apart, account_apart[BLKLAT_ACCOUNTS];
	struct carry_look look;
	bool rests;		/* one was enough */
};

/*
 * Adds to each carry; @list has watches of @to, each whole followed by its parts, which may have been those of several captures.
 * A part's carry has ops alone, and the whole's has those of its parts once more, as in all that is read. Takes some
 * milliseconds where IOs are in flight. *@ret_gap_ns is how long the look took at which a watch moved all the same, the longest
 * of them; 0: none did, so nothing is lost. Returns 0, or -ENOMEM with nothing done.
 */
int carry_over(const struct kernel_capture *to, struct carried *list, u32 n, u64 *ret_gap_ns);

/*
 * IOs of a watch that are in flight and for whose tags only the second capture has slots. The first one has counted them
 * as lost, which they are not if it takes over in time.
 */
u64 carry_waiting(const struct kernel_capture *from, u32 i, const struct kernel_capture *to, u32 j);

/* @w += @carry */
void carry_add(struct watch_counts *w, const struct watch_counts *carry);

/*
 * What is told never becomes less: tags beyond the slots that were @told as lost stay lost. @now: how many the second capture
 * has counted.
 */
void carry_keep_told(u64 told, u64 now, struct watch_counts *carry);

#endif
