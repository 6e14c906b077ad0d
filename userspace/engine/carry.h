/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a capture takes over from the one before it, which has counted the same devices with fewer slots: numbers to be
 * added to all that it reads, so that nothing begins again and every IO is in one of the two.
 *
 * Both see the same events for a while, and each event changes a cell of the one right after the same cell of the
 * other. So how far two cells are apart does not depend on when one looks, and is known exactly under any load:
 * for starts, slot by slot, and for the accounts. Bins are not like that, since the two look at the clock one after the
 * other; they are cut, each watch's in one go. An IO that ends between the looks at its two cells is in neither: its
 * start is, so it shows as lost, and is never missed in silence.
 *
 * An IO whose tag was beyond the slots of the first capture is lost if it had ended by then. If not, the second one
 * counts it as any other.
 */
#ifndef ENGINE_CARRY_H
#define ENGINE_CARRY_H

#include "engine/kernel_capture.h"

struct carried {
	u32 from, to;				/* number of the watch in the two captures */
	const struct watch_counts *read_from, *read_to;		/* what was read of it last */
	/* In: to be added to what is read of the first, out: of the second. Numbers may wrap around 0. */
	struct watch_counts *carry;
	s64 started_apart, lost_apart, account_apart[BLKLAT_ACCOUNTS];	/* for carry_over() */
};

/*
 * Fills each carry. Takes some milliseconds. *@ret_gap_ns is how long the cut of a watch took, the longest of them.
 * Returns 0, or -ENOMEM with nothing done.
 */
int carry_over(const struct kernel_capture *from, const struct kernel_capture *to, struct carried *list, u32 n,
	       u64 *ret_gap_ns);

/*
 * IOs of a watch that are in flight and for whose tags only the second capture has slots. The first one has counted them
 * as lost, which they are not if it takes over in time.
 */
u64 carry_waiting(const struct kernel_capture *from, u32 i, const struct kernel_capture *to, u32 j);

/* @w += @carry */
void carry_add(struct watch_counts *w, const struct watch_counts *carry);

#endif
