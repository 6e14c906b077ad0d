// SPDX-License-Identifier: GPL-2.0-only
#include "engine/carry.h"

#include <time.h>

#include "engine/geometry.h"
#include "util/clock.h"

/*
 * An event that is in one of the two captures only so far is met for some microseconds, or for as long as a hypervisor takes
 * the CPU away in between: some ms.
 */
#define TRIES 32
#define TRY_EVERY_NS 800000
#define ENOUGH_NS 10000			/* that a cut may take at first */

static u64 load(const u64 *cell)
{
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

static struct slots slots_in(const struct kernel_capture *k, u32 watch)
{
	struct slots s = slots_of(k->capture.watches[watch].device, k->capture.cpus);

	s.queues = s.stride ? k->region.ranges[watch].n / s.stride : 0;
	return s;
}

static const struct blklat_slots *slots_at(const struct region *r, u32 watch, u32 slot)
{
	return r->slots + (r->ranges[watch].first + slot) / BLKLAT_SLOTS;
}

/* The slot in @from for the tag of slot @n in @to. False: there is none, so what started with it was lost. */
static bool same_slot(const struct slots *from, const struct slots *to, u32 n, u32 *ret)
{
	u32 queue = n / to->stride, tag = n % to->stride;

	if (tag >= to->tags)
		tag = tag - to->tags + from->tags;	/* the scheduler's come after the driver's */
	*ret = queue * from->stride + tag;
	return queue < from->queues && tag < from->stride;
}

struct starts {
	s64 apart;	/* in slots that both have: seen by the first capture and not by the second */
	u64 beyond;	/* seen by the second, in slots that the first has not */
	u64 ended;	/* and of those ended */
};

/* The second capture is read first: what comes in between is too many, never too few. */
static struct starts compare_starts(const struct kernel_capture *from, const struct kernel_capture *to,
				    const struct carried *c)
{
	struct slots f = slots_in(from, c->from), t = slots_in(to, c->to);
	struct starts s = { 0 };
	u32 same;

	for (u32 n = 0; n < t.queues * t.stride; n++) {
		const struct blklat_slots *slots = slots_at(&to->region, c->to, n);
		u64 started = load(&slots->started[n % BLKLAT_SLOTS]);

		if (!same_slot(&f, &t, n, &same)) {
			s.beyond += started;
			s.ended += load(&slots->ended[n % BLKLAT_SLOTS]);
			continue;
		}
		slots = slots_at(&from->region, c->from, same);
		s.apart += load(&slots->started[same % BLKLAT_SLOTS]) - started;
	}
	return s;
}

static s64 account_apart(const struct region *from, const struct region *to, const struct carried *c, u32 cell)
{
	s64 sum = 0;

	for (u32 row = 0; row < to->rows; row++) {
		u64 second = load(to->accounts + ((size_t)row * to->watches + c->to) * BLKLAT_ACCOUNTS + cell);

		sum += load(from->accounts + ((size_t)row * from->watches + c->from) * BLKLAT_ACCOUNTS + cell) - second;
	}
	return sum;
}

static void keep_least(s64 *least, s64 n, bool first)
{
	if (first || n < *least)
		*least = n;
}

/* All that can disturb makes it more, so the least of some looks is right. */
static void look(const struct kernel_capture *from, const struct kernel_capture *to, struct carried *c, bool first)
{
	struct starts s = compare_starts(from, to, c);

	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		keep_least(&c->account_apart[cell], account_apart(&from->region, &to->region, c, cell), first);
	keep_least(&c->started_apart, s.apart, first);
	keep_least(&c->lost_apart, region_account(&from->region, c->from, BLKLAT_TAG_RANGE) - s.beyond -
		   region_account(&to->region, c->to, BLKLAT_TAG_RANGE), first);
}

/* @from - @to, to be added to @carry. */
static void add_difference(const struct op_counts *from, const struct op_counts *to, struct op_counts *carry)
{
	struct op_counts difference = *from;

	hist_diff(&difference.hist, &from->hist, &to->hist);
	hist_diff(&difference.after_idle, &from->after_idle, &to->after_idle);
	hist_add(&carry->hist, &difference.hist);
	hist_add(&carry->after_idle, &difference.after_idle);
	carry->sum_ns += from->sum_ns - to->sum_ns;
	carry->bytes += from->bytes - to->bytes;
	carry->errors += from->errors - to->errors;
	carry->after_idle_sum_ns += from->after_idle_sum_ns - to->after_idle_sum_ns;
}

/*
 * What the two have at nearly the same moment. Whoever is interrupted in between does it again, for which a longer time
 * will do. Returns how long it took. *@ret_ended: of what only the second has slots for, before the bins were read, or an
 * IO might be in them and lost as well.
 */
static u64 read_both(const struct kernel_capture *from, const struct kernel_capture *to, const struct carried *c,
		     struct watch_counts *from_sums, struct watch_counts *to_sums, u64 *ret_ended)
{
	u64 begin_ns, took_ns;

	for (u64 enough_ns = ENOUGH_NS;; enough_ns += enough_ns / 2) {
		*ret_ended = compare_starts(from, to, c).ended;
		begin_ns = now_ns();
		region_read_series(&from->region, c->from, from_sums);
		region_read_series(&to->region, c->to, to_sums);
		took_ns = now_ns() - begin_ns;
		if (took_ns <= enough_ns)
			return took_ns;
	}
}

/* Returns how long it took. @from_sums and @to_sums are scratch. */
static u64 cut(const struct kernel_capture *from, const struct kernel_capture *to, struct carried *c,
	       struct watch_counts *from_sums, struct watch_counts *to_sums)
{
	u64 ended, took_ns = read_both(from, to, c, from_sums, to_sums, &ended);
	bool has_slots = to->region.ranges[c->to].n;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		add_difference(&from_sums->ops[op], &to_sums->ops[op], &c->carry->ops[op]);
	if (has_slots)	/* the reader tells it from the slots */
		c->account_apart[BLKLAT_OVERWRITTEN] = c->read_from->accounts[BLKLAT_OVERWRITTEN] -
						       c->read_to->accounts[BLKLAT_OVERWRITTEN];
	c->account_apart[BLKLAT_TAG_RANGE] = c->lost_apart + ended;
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		c->carry->accounts[cell] += c->account_apart[cell];
	c->carry->started += has_slots ? c->started_apart - (s64)ended : c->account_apart[BLKLAT_STARTED];
	return took_ns;
}

int carry_over(const struct kernel_capture *from, const struct kernel_capture *to, struct carried *list, u32 n,
	       u64 *ret_gap_ns)
{
	const struct timespec pause = { .tv_nsec = TRY_EVERY_NS };
	struct snapshot sums;
	int err = snapshot_init(&sums, 2, to->capture.scale);

	if (err)
		return err;
	*ret_gap_ns = 0;
	for (u32 try = 0; try < TRIES; try++) {
		for (u32 i = 0; i < n; i++)
			look(from, to, &list[i], !try);
		nanosleep(&pause, NULL);
	}
	for (u32 i = 0; i < n; i++) {
		u64 took_ns = cut(from, to, &list[i], &sums.w[0], &sums.w[1]);

		if (took_ns > *ret_gap_ns)
			*ret_gap_ns = took_ns;
	}
	snapshot_uninit(&sums);
	return 0;
}

u64 carry_waiting(const struct kernel_capture *from, u32 i, const struct kernel_capture *to, u32 j)
{
	const struct carried c = { .from = i, .to = j };
	struct starts s = compare_starts(from, to, &c);

	return s.beyond - s.ended;
}

void carry_add(struct watch_counts *w, const struct watch_counts *carry)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct op_counts *o = &w->ops[op];
		const struct op_counts *c = &carry->ops[op];

		hist_add(&o->hist, &c->hist);
		hist_add(&o->after_idle, &c->after_idle);
		o->sum_ns += c->sum_ns;
		o->bytes += c->bytes;
		o->errors += c->errors;
		o->after_idle_sum_ns += c->after_idle_sum_ns;
	}
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		w->accounts[cell] += carry->accounts[cell];
	w->started += carry->started;
	w->started_after += carry->started;
	/* The kernel's count goes on from its first base; of it the empty flushes of one capture are taken already. */
	if (w->kernel_known)
		w->kernel_ios -= carry->accounts[BLKLAT_EMPTY_FLUSH];
}
