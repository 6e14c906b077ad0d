// SPDX-License-Identifier: GPL-2.0-only
#include "engine/region.h"

#include <stdatomic.h>
#include <stdint.h>

#include "blklat/bins.h"
#include "core/accounting.h"

static struct blklat_series *series_at(const struct region *r, u32 row, u32 watch, u32 op)
{
	size_t number = ((size_t)row * r->watches + watch) * BLKLAT_OPS + op;

	return (struct blklat_series *)((char *)r->series + number * r->series_bytes);
}

/* The engine writes what we read; each cell is one aligned word. */
static u64 load(const u64 *cell)
{
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

void region_next_epoch(struct region *r)
{
	u32 next = *r->epoch + 1;

	for (u32 row = 0; row < r->rows; row++)
		for (u32 watch = 0; watch < r->watches; watch++)
			for (u32 op = 0; op < BLKLAT_OPS; op++) {
				struct blklat_series *s = series_at(r, row, watch, op);

				if (!load(&s->octaves))
					continue;
				__atomic_store_n(&s->max_ns[next & 1], 0, __ATOMIC_RELAXED);
				__atomic_store_n(&s->not_min_ns[next & 1], 0, __ATOMIC_RELAXED);
			}
	__atomic_store_n(r->epoch, next, __ATOMIC_RELEASE);
}

void region_use_all_octaves(struct region *r)
{
	for (u32 row = 0; row < r->rows; row++)
		for (u32 watch = 0; watch < r->watches; watch++)
			for (u32 op = 0; op < BLKLAT_OPS; op++)
				__atomic_store_n(&series_at(r, row, watch, op)->octaves,
						 (1ULL << (BLKLAT_OCTAVE_BELOW + 1)) - 1, __ATOMIC_RELAXED);
}

struct scan {
	u64 started, in_flight, overwritten, earliest_ns;
};

/* Reads in the order that abi.h gives, so that an IO on its way never looks like a missed end. */
static void scan_slot(const struct blklat_slots *slots, u32 i, struct scan *s)
{
	u64 started = __atomic_load_n(&slots->started[i], __ATOMIC_ACQUIRE);
	u64 ns = __atomic_load_n(&slots->ns[i], __ATOMIC_ACQUIRE) & ~(BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN);
	u64 explained = load(&slots->ended[i]) + (ns > BLKLAT_SLOT_VACANT);

	s->started += started;
	if (started > explained)
		s->overwritten += started - explained;
	if (ns <= BLKLAT_SLOT_VACANT)
		return;
	s->in_flight++;
	if (ns < s->earliest_ns)
		s->earliest_ns = ns;
}

static struct scan scan_slots(const struct region *r, u32 i)
{
	const struct blklat_slots *slots = r->slots + r->ranges[i].first / BLKLAT_SLOTS;
	struct scan s = { .earliest_ns = UINT64_MAX };

	for (u32 n = 0; n < r->ranges[i].n; n++)
		scan_slot(slots + n / BLKLAT_SLOTS, n % BLKLAT_SLOTS, &s);
	return s;
}

/* How much was started, all that a slot at rest can tell. */
static u64 count_starts(const struct region *r, u32 i)
{
	const struct blklat_slots *slots = r->slots + r->ranges[i].first / BLKLAT_SLOTS;
	u64 started = 0;

	for (u32 block = 0; block < r->ranges[i].n / BLKLAT_SLOTS; block++)
		for (u32 k = 0; k < BLKLAT_SLOTS; k++)
			started += load(&slots[block].started[k]);
	/* Before all that is read next, as in scan_slot(). */
	atomic_thread_fence(memory_order_acquire);
	return started;
}

/*
 * Nothing was in flight when it was read last, all ends had been seen, and nothing was started since: so the slots
 * are free, and only their starts need a look. That is a third of their memory, and most devices are at rest.
 */
static bool at_rest(const struct region *r, u32 i, const struct watch_counts *before)
{
	return !before->in_flight_after && !before->accounts[BLKLAT_OVERWRITTEN] &&
	       before->started == before->started_after && count_starts(r, i) == before->started;
}

/* Cells that are 0 are not written to: where all octaves are said to be in use, most of them are not. */
static void add_octave(const struct blklat_series *s, u32 octave, struct hist *h)
{
	u32 first, n = hist_octave(h->scale, octave, &first);

	for (u32 cell = first; cell < first + n; cell++) {
		u64 ios = load(&s->bins[cell]);

		if (!ios)
			continue;
		h->cells[cell] += ios;
		h->octaves |= 1ULL << octave;
	}
}

/* Extremes of one op as the CPUs have them, in both parities. */
struct extremes {
	u64 max_ns[2], min_ns[2];
};

static void add_series(const struct blklat_series *s, struct op_counts *op, struct extremes *e)
{
	u64 octaves = load(&s->octaves);

	for (; octaves; octaves &= octaves - 1)
		add_octave(s, __builtin_ctzll(octaves), &op->hist);
	/* The engine writes extremes before the bin, so those of all IOs just read are there now. */
	atomic_thread_fence(memory_order_acquire);
	/* Also of a row without bins: a part of a request may have completed here, its end elsewhere. */
	op->sum_ns += load(&s->sum_ns);
	op->bytes += load(&s->bytes);
	op->errors += load(&s->errors);
	for (int parity = 0; parity < 2; parity++) {
		u64 max = load(&s->max_ns[parity]), min = ~load(&s->not_min_ns[parity]);

		if (max > e->max_ns[parity])
			e->max_ns[parity] = max;
		if (min < e->min_ns[parity])
			e->min_ns[parity] = min;
	}
}

/* One way of the extremes: of the epoch that ended and of the new one; @none where there is none. */
static u64 choose(const struct hist *h, u32 cell, const u64 ns[2], u32 ended, u64 none, u64 otherwise)
{
	for (u32 i = 0; i < 2; i++) {
		u64 candidate = ns[i ? !ended : ended];

		if (candidate != none && blklat_cell(candidate, h->scale) == cell)
			return candidate;
	}
	return otherwise;
}

/*
 * An IO that ends while the counters are read can be in one interval's bins and in the next one's
 * extremes. So take the ended epoch's, unless the bins contradict; then the new epoch's; then the
 * bin's bound.
 */
static void choose_extremes(struct op_counts *op, const struct hist *before, const struct extremes *e,
			    u32 ended)
{
	const struct hist *h = &op->hist;
	u32 cells = BLKLAT_CELLS(h->scale), first, last;
	u64 highest;

	if (!hist_range_since(h, before, &first, &last))
		return;
	highest = last == cells - 1 ? BLKLAT_LAST_NS + 1 : hist_upper_ns(h->scale, last);
	op->max_ns = choose(h, last, e->max_ns, ended, 0, highest);
	op->min_ns = choose(h, first, e->min_ns, ended, UINT64_MAX, hist_lower_ns(h->scale, first) + 1);
}

static void read_after_idle(const struct region *r, u32 i, u32 op, struct op_counts *ret)
{
	struct hist *h = &ret->after_idle;
	u32 cells = BLKLAT_CELLS(h->scale);
	const struct blklat_idle_series *s;

	if (!r->idle)
		return;
	s = (void *)((char *)r->idle + (size_t)(i * BLKLAT_OPS + op) * BLKLAT_IDLE_SERIES_BYTES(cells));
	ret->after_idle_sum_ns = load(&s->sum_ns);
	hist_clear(h);
	/* It is added to before the bins. */
	if (!ret->after_idle_sum_ns)
		return;
	for (u32 cell = 0; cell < cells; cell++) {
		u64 n = load(&s->bins[cell]);

		if (n)
			hist_put(h, cell, n);
	}
}

static void clear_op(struct op_counts *op)
{
	hist_clear(&op->hist);
	op->sum_ns = op->bytes = op->errors = 0;
	op->min_ns = op->max_ns = 0;
}

static void read_op(const struct region *r, u32 i, u32 op, const struct op_counts *before,
		    struct op_counts *ret)
{
	struct extremes e = { .min_ns = { UINT64_MAX, UINT64_MAX } };

	clear_op(ret);
	/* Before all IOs, so that what was counted here is among them. */
	read_after_idle(r, i, op, ret);
	for (u32 row = 0; row < r->rows; row++)
		add_series(series_at(r, row, i, op), ret, &e);
	choose_extremes(ret, &before->hist, &e, (*r->epoch & 1) ^ 1);
}

void region_read_sums(const struct region *r, u32 i, struct watch_counts *w)
{
	struct extremes ignored = { .min_ns = { UINT64_MAX, UINT64_MAX } };

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		clear_op(&w->ops[op]);
		read_after_idle(r, i, op, &w->ops[op]);
		for (u32 row = 0; row < r->rows; row++)
			add_series(series_at(r, row, i, op), &w->ops[op], &ignored);
	}
}

u64 region_in_flight(const struct region *r, u32 i)
{
	return scan_slots(r, i).in_flight;
}

u64 region_account(const struct region *r, u32 watch, enum blklat_account cell)
{
	u64 sum = 0;

	for (u32 row = 0; row < r->rows; row++)
		sum += load(r->accounts + ((size_t)row * r->watches + watch) * BLKLAT_ACCOUNTS + cell);
	return sum;
}

static void take_scan(const struct scan *scan, u64 now_ns, struct watch_counts *w)
{
	w->started = scan->started;
	w->in_flight = scan->in_flight;
	w->oldest_ns = scan->in_flight && scan->earliest_ns < now_ns ? now_ns - scan->earliest_ns : 0;
	w->accounts[BLKLAT_OVERWRITTEN] = scan->overwritten;
}

/* Slots, bins, and slots again; where the first look found it at rest and the bins agree, once will do. */
static void read_once(const struct region *r, u32 i, const struct watch_counts *before, u64 now_ns,
		      struct watch_counts *w)
{
	struct scan scan = { .started = before->started };
	bool rests = r->ranges[i].n && at_rest(r, i, before);

	if (!rests)
		scan = scan_slots(r, i);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		read_op(r, i, op, &before->ops[op], &w->ops[op]);
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		w->accounts[cell] = region_account(r, i, cell);
	if (!r->ranges[i].n)
		return;
	take_scan(&scan, now_ns, w);
	w->started_after = scan.started;
	w->in_flight_after = scan.in_flight;
	if (rests && !accounting_gap(w))
		return;
	scan = scan_slots(r, i);
	w->started_after = scan.started;
	w->in_flight_after = scan.in_flight;
}

void region_read(const struct region *r, u32 i, const struct watch_counts *before, u64 now_ns,
		 struct watch_counts *w)
{
	/* A CPU held up between freeing a slot and counting in a bin is met a moment later. */
	for (int tries = 0; tries < 3; tries++) {
		read_once(r, i, before, now_ns, w);
		if (!r->ranges[i].n || !accounting_still(w) || !accounting_gap(w))
			return;
	}
}
