/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks that the account balances: started = completed + in flight + lost. Pure. */
#ifndef CORE_ACCOUNTING_H
#define CORE_ACCOUNTING_H

#include "core/snapshot.h"

enum lost_reason {
	LOST_NO_START,		/* completed without a start */
	LOST_OVERWRITTEN,	/* tag started again before it completed */
	LOST_TAG_RANGE,		/* tag beyond the slots */
	LOST_TABLE_FULL,	/* no room in the table of bios */
	LOST_RECURSION,		/* no_start or overwritten, explained by a skipped program run */
	LOST_UNEXPLAINED,	/* the remaining difference: too few IOs in the bins, or too many */
	LOST_REASONS,
};

/* "no_start", "overwritten", "tag_range", "table_full", "recursion", "unexplained" */
extern const char *const lost_names[LOST_REASONS];

/* For a sentence, after a number of IOs: "whose completion was not seen". */
extern const char *const lost_words[LOST_REASONS];

/*
 * Cumulative since the first capture of the run began. As IOs move during the read,
 *
 *    started = completed + in_flight + lost   holds within +-moved, and exactly if nothing moved.
 */
struct accounting {
	u64 started;		/* start events - requeued + IOs without a slot or a seen start */
	u64 completed;		/* sum of the bins of all ops */
	u64 in_flight;
	u64 lost;		/* sum of lost_by */
	u64 lost_by[LOST_REASONS];
	u64 requeued;
	u64 moved;		/* IOs that completed while the snapshot was read: the bound */
	u64 before;		/* completed, but started before the capture: not included above */
	u64 unissued;		/* failed without reaching the device: not included above */
	u64 skipped;		/* program runs that the kernel skipped, for all watches: see struct snapshot */
	u64 skipped_unexplained;	/* of these, runs that explain no loss; set by frames_between() */
	u64 kernel_ios;		/* counted by the kernel's statistics in the same time */
	u64 kernel_in_flight;	/* in flight in the same statistics, read after our own counts */
	bool kernel_known;
	/*
	 * How many of the completed IOs the kernel may not count: at most all of op other, which includes passthrough
	 * commands. Few kernels count those; with queue/iostats_passthrough, only those with data, and only of
	 * drivers that name the device, as nvme does (110234da18ab, in 6.13).
	 */
	u64 kernel_leaves_out;
};

/*
 * How many more IOs the kernel's statistics have than were completed (negative: fewer), if nothing moved. 0 if the
 * two agree, or differ by no more than the IOs that only one of them may count: those in flight at the start or at
 * the end, lost, failed before they were issued, or left out by the kernel.
 */
s64 accounting_kernel_gap(const struct accounting *a);

/*
 * Has the kernel counted the completion of every IO that seems to be in flight, or seemed so until it was lost, and
 * has it none in flight? Then completions were missed: an IO that hangs is in flight for the kernel, too.
 */
bool accounting_ends_missed(const struct accounting *a);

/* Did nothing move while @w was read, that is, do the figures before and after the bins agree? */
bool accounting_still(const struct watch_counts *w);

/* Returns how many IOs are in the bins. */
u64 accounting_completed(const struct watch_counts *w);

/*
 * How many IOs the bins of @w lack, judged by the slots read before them (negative: they have too many). If nothing
 * moved and this is not 0, a CPU was held up between freeing a slot and counting in a bin, or an event was missed.
 */
s64 accounting_gap(const struct watch_counts *w);

/*
 * Subtracts from waited_ns the ages of IOs that completed while @w and its @parts parts were read, as far as they are
 * in the bins, where their time is counted. On entry waited_ns is the sum of ages just before the bins were read, and
 * waited_after_ns just after, both at the snapshot's time, so that IOs that began later have no age.
 */
void accounting_settle_ages(struct watch_counts *w, u32 parts);

/*
 * Makes the account of watch @i of @s. @cpus is the slack: on each CPU one program may be between freeing a slot and
 * adding to a bin. *@skipped_left is how many of the s->skipped runs can still explain a loss; each explains one loss
 * on one device. It falls by as many as this watch needs. Those left after the last watch have no known consequence.
 */
void accounting_make(const struct snapshot *s, u32 i, u32 cpus, u64 *skipped_left, struct accounting *ret);

/*
 * Subtracts from @a what the same watch had counted in @before. IOs in flight at @before count as started, so the
 * difference balances if both do. The two functions about the kernel's count must only be used on accounts that begin
 * with the capture.
 */
void accounting_take_off(struct accounting *a, const struct accounting *before);

#endif
