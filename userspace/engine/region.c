// SPDX-License-Identifier: GPL-2.0-only
#include "engine/region.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "core/accounting.h"
#include "engine/scan.h"
#include "util/array.h"

struct blklat_series *region_series(const struct region *r, u32 number)
{
	return (struct blklat_series *)((char *)r->series + (size_t)number * r->series_bytes);
}

static bool is_shared(const struct region *r, u32 number)
{
	return number < r->watches * BLKLAT_OPS;
}

void region_clear_series(const struct region *r, u32 number)
{
	struct blklat_series *s = region_series(r, number);

	memset(s, 0, BLKLAT_SERIES_BYTES((size_t)BLKLAT_CELLS(r->scale)));
	s->octaves = r->octaves_used;
}

int region_init(struct region *r, u32 spare)
{
	r->starts = sparse_calloc(r->n_slots / BLKLAT_SLOTS + 1, sizeof(*r->starts));
	return r->starts ? owns_init(r, spare) : -ENOMEM;
}

void region_uninit(struct region *r)
{
	owns_uninit(r);
	free(r->starts);
	r->starts = NULL;
}

static void clear_extremes(const struct region *r, u32 number, u32 parity)
{
	struct blklat_series *s = region_series(r, number);

	if (!load(&s->octaves))
		return;
	__atomic_store_n(&s->max_ns[parity], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->not_min_ns[parity], 0, __ATOMIC_RELAXED);
}

void region_next_epoch(struct region *r)
{
	u32 next = *r->epoch + 1;

	for (u32 row = 0; row < r->watches * BLKLAT_OPS; row++) {
		clear_extremes(r, row, next & 1);
		for (u32 n = owns_first(&r->owns, row), after; n; n = after) {
			after = owns_next(&r->owns, n);
			__builtin_prefetch(region_series(r, after), 1);
			clear_extremes(r, n, next & 1);
		}
	}
	__atomic_store_n(r->epoch, next, __ATOMIC_RELEASE);
}

void region_use_all_octaves(struct region *r)
{
	r->octaves_used = (1ULL << (BLKLAT_OCTAVE_BELOW + 1)) - 1;
	for (u32 number = 0; number < r->watches * BLKLAT_OPS + r->owns.n; number++)
		__atomic_store_n(&region_series(r, number)->octaves, r->octaves_used, __ATOMIC_RELAXED);
}

/*
 * Cells that are 0 are not written to: if all octaves are marked as in use, most are in fact empty. The processor
 * does not foresee which series is @next. Most CPUs have latencies alike, so the octaves in use here are likely to be
 * in use there.
 */
static void add_octave(const struct blklat_series *s, const struct blklat_series *next, u32 octave, struct hist *h)
{
	u32 first, n = hist_octave(h->scale, octave, &first);
	u64 *cells = h->cells, any = 0;

	for (u32 cell = first; cell < first + n; cell++) {
		u64 ios = load(&s->bins[cell]);

		if ((cell - first) % 8 == 0)
			__builtin_prefetch(&next->bins[cell]);
		if (ios)
			cells[cell] += ios;
		any |= ios;
	}
	if (any)
		h->octaves |= 1ULL << octave;
}

static void add_extremes(const struct blklat_series *s, u32 parity, u64 *min_ns, u64 *max_ns)
{
	u64 max = load(&s->max_ns[parity]), min = ~load(&s->not_min_ns[parity]);

	if (max > *max_ns)
		*max_ns = max;
	if (min < *min_ns)
		*min_ns = min;
}

/* @epoch has just begun: the extremes of IOs that end from here on are in its cells. */
static void add_series(const struct blklat_series *s, const struct blklat_series *next, u32 epoch, struct op_counts *op)
{
	u64 octaves = load(&s->octaves);

	__builtin_prefetch(next);
	for (; octaves; octaves &= octaves - 1)
		add_octave(s, next, __builtin_ctzll(octaves), &op->hist);
	/* The engine writes extremes before the bin, so those of all IOs just read are there now. */
	atomic_thread_fence(memory_order_acquire);
	/* Also for a row without bins: a portion of a request may have ended here, the rest elsewhere. */
	op->sum_ns += load(&s->sum_ns);
	op->bytes += load(&s->bytes);
	op->errors += load(&s->errors);
	add_extremes(s, !(epoch & 1), &op->min_ns, &op->max_ns);
	add_extremes(s, epoch & 1, &op->late_min_ns, &op->late_max_ns);
}

/* Of a shared series. */
static struct blklat_idle_series *idle_series_at(const struct region *r, u32 number)
{
	return (void *)((char *)r->idle +
			number * BLKLAT_IDLE_SERIES_BYTES((size_t)BLKLAT_CELLS(idle_scale(r->scale))));
}

static void add_after_idle(const struct region *r, u32 number, struct op_counts *op)
{
	u32 cells = BLKLAT_CELLS(op->after_idle.scale);
	const struct blklat_idle_series *s;
	u64 sum_ns;

	if (!r->idle)
		return;
	s = idle_series_at(r, number);
	sum_ns = load(&s->sum_ns);
	op->after_idle_sum_ns += sum_ns;
	/* The sum is written before the bins. */
	if (!sum_ns)
		return;
	for (u32 cell = 0; cell < cells; cell++) {
		u64 n = load(&s->bins[cell]);

		if (n)
			hist_put(&op->after_idle, cell, n);
	}
}

static void no_extremes(struct op_counts *op)
{
	op->min_ns = op->late_min_ns = UINT64_MAX;
	op->max_ns = op->late_max_ns = 0;
}

static void clear_op(struct op_counts *op)
{
	hist_clear(&op->hist);
	hist_clear(&op->after_idle);
	op->sum_ns = op->bytes = op->errors = op->after_idle_sum_ns = 0;
	no_extremes(op);
}

void region_add_series(const struct region *r, u32 number, u32 next, struct op_counts *ret)
{
	/* Read before the other bins, so that all IOs counted here are in those as well. */
	if (is_shared(r, number))
		add_after_idle(r, number, ret);
	add_series(region_series(r, number), region_series(r, next), *r->epoch, ret);
}

static void read_series(const struct region *r, u32 i, u64 now_ns, struct watch_counts *w)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		u32 row = i * BLKLAT_OPS + op;

		clear_op(&w->ops[op]);
		region_add_series(r, row, owns_first(&r->owns, row), &w->ops[op]);
		for (u32 n = owns_first(&r->owns, row), next; n; n = next) {
			next = owns_next(&r->owns, n);
			region_add_series(r, n, next, &w->ops[op]);
			owns_note(&r->owns, n, region_progress(r, n), now_ns);
		}
	}
}

u64 region_progress(const struct region *r, u32 number)
{
	const struct blklat_series *s = region_series(r, number);
	u64 sums;

	atomic_thread_fence(memory_order_acquire);
	sums = load(&s->sum_ns) + load(&s->bytes) + load(&s->errors);
	if (is_shared(r, number) && r->idle)
		sums += load(&idle_series_at(r, number)->sum_ns);
	atomic_thread_fence(memory_order_acquire);
	return sums;
}

u64 region_in_flight(const struct region *r, u32 i)
{
	return scan_slots(r, i, 0, NULL, true).all.in_flight;
}

u64 region_oldest_ns(const struct region *r, u32 i, u64 now_ns)
{
	return scan_slots(r, i, now_ns, NULL, false).all.oldest_ns;
}

/* The account of whole @i in a row. */
static u64 *account_in(const struct region *r, u32 row, u32 i)
{
	u32 each = 1 + r->parts;

	return r->accounts + ((size_t)row * (r->watches / each) + i / each) * BLKLAT_ACCOUNTS;
}

u64 region_account(const struct region *r, u32 whole, enum blklat_account cell)
{
	u64 sum = 0;

	for (u32 row = 0; row < r->rows; row++)
		sum += load(account_in(r, row, whole) + cell);
	return sum;
}

/*
 * Counts of slots wrap, in a long interval more than once. So the starts are the number nearest to all that became of
 * them, with these lower 32 bits.
 */
static u64 unwrapped(u64 started, const struct watch_counts *w)
{
	u64 near =
		accounting_completed(w) + w->in_flight + w->accounts[BLKLAT_REQUEUED] + w->accounts[BLKLAT_OVERWRITTEN];

	return near + (s32)(started - near);
}

/* What the slots say before the bins are read. */
static void take_scan(const struct scan *scan, const struct region_slots *had, struct watch_counts *w)
{
	w->in_flight = scan->all.in_flight;
	w->oldest_ns = scan->all.oldest_ns;
	w->waited_ns = scan->all.waited_ns;
	w->accounts[BLKLAT_OVERWRITTEN] += scan->overwritten + had->overwritten;
	w->accounts[BLKLAT_STARTED] = 0;
	w->started = unwrapped(scan->started + had->starts, w);
	w->accounts[BLKLAT_TAG_RANGE] += had->left;
	for (u32 p = 0; p < scan->n_parts; p++) {
		w[1 + p].in_flight = scan->parts[p].in_flight;
		w[1 + p].oldest_ns = scan->parts[p].oldest_ns;
		w[1 + p].waited_ns = scan->parts[p].waited_ns;
	}
}

/* What they say afterwards. */
static void take_scan_after(const struct scan *scan, const struct region_slots *had, struct watch_counts *w)
{
	w->started_after = unwrapped(scan->started + had->starts, w);
	w->in_flight_after = scan->all.in_flight;
	w->waited_after_ns = scan->all.waited_ns;
	for (u32 p = 0; p < scan->n_parts; p++)
		w[1 + p].waited_after_ns = scan->parts[p].waited_ns;
}

/* Reads the whole's own series and those of its parts, which are part of the whole as well. */
static void read_all_series(const struct region *r, u32 i, u64 now_ns, struct watch_counts *w)
{
	read_series(r, i, now_ns, w);
	for (u32 p = 1; p <= r->parts; p++) {
		read_series(r, i + p, now_ns, &w[p]);
		watch_counts_add_part(w, &w[p]);
	}
}

static void read_accounts(const struct region *r, u32 i, const struct scan *scan, struct watch_counts *w)
{
	for (u32 cell = 0; cell < BLKLAT_BUSY; cell++)
		w->accounts[cell] = region_account(r, i, cell);
	if (r->ranges[i].n)
		take_scan(scan, &r->ranges[i], w);
}

/*
 * Whether @w, as it was filled the last time, has all IOs of a watch at rest: no other has ended since, as each has its
 * start. Then its series need not be read. Where there are no slots, its starts and IOs in flight are those of now.
 */
static bool has_all(const struct region *r, u32 i, const struct scan *scan, struct watch_counts *w)
{
	if (!scan->rests || (!r->ranges[i].n && (!w->started || w->in_flight)))
		return false;
	read_accounts(r, i, scan, w);
	if (accounting_gap(w))
		return false;
	for (u32 p = 0; w->epoch != *r->epoch && p <= r->parts; p++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			no_extremes(&w[p].ops[op]);
	return true;
}

/*
 * Reads slots, bins, and slots again. If the first look found the slots at rest and the bins agree, one look is enough.
 */
static void read_once(const struct region *r, u32 i, u64 now_ns, struct watch_counts *w)
{
	struct waiting parts[BLKLAT_PARTS_MAX];
	struct scan scan = scan_slots(r, i, now_ns, parts, false);

	if (!has_all(r, i, &scan, w)) {
		read_all_series(r, i, now_ns, w);
		read_accounts(r, i, &scan, w);
	}
	w->epoch = *r->epoch;
	if (!r->ranges[i].n)
		return;
	take_scan_after(&scan, &r->ranges[i], w);
	if (scan.rests && !accounting_gap(w))
		return;
	scan = scan_slots(r, i, now_ns, parts, scan.rests);
	/* Read last: an IO that is in the bins is in its count. */
	if (r->ranges[i].queue)
		scan.started = region_account(r, i, BLKLAT_STARTED);
	take_scan_after(&scan, &r->ranges[i], w);
}

/* BLKLAT_BUSY at @now_ns. An edge that is not added yet can make it negative, which is 0. */
static u64 busy_ns(const struct region *r, u32 i, u64 now_ns)
{
	s64 period = BLKLAT_PERIOD + now_ns, ns = (s64)load(account_in(r, r->rows - 1, i) + BLKLAT_BUSY) % period;

	if (ns < -period / 2)
		ns += period;
	else if (ns > period / 2)
		ns -= period;
	return ns > 0 ? ns : 0;
}

void region_read(const struct region *r, u32 i, u64 now_ns, struct watch_counts *w)
{
	if (blklat_counts_in_flight(r->by))
		w->accounts[BLKLAT_BUSY] = busy_ns(r, i, now_ns);
	/* If a CPU is held up between freeing a slot and counting in a bin, it is usually done a moment later. */
	for (int tries = 0; tries < 3; tries++) {
		read_once(r, i, now_ns, w);
		if (!r->ranges[i].n || !accounting_still(w) || !accounting_gap(w))
			break;
	}
	if (r->ranges[i].n)
		accounting_settle_ages(w, r->parts);
}

void region_move(struct region *r, u32 i, u32 first, u32 n)
{
	struct region_slots *s = &r->ranges[i];
	struct scan scan = scan_slots(r, i, 0, NULL, true);

	s->starts += (s->queue ? 0 : scan.started) - scan.all.in_flight;
	s->overwritten += scan.overwritten;
	s->left += scan.all.in_flight;
	s->first = first;
	s->n = n;
}

void region_clear_slots(struct region *r, u32 first, u32 n)
{
	memset(&r->slots[first / BLKLAT_SLOTS], 0, n / BLKLAT_SLOTS * sizeof(*r->slots));
	memset(&r->starts[first / BLKLAT_SLOTS], 0, n / BLKLAT_SLOTS * sizeof(*r->starts));
}

void region_clear(struct region *r, u32 i)
{
	for (u32 row = i * BLKLAT_OPS; row < (i + 1) * BLKLAT_OPS; row++) {
		owns_clear(r, row);
		region_clear_series(r, row);
		if (r->idle)
			memset(idle_series_at(r, row), 0,
			       BLKLAT_IDLE_SERIES_BYTES((size_t)BLKLAT_CELLS(idle_scale(r->scale))));
	}
	for (u32 row = 0; row < r->rows && i % (1 + r->parts) == 0; row++)
		memset(account_in(r, row, i), 0, BLKLAT_ACCOUNTS * sizeof(u64));
	r->ranges[i] = (struct region_slots){ 0 };
}
