// SPDX-License-Identifier: GPL-2.0-only
#include "engine/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/accounting.h"
#include "engine/geometry.h"
#include "util/cleanup.h"
#include "util/clock.h"

/*
 * An event that only one of the two captures has counted so far stays so for some microseconds, or for
 * as long as a hypervisor takes the CPU away in between: some ms.
 */
#define TRIES 32
#define TRY_EVERY_NS 800000
#define AT_ONCE 16	/* long enough for an IO to start or end, unless IOs come without a pause */

/* Series of one watch and op in one of the captures. */
struct group {
	const struct region *r;
	u32 n;
	u32 *number;
};

/* What carry_over() works with. */
struct over {
	const struct kernel_capture *to;
	struct carried *list;
	struct group group_from, group_to;		/* scratch; they are compared at one moment */
	struct watch_counts *sum_from, *sum_to;		/* scratch */
	struct watch_counts *apart;			/* scratch: a look's differences, of a whole and its parts */
	struct watch_counts *best;			/* for each in the list */
};

static struct slots slots_in(const struct kernel_capture *k, u32 watch)
{
	struct slots s = slots_of(k->capture.watches[watch].device, k->capture.cpus);

	s.queues = s.stride ? k->region.ranges[watch].n / s.stride : 0;
	return s;
}

/* The slot in @from for @tag of @queue in @to. False: there is none, so IOs that started with it were lost. */
static bool same_slot(const struct slots *from, const struct slots *to, u32 queue, u32 tag, u32 *ret)
{
	if (tag >= to->tags)
		tag = tag - to->tags + from->tags;	/* the scheduler's come after the driver's */
	*ret = queue * from->stride + tag;
	return queue < from->queues && tag < from->stride;
}

struct starts {
	u64 first, second;	/* seen by each capture; by the second: in slots that both have */
	u64 beyond;	/* seen by the second, in slots that the first lacks */
	u64 ended;	/* those of them that ended */
	s64 overwritten;	/* by how many the first has more than the second, without those beyond */
};

/*
 * Adds starts that the first capture has seen in slots that the second lacks: a scheduler that is gone
 * had tags of its own.
 */
static void add_starts_of_the_first(const struct carried *c, const struct slots *f, const struct slots *t, struct starts *s)
{
	u32 there, back;

	for (u32 n = 0; n < f->queues * f->stride; n++) {
		struct slot_look l;

		if (same_slot(t, f, n / f->stride, n % f->stride, &there) &&
		    same_slot(f, t, there / t->stride, there % t->stride, &back) && back == n)
			continue;
		l = region_look_at_slot(&c->of->region, c->from, n);
		s->first += l.started;
		s->overwritten += l.overwritten;
	}
}

/* The second capture is read first, so the difference may be too large by events in between, but never too small. */
static struct starts compare_starts(const struct kernel_capture *to, const struct carried *c)
{
	struct slots f = slots_in(c->of, c->from), t = slots_in(to, c->to);
	struct starts s = { 0 };
	u32 same;

	for (u32 n = 0; n < t.queues * t.stride; n++) {
		struct slot_look first, second = region_look_at_slot(&to->region, c->to, n);

		if (!same_slot(&f, &t, n / t.stride, n % t.stride, &same)) {
			s.beyond += second.started;
			s.ended += second.ended;
			continue;
		}
		first = region_look_at_slot(&c->of->region, c->from, same);
		s.first += first.started;
		s.second += second.started;
		s.overwritten += first.overwritten - second.overwritten;
	}
	add_starts_of_the_first(c, &f, &t, &s);
	return s;
}

static void keep_least(s64 *least, s64 n, bool first)
{
	if (first || n < *least)
		*least = n;
}

/* Starts that the second capture has seen in slots that the first lacks. */
static u64 count_beyond(const struct kernel_capture *to, u32 watch, const struct slots *f, const struct slots *t)
{
	u64 sum = 0;
	u32 same;

	for (u32 queue = 0, n = 0; queue < t->queues; queue++)
		for (u32 tag = 0; tag < t->stride; tag++, n++)
			if (!same_slot(f, t, queue, tag, &same))
				sum += region_slot_starts(&to->region, watch, n);
	return sum;
}

/*
 * How many more IOs the first capture has lost for want of slots, apart from those for which the second has slots. The
 * first's count and all these slots would have to be read at one moment. So this reads nothing else, and again until no
 * such IO started meanwhile; each that did may make the result too large by one.
 */
static s64 lost_apart(const struct kernel_capture *to, const struct carried *c)
{
	struct slots f = slots_in(c->of, c->from), t = slots_in(to, c->to);
	u64 was, of_to, beyond, is = region_account(&c->of->region, c->from, BLKLAT_TAG_RANGE);
	s64 least = 0;
	u32 try = 0;

	do {
		was = is;
		of_to = region_account(&to->region, c->to, BLKLAT_TAG_RANGE);
		beyond = count_beyond(to, c->to, &f, &t);
		is = region_account(&c->of->region, c->from, BLKLAT_TAG_RANGE);
		keep_least(&least, is - beyond - of_to, !try);
	} while (is != was && ++try < AT_ONCE);
	return least;
}

/* @apart += @from - @to */
static void add_difference(struct op_counts *apart, const struct op_counts *from, const struct op_counts *to)
{
	hist_add_diff(&apart->hist, &from->hist, &to->hist);
	hist_add_diff(&apart->after_idle, &from->after_idle, &to->after_idle);
	apart->sum_ns += from->sum_ns - to->sum_ns;
	apart->bytes += from->bytes - to->bytes;
	apart->errors += from->errors - to->errors;
	apart->after_idle_sum_ns += from->after_idle_sum_ns - to->after_idle_sum_ns;
}

/* What has the same CPU in @in as this one of @r's series: 0 if it has none there. */
static u32 twin_of(const struct region *r, u32 number, const struct region *in, u32 watch, u32 op)
{
	u32 cpu = r->owns.spare[number - r->owns.first].cpu;

	return in->own[(size_t)cpu * in->watches + watch].series[op];
}

/* Begins with a shared series; those that only one of the captures has beside it are added. */
static void find_others(struct group *g, const struct region *r, u32 i, const struct region *in, u32 watch, u32 op)
{
	u32 row = i * BLKLAT_OPS + op;

	g->r = r;
	g->n = 0;
	g->number[g->n++] = row;
	for (u32 n = owns_first(&r->owns, row); n; n = owns_next(&r->owns, n))
		if (!twin_of(r, n, in, watch, op))
			g->number[g->n++] = n;
}

static void put_alone(struct group *g, const struct region *r, u32 number)
{
	g->r = r;
	g->n = 1;
	g->number[0] = number;
}

static u64 progress(const struct group *g)
{
	u64 sum = 0;

	for (u32 i = 0; i < g->n; i++)
		sum += region_progress(g->r, g->number[i]);
	return sum;
}

static void clear_sums(struct op_counts *o)
{
	hist_clear(&o->hist);
	hist_clear(&o->after_idle);
	o->sum_ns = o->bytes = o->errors = o->after_idle_sum_ns = 0;
}

static void read_group(const struct group *g, struct op_counts *ret)
{
	clear_sums(ret);
	for (u32 i = 0; i < g->n; i++)
		region_add_series(g->r, g->number[i], ret);
}

/*
 * Adds to @apart the difference between the two captures in a group of series at one moment: it reads again until no sum
 * changed during the read. Then no IO began to be counted in them. The second capture, which begins when the first
 * is done, can at most have put one IO into its bin. Returns whether there was such a moment.
 */
static bool add_group(const struct over *o, u32 op, struct op_counts *apart)
{
	struct op_counts *f = &o->sum_from->ops[op], *t = &o->sum_to->ops[op];
	u64 was, is = progress(&o->group_from) + progress(&o->group_to);
	u32 try = 0;

	do {
		was = is;
		read_group(&o->group_from, f);
		read_group(&o->group_to, t);
		is = progress(&o->group_from) + progress(&o->group_to);
	} while (is != was && ++try < AT_ONCE);
	add_difference(apart, f, t);
	return is == was;
}

/*
 * @c: a whole or a part. What a CPU has in both captures is compared by itself; all others together, since an IO may count in
 * the shared series of one capture and in a CPU's own of the other. Returns how many groups could not be read at one moment.
 */
static u32 take_watch(struct over *o, const struct carried *c, struct watch_counts *apart)
{
	const struct region *from = &c->of->region, *to = &o->to->region;
	u32 moved = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		clear_sums(&apart->ops[op]);
		for (u32 n = owns_first(&from->owns, c->from * BLKLAT_OPS + op); n; n = owns_next(&from->owns, n)) {
			u32 twin = twin_of(from, n, to, c->to, op);

			if (!twin)
				continue;
			put_alone(&o->group_from, from, n);
			put_alone(&o->group_to, to, twin);
			moved += !add_group(o, op, &apart->ops[op]);
		}
		find_others(&o->group_from, from, c->from, to, c->to, op);
		find_others(&o->group_to, to, c->to, from, c->from, op);
		moved += !add_group(o, op, &apart->ops[op]);
	}
	return moved;
}

/*
 * Sets o->apart, and all of @l except ended. As in each read, the whole is the sum of its own rows and
 * those of its parts.
 */
static void take_series(struct over *o, const struct carried *c, struct carry_look *l)
{
	u64 begin_ns = now_ns();

	for (u32 p = 0; p <= o->to->parts; p++) {
		l->moved += take_watch(o, c + p, o->apart + p);
		if (p)
			watch_counts_add_part(o->apart, o->apart + p);
	}
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_counts *a = &o->apart->ops[op];

		l->ios += hist_count(&a->hist) + hist_count(&a->after_idle);
		l->sums += a->bytes + a->errors;
		l->sum_ns += a->sum_ns + a->after_idle_sum_ns;
	}
	l->took_ns = now_ns() - begin_ns;
}

static bool better(const struct carry_look *a, const struct carry_look *b)
{
	if (a->moved != b->moved)
		return a->moved < b->moved;
	if (a->ios + (s64)a->ended != b->ios + (s64)b->ended)
		return a->ios + (s64)a->ended < b->ios + (s64)b->ended;
	/*
	 * Of IOs that only the second capture counts, the number is known, but not the bytes. So keep a
	 * result that was seen twice.
	 */
	if (a->ended != b->ended)
		return !b->again;
	return a->sums != b->sums ? a->sums < b->sums : a->sum_ns < b->sum_ns;
}

static bool same(const struct carry_look *a, const struct carry_look *b)
{
	return a->moved == b->moved && a->ios == b->ios && a->ended == b->ended && a->sums == b->sums;
}

static void read_accounts(const struct region *r, u32 watch, u64 cells[BLKLAT_ACCOUNTS])
{
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		cells[cell] = region_account(r, watch, cell);
}

/*
 * Whether nothing was in flight when watch @i of a capture was read, and nothing has happened since.
 * The accounts are compared too, as some starts have no slot, and some ends no start.
 */
static bool rests(const struct kernel_capture *k, u32 i, const struct watch_counts *read, u64 started,
		  const u64 accounts[BLKLAT_ACCOUNTS])
{
	static const struct watch_counts none;
	const struct watch_counts *carry = k->carry.n ? &k->carry.w[i] : &none;

	if (!accounting_still(read) || read->in_flight || accounting_gap(read) || read->started != started + carry->started)
		return false;
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		if (cell != BLKLAT_OVERWRITTEN && accounts[cell] + carry->accounts[cell] != read->accounts[cell])
			return false;
	return true;
}

/*
 * Looks until nothing moves during a look and, if the bytes can't be compared with those of a later
 * look, until two looks agree. The ends in slots that only the second capture has are read before the
 * bins, as an IO must not be both in the bins and lost. Returns the starts after the last look.
 */
static struct starts look_at_series(struct over *o, struct carried *c, bool first)
{
	struct starts s = compare_starts(o->to, c);
	struct carry_look l;
	u32 try = 0;

	do {
		l = (struct carry_look){ .ended = s.ended };
		take_series(o, c, &l);
		s = compare_starts(o->to, c);
		l.moved += s.ended - l.ended;
		l.again = same(&l, &c->look);
		c->look.again |= l.again;
		if ((first && !try) || better(&l, &c->look)) {
			c->look = l;
			for (u32 p = 0; p <= o->to->parts; p++)
				watch_counts_copy(&o->best[c - o->list + p], o->apart + p);
		}
	} while ((l.moved || (s.ended && !c->look.again)) && ++try < AT_ONCE);
	return s;
}

/* Every disturbance makes the differences larger, so the least of several looks is right. */
static void look(struct over *o, struct carried *c, bool first)
{
	const struct region *from = &c->of->region, *to = &o->to->region;
	struct starts s = look_at_series(o, c, first);
	u64 of_from[BLKLAT_ACCOUNTS], of_to[BLKLAT_ACCOUNTS];

	keep_least(&c->lost_apart, lost_apart(o->to, c), first);
	read_accounts(to, c->to, of_to);
	read_accounts(from, c->from, of_from);
	if (!to->ranges[c->to].n)
		s = (struct starts){ .first = of_from[BLKLAT_STARTED], .second = of_to[BLKLAT_STARTED] };
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		keep_least(&c->account_apart[cell], of_from[cell] - of_to[cell], first);
	keep_least(&c->started_apart, s.first - s.second, first);
	keep_least(&c->overwritten_apart, s.overwritten, first);
	c->rests = rests(c->of, c->from, c->read_from, s.first, of_from) &&
		   rests(o->to, c->to, c->read_to, s.second + s.beyond, of_to);
}

static void finish(const struct over *o, struct carried *c)
{
	struct watch_counts *best = &o->best[c - o->list];
	bool has_slots = o->to->region.ranges[c->to].n;

	if (has_slots)	/* the reader finds it in the slots */
		c->account_apart[BLKLAT_OVERWRITTEN] = c->overwritten_apart;
	c->account_apart[BLKLAT_TAG_RANGE] = c->lost_apart + c->look.ended;
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		best->accounts[cell] = c->account_apart[cell];
	best->started = has_slots ? c->started_apart - (s64)c->look.ended : c->account_apart[BLKLAT_STARTED];
	for (u32 p = 0; p <= o->to->parts; p++)
		carry_add(c[p].carry, best + p);
}

static bool look_at_all(struct over *o, u32 n, bool first)
{
	bool moves = false;

	for (u32 i = 0; i < n; i = next_whole(o->to, i)) {
		if (!first && o->list[i].rests)
			continue;
		look(o, &o->list[i], first);
		moves |= !o->list[i].rests;
	}
	return moves;
}

int carry_over(const struct kernel_capture *to, struct carried *list, u32 n, u64 *ret_gap_ns)
{
	const struct timespec pause = { .tv_nsec = TRY_EVERY_NS };
	u32 room = to->region.cpus + 1;
	u32 *numbers CLEANUP(cleanup_free) = calloc(2 * room, sizeof(*numbers));
	struct over o = { .to = to, .list = list, .group_from.number = numbers, .group_to.number = numbers + room };
	struct snapshot s;
	int err = numbers ? snapshot_init(&s, n + 3 + to->parts, to->capture.scale) : -ENOMEM;

	if (err)
		return err;
	snapshot_track(&s);
	o.best = s.w;
	o.sum_from = s.w + n;
	o.sum_to = s.w + n + 1;
	o.apart = s.w + n + 2;
	for (u32 try = 0; try < TRIES && look_at_all(&o, n, !try); try++)
		nanosleep(&pause, NULL);
	*ret_gap_ns = 0;
	for (u32 i = 0; i < n; i = next_whole(to, i)) {
		finish(&o, &list[i]);
		if (list[i].look.moved && list[i].look.took_ns > *ret_gap_ns)
			*ret_gap_ns = list[i].look.took_ns;
	}
	snapshot_uninit(&s);
	return 0;
}

u64 carry_waiting(const struct kernel_capture *from, u32 i, const struct kernel_capture *to, u32 j)
{
	const struct carried c = { .of = from, .from = i, .to = j };
	struct starts s = compare_starts(to, &c);

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
	/*
	 * The kernel's count goes on from its first base. The capture's own empty flushes are subtracted already;
	 * those of the carry are not.
	 */
	if (w->kernel_known)
		w->kernel_ios -= carry->accounts[BLKLAT_EMPTY_FLUSH];
}

void carry_keep_told(u64 told, u64 now, struct watch_counts *carry)
{
	s64 less = told - now - carry->accounts[BLKLAT_TAG_RANGE];

	if (less <= 0)
		return;
	carry->accounts[BLKLAT_TAG_RANGE] += less;
	carry->started -= less;
}
