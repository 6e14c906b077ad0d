// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every start counted in a slot has one of four outcomes: the IO completes (and is in a bin), is requeued, is
 * overwritten, or is still there. So, as long as no IO moves,
 *
 *   completed = started events - requeued - overwritten - in flight
 *
 * Slots are read before and after the bins, which gives two bounds for what the bins may show. IOs that never had a
 * slot are added on both sides.
 */
#include "core/accounting.h"

#include <assert.h>

#include "core/kinds.h"

const char *const lost_names[LOST_REASONS] = { LOSSES(KIND_NAME) };
const char *const lost_words[LOST_REASONS] = { LOSSES(KIND_MEANING) };

u64 accounting_completed(const struct watch_counts *w)
{
	u64 n = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		n += op_counts_ios(&w->ops[op]);
	return n;
}

/* The number of completed IOs that one reading of the slots implies. Negative if requeues were counted after it. */
static s64 expected(const struct watch_counts *w, u64 started, u64 in_flight)
{
	return started - in_flight - w->accounts[BLKLAT_REQUEUED] - w->accounts[BLKLAT_OVERWRITTEN];
}

bool accounting_still(const struct watch_counts *w)
{
	return w->started == w->started_after && w->in_flight == w->in_flight_after;
}

s64 accounting_gap(const struct watch_counts *w)
{
	return expected(w, w->started, w->in_flight) - (s64)accounting_completed(w);
}

/*
 * If all IOs that completed during the read are in the bins, or none, the ages are exact, even for a burst of IOs
 * that hung for seconds. Otherwise it is unknown which are, and each counts with the same share.
 */
void accounting_settle_ages(struct watch_counts *w, u32 parts)
{
	s64 ended = expected(w, w->started_after, w->in_flight_after) - expected(w, w->started, w->in_flight);
	s64 in_bins = -accounting_gap(w);
	double share;

	if (ended <= 0 || in_bins <= 0)
		return;
	share = in_bins < ended ? (double)in_bins / ended : 1;
	for (u32 p = 0; p <= parts; p++)
		if (w[p].waited_after_ns < w[p].waited_ns)
			w[p].waited_ns -= (w[p].waited_ns - w[p].waited_after_ns) * share;
}

/* A start that was not seen counts as no_start, a missed end as overwritten. */
static_assert(LOST_OVERWRITTEN == LOST_NO_START + 1, "skipped runs explain these two alone");
static void explain_by_skipped(u64 lost_by[LOST_REASONS], u64 *skipped_left)
{
	for (u32 reason = LOST_NO_START; reason <= LOST_OVERWRITTEN; reason++) {
		u64 n = lost_by[reason] < *skipped_left ? lost_by[reason] : *skipped_left;

		lost_by[reason] -= n;
		lost_by[LOST_RECURSION] += n;
		*skipped_left -= n;
	}
}

/*
 * Sets moved and unexplained. Returns by how much to raise the starts so that the account balances.
 *
 * IOs that left their slot and reached no bin are lost: nothing more is known of them. IOs in the bins without a
 * start show that as many events went wrong, so they count as a loss too; but the bins are what was measured, and
 * stay. So the starts are raised by both, the IOs and the loss. A new difference may only mean that a CPU is held up;
 * a real loss is still there at the next read.
 */
static s64 reconcile(const struct watch_counts *w, u32 cpus, struct accounting *a)
{
	s64 least = expected(w, w->started, w->in_flight);
	s64 most = expected(w, w->started_after, w->in_flight_after);
	s64 slack = accounting_still(w) && !w->unsettled ? 0 : cpus, seen = a->completed;

	if (most < least)
		most = least;
	a->moved = most - least + slack;
	if (seen < least - slack) {
		a->lost_by[LOST_UNEXPLAINED] = least - slack - seen;
	} else if (seen > most + slack) {
		a->lost_by[LOST_UNEXPLAINED] = seen - most - slack;
		return 2 * a->lost_by[LOST_UNEXPLAINED];
	}
	return 0;
}

s64 accounting_kernel_gap(const struct accounting *a)
{
	s64 gap = a->kernel_ios - a->completed, allowed = a->before + a->in_flight + a->lost + a->unissued;

	if (!a->kernel_known || a->moved)
		return 0;
	return gap > allowed || gap < -(allowed + (s64)a->kernel_leaves_out) ? gap : 0;
}

bool accounting_ends_missed(const struct accounting *a)
{
	return (a->in_flight || a->lost) && a->kernel_known && !a->moved && !a->kernel_in_flight &&
	       a->kernel_ios >= a->completed + a->lost + a->before + a->unissued + a->in_flight;
}

void accounting_make(const struct snapshot *s, u32 i, u32 cpus, u64 *skipped_left, struct accounting *ret)
{
	const struct watch_counts *w = &s->w[i];
	const u64 *accounts = w->accounts;
	struct accounting a = {
		.completed = accounting_completed(w),
		.in_flight = w->in_flight,
		.lost_by = {
			[LOST_NO_START] = accounts[BLKLAT_NO_START],
			[LOST_OVERWRITTEN] = accounts[BLKLAT_OVERWRITTEN],
			[LOST_TAG_RANGE] = accounts[BLKLAT_TAG_RANGE],
			[LOST_TABLE_FULL] = accounts[BLKLAT_TABLE_FULL],
		},
		.requeued = accounts[BLKLAT_REQUEUED],
		.before = accounts[BLKLAT_BEFORE],
		.unissued = accounts[BLKLAT_UNISSUED],
		.skipped = s->skipped,
		.kernel_ios = w->kernel_ios,
		.kernel_in_flight = w->kernel_in_flight,
		.kernel_known = w->kernel_known,
		.kernel_leaves_out = op_counts_ios(&w->ops[BLKLAT_OP_OTHER]),
	};
	s64 started = w->started - accounts[BLKLAT_REQUEUED] + accounts[BLKLAT_NO_START] +
		      accounts[BLKLAT_TAG_RANGE] + accounts[BLKLAT_TABLE_FULL];

	started += reconcile(w, cpus, &a);
	/* Requeues are read after the starts, so in the first moments the difference may be negative. */
	a.started = started > 0 ? started : 0;
	explain_by_skipped(a.lost_by, skipped_left);
	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		a.lost += a.lost_by[reason];
	*ret = a;
}

static u64 more_than(u64 now, u64 before)
{
	return now > before ? now - before : 0;
}

/*
 * A loss that was unexplained, or explained by a skipped run, may have another reason by now, or be no loss. So cut
 * the reasons until they add up to the total.
 */
static void take_off_lost(struct accounting *a, const struct accounting *before)
{
	u64 left = more_than(a->lost, before->lost);

	a->started += more_than(before->lost, a->lost);
	a->lost = left;
	for (u32 reason = 0; reason < LOST_REASONS; reason++) {
		u64 more = more_than(a->lost_by[reason], before->lost_by[reason]);

		a->lost_by[reason] = more < left ? more : left;
		left -= a->lost_by[reason];
	}
}

void accounting_take_off(struct accounting *a, const struct accounting *before)
{
	a->started = more_than(a->started + before->in_flight, before->started);
	a->completed = more_than(a->completed, before->completed);
	take_off_lost(a, before);
	a->requeued = more_than(a->requeued, before->requeued);
	a->moved += before->moved;
	a->before = more_than(a->before, before->before);
	a->unissued = more_than(a->unissued, before->unissued);
	a->skipped = more_than(a->skipped, before->skipped);
	a->skipped_unexplained = more_than(a->skipped_unexplained, before->skipped_unexplained);
	a->kernel_ios = more_than(a->kernel_ios, before->kernel_ios);
	a->kernel_known = a->kernel_known && before->kernel_known;
	a->kernel_leaves_out = more_than(a->kernel_leaves_out, before->kernel_leaves_out);
}
