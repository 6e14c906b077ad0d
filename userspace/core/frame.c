// SPDX-License-Identifier: GPL-2.0-only
#include "core/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define REPLAY_COUNTS 4	/* the stored interval, two snapshots, and what is collected */
#define REPLAY_FRAMES 2	/* of an interval, and their sum */

u64 replay_watch_bytes(void)
{
	return REPLAY_COUNTS * sizeof(struct watch_counts) + REPLAY_FRAMES * sizeof(struct frame);
}

int frames_init_room(struct frames *fs, u32 room, u32 scale)
{
	struct frames made = {
		.scale = scale, .f = sparse_calloc(room + 1, sizeof(*made.f)), .cells = op_cells_make(room, scale),
	};

	if (!made.f || !made.cells) {
		frames_uninit(&made);
		return scale > BLKLAT_SCALE_MAX ? -EINVAL : -ENOMEM;
	}
	*fs = made;
	return 0;
}

int frames_init(struct frames *fs, const struct watch *watches, u32 n, u32 scale)
{
	int err = frames_init_room(fs, n, scale);

	if (!err)
		frames_enter(fs, watches, 0, n, 0);
	return err;
}

/* Resets the frames from @first on. Those without cells get the cells of watch @own and the following in @cells. */
static void enter(struct frames *fs, u64 *cells, u32 own, const struct watch *watches, u32 first, u32 n, u32 number)
{
	for (u32 i = 0; i < n; i++) {
		struct frame *f = &fs->f[first + i];

		f->watch = &watches[i];
		f->part = part_number(watches[i].part);
		f->number = number + i;
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			op_cells_take(cells, own + i, op, fs->scale, &f->ops[op].hist, &f->ops[op].after_idle);
		frame_clear(f);
	}
	fs->n = max_u64(fs->n, first + n);
}

void frames_enter(struct frames *fs, const struct watch *watches, u32 first, u32 n, u32 number)
{
	enter(fs, fs->cells, first, watches, first, n, number);
}

int frames_append(struct frames *fs, const struct watch *watches, u32 n, u32 number)
{
	u64 *cells = op_cells_make(n, fs->scale);

	if (!cells || array_grow(&fs->f, sizeof(*fs->f), fs->n + n) ||
	    array_grow(&fs->appended, sizeof(*fs->appended), fs->n_appended + 1)) {
		free(cells);
		return -ENOMEM;
	}
	memset(&fs->f[fs->n], 0, n * sizeof(*fs->f));
	fs->appended[fs->n_appended++] = cells;
	enter(fs, cells, 0, watches, fs->n, n, number);
	return 0;
}

void frames_uninit(struct frames *fs)
{
	for (u32 i = 0; i < fs->n_appended; i++)
		free(fs->appended[i]);
	free(fs->appended);
	free(fs->f);
	free(fs->cells);
	*fs = (struct frames){ 0 };
}

void frames_choose_there(struct frames *fs, const struct frames *interval)
{
	struct frame *f = fs->f;

	*fs = *interval;
	fs->f = f;
	fs->cells = NULL;
	fs->n = 0;
	for (u32 i = 0; i < interval->n; i++)
		if (!interval->f[i].gone_before)
			f[fs->n++] = interval->f[i];
}

void frames_set_slow(struct frames *fs, const struct slow_ios *slow)
{
	fs->slow = slow;
	for (u32 i = 0; i < fs->n; i++)
		fs->f[i].slow = slow && !fs->f[i].watch->part ? &slow->of[i] : NULL;
}

u32 frames_parts(const struct frames *fs, u32 i)
{
	u32 parts = 0;

	while (i + 1 + parts < fs->n && fs->f[i + 1 + parts].watch->part)
		parts++;
	return parts;
}

bool frames_agree_with_kernel(const struct frames *fs)
{
	bool any = false;

	for (u32 i = 0; i < fs->n; i += 1 + frames_parts(fs, i)) {
		const struct accounting *a = &fs->f[i].accounting;

		if (fs->f[i].watch->stage != BLKLAT_STAGE_DEVICE)
			continue;
		if (!a->kernel_known || a->moved || a->lost || a->kernel_ios != a->completed)
			return false;
		any = true;
	}
	return any;
}

static void op_clear(struct op_frame *o)
{
	hist_clear(&o->hist);
	hist_clear(&o->after_idle);
	*o = (struct op_frame){ .hist = o->hist, .after_idle = o->after_idle };
}

void frame_clear(struct frame *f)
{
	struct frame cleared = { .watch = f->watch, .number = f->number, .part = f->part };

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		op_clear(&f->ops[op]);
		cleared.ops[op] = f->ops[op];
	}
	*f = cleared;
}

/* Computes the figures to show from the counts: from bins, sums and the interval's length. */
static void derive(struct frame *f, const struct percentiles *ps)
{
	double per_s = f->interval_s > 0 ? 1 / f->interval_s : 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct op_frame *o = &f->ops[op];

		o->iops = o->ios * per_s;
		o->bytes_per_s = o->bytes * per_s;
		if (!o->ios)
			continue;
		o->mean_ns = (double)o->sum_ns / o->ios;
		for (u32 i = 0; i < ps->n; i++)
			o->percentile_ns[i] = op_quantile_ns(o, ps->p[i].q);
	}
	f->queue_depth = f->in_flight_ns > 0 ? (double)f->in_flight_ns / NSEC_PER_SEC * per_s : 0;
	f->busy = (double)f->busy_ns / NSEC_PER_SEC * per_s;
}

static void sums_add(struct op_sums *to, const struct op_sums *more)
{
	to->bytes += more->bytes;
	to->errors += more->errors;
	to->sum_ns += more->sum_ns;
}

/* Gives the sums to the interval's IOs, or keeps them for the next interval that has any. */
static void give_sums(struct op_frame *o)
{
	static const struct op_sums none;

	sums_add(&o->partial, &o->counted);
	o->bytes = o->ios ? o->partial.bytes : 0;
	o->errors = o->ios ? o->partial.errors : 0;
	o->sum_ns = o->ios ? o->partial.sum_ns : 0;
	if (o->ios)
		o->partial = none;
}

/*
 * The sum may be ahead of the bins, or behind, by an IO. So clamp the mean to [min, max]. What the interval's IOs
 * can't have taken is left to the next interval; what they must have taken beyond the sum is borrowed from it.
 */
static void reconcile_sum(struct op_frame *o)
{
	double least_ns = (double)o->ios * o->min_ns, most_ns = (double)o->ios * o->max_ns;
	s64 sum_ns = o->sum_ns;

	if (sum_ns < least_ns)
		o->sum_ns = least_ns;
	else if (sum_ns > most_ns)
		o->sum_ns = most_ns;
	o->partial.sum_ns = sum_ns - o->sum_ns;
}

static void idle_clear(struct op_frame *o)
{
	hist_clear(&o->after_idle);
	o->after_idle_sum_ns = 0;
}

/* @before is NULL if @now has only the counts since then. */
static void op_between(struct op_frame *o, const struct op_counts *before, const struct op_counts *now)
{
	static const struct op_counts nothing;
	struct extremes extremes;

	/* IOs after a pause that were counted before their bin, in an interval without IOs, belong to this interval. */
	if (o->ios)
		idle_clear(o);
	if (before) {
		hist_add_diff(&o->after_idle, &now->after_idle, &before->after_idle);
		hist_diff(&o->hist, &now->hist, &before->hist);
	} else {
		hist_add(&o->after_idle, &now->after_idle);
		hist_copy(&o->hist, &now->hist);
		before = &nothing;
	}
	o->after_idle_sum_ns += now->after_idle_sum_ns - before->after_idle_sum_ns;
	o->ios = hist_count(&o->hist);
	o->counted = (struct op_sums){
		.bytes = now->bytes - before->bytes,
		.errors = now->errors - before->errors,
		.sum_ns = now->sum_ns - before->sum_ns,
	};
	give_sums(o);
	if (!o->ios)
		return;
	extremes = extremes_of(now, &o->hist);
	o->min_ns = extremes.min_ns;
	o->max_ns = extremes.max_ns;
	reconcile_sum(o);
}

/* The number of IOs of @h in the bin of @ns and above. */
static u64 count_from(const struct hist *h, u64 ns)
{
	u64 n = 0;

	if (!h->octaves)
		return 0;
	for (u32 cell = blklat_cell(ns, h->scale); cell < BLKLAT_CELLS(h->scale); cell++)
		n += h->cells[cell];
	return n;
}

/* Was, or may have been, an IO in flight for as long as the gap, other than those after a pause? */
static bool pauses_doubtful(const struct frame *f, u64 gap_ns)
{
	const struct hist *coarse = &f->ops[0].after_idle;
	/* The gap's coarse bin starts here. So does a bin of the other histogram: both count the same IOs. */
	u64 from_ns = hist_lower_ns(coarse->scale, blklat_cell(gap_ns, coarse->scale)) + 1;
	u64 long_ios = 0, after_idle = 0;

	if (f->oldest_ns >= gap_ns)
		return true;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		long_ios += count_from(&f->ops[op].hist, from_ns);
		after_idle += count_from(&f->ops[op].after_idle, from_ns);
	}
	return long_ios > after_idle;
}

/*
 * Is it in doubt which IOs came after a pause? @in_flight: when the interval began. IOs that were issued behind a
 * long IO of the previous interval may be among them.
 */
static bool find_doubt(struct frame *f, u64 in_flight, u64 gap_ns)
{
	bool carried = f->pauses_hidden && in_flight;

	f->pauses_hidden = pauses_doubtful(f, gap_ns);
	return f->pauses_hidden || carried;
}

static void settle_pauses(struct frame *f, bool doubtful)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct op_frame *o = &f->ops[op];

		if (doubtful)
			idle_clear(o);
		o->after_idle_ios = hist_count(&o->after_idle);
	}
}

/*
 * The time that IOs spent in flight between the two snapshots: the latencies of those that completed, less what they
 * had already waited at the first snapshot, plus what those still in flight have waited at the second. So it adds up
 * over intervals, whatever completes when. If an age disappears without a latency (the completion was missed, or the
 * device went away), only the latencies are known; by Little's law these are right on average.
 *
 * An IO that completes while the second snapshot is read counts up to its completion, a moment after the interval's
 * end; the next interval has that much less. If it is unknown which of several did (see accounting_settle_ages()),
 * one may count twice here, and the next interval is less than nothing.
 */
static s64 in_flight_between(const struct frame *f, const struct watch_counts *before, const struct watch_counts *now)
{
	u64 ns = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		ns += f->ops[op].counted.sum_ns;
	if (now->gone || now->accounts[BLKLAT_OVERWRITTEN] != before->accounts[BLKLAT_OVERWRITTEN])
		return ns;
	return ns + now->waited_ns - before->waited_ns;
}

/*
 * A CPU may be about to add a moment at a read (BLKLAT_BUSY), and what begins between the reading of the clock and that
 * of the cell is below 0 until it ends. So the share is kept within 0 and 1, and the rest is left to the next interval:
 * all intervals add up to the whole time.
 */
static void take_busy(struct frame *f, const struct snapshot *before, const struct snapshot *now, u32 i)
{
	s64 ns = f->busy_left_ns + now->w[i].accounts[BLKLAT_BUSY] - before->w[i].accounts[BLKLAT_BUSY];

	f->busy_known = now->w[i].accounts[BLKLAT_BUSY];
	f->busy_ns = ns > 0 ? min_u64(ns, now->mono_ns - before->mono_ns) : 0;
	f->busy_left_ns = ns - f->busy_ns;
}

/* --- parts whose owner has ended ------------------------------------------------------------- */

static void after_idle_add(struct op_frame *to, const struct op_frame *more)
{
	to->after_idle_ios += more->after_idle_ios;
	to->after_idle_sum_ns += more->after_idle_sum_ns;
	hist_add(&to->after_idle, &more->after_idle);
}

static void op_move(struct op_frame *to, struct op_frame *from)
{
	op_frame_merge(to, from);
	sums_add(&to->partial, &from->partial);
	sums_add(&to->counted, &from->counted);
	after_idle_add(to, from);
	op_clear(from);
}

/* The frame of the part "rest" of @whole. It exists wherever owners change. */
static struct frame *rest_of(struct frames *fs, u32 whole)
{
	for (u32 i = whole + 1; i < fs->n && fs->f[i].watch->part; i++)
		if (fs->f[i].watch->part->number == BLKLAT_CGROUP_REST)
			return &fs->f[i];
	return NULL;
}

/* Moves the counts of previous owners to the rest. Skips frames without a watch, as in sums that are not shown. */
void frames_follow_parts(struct frames *fs)
{
	u32 whole = 0;

	for (u32 i = 0; i < fs->n; i++) {
		struct frame *f = &fs->f[i], *rest;
		u32 was = f->part;

		if (!f->watch)
			continue;
		if (!f->watch->part)
			whole = i;
		f->part = part_number(f->watch->part);
		if (f->part == was || !was)
			continue;
		rest = rest_of(fs, whole);
		for (u32 op = 0; rest && op < BLKLAT_OPS; op++)
			op_move(&rest->ops[op], &f->ops[op]);
		if (!rest)
			continue;
		rest->in_flight_ns = (u64)rest->in_flight_ns + f->in_flight_ns;
		f->in_flight_ns = 0;
	}
}

void frames_between(struct frames *fs, const struct snapshot *before, const struct snapshot *now,
		    const struct percentiles *ps, u32 cpus)
{
	u64 skipped_left = now->skipped;
	bool doubtful = false;

	frames_follow_parts(fs);	/* the partial sums */
	fs->interval_s = (double)(s64)(now->mono_ns - before->mono_ns) / NSEC_PER_SEC;
	for (u32 i = 0; i < fs->n; i++) {
		const struct watch_counts *w = &now->w[i];
		struct frame *f = &fs->f[i];
		bool whole = !f->watch->part;

		for (u32 op = 0; op < BLKLAT_OPS; op++)
			op_between(&f->ops[op], now->replayed ? NULL : &before->w[i].ops[op], &w->ops[op]);
		f->end_ns = now->wall_ns;
		f->interval_s = fs->interval_s;
		f->in_flight = w->in_flight;
		f->oldest_ns = w->oldest_ns;
		f->in_flight_ns = in_flight_between(f, &before->w[i], w);
		f->tag_range = w->accounts[BLKLAT_TAG_RANGE] - before->w[i].accounts[BLKLAT_TAG_RANGE];
		f->gone = w->gone;
		f->gone_before = w->gone && before->w[i].gone && w->awaited == before->w[i].awaited;
		f->replaced = w->replaced;
		f->counts = w;
		take_busy(f, before, now, i);
		if (whole)
			accounting_make(now, i, cpus, &skipped_left, &f->accounting);
		/*
		 * Pauses are the device's: what hides them from the whole hides them from its parts, which come next.
		 */
		if (whole)
			doubtful = find_doubt(f, before->w[i].in_flight, now->idle_gap_ns);
		settle_pauses(f, doubtful);
		derive(f, ps);
	}
	for (u32 i = 0; i < fs->n; i++)
		if (!fs->f[i].watch->part)
			fs->f[i].accounting.skipped_unexplained = skipped_left;
	fs->skipped_unexplained = skipped_left;
	fs->mono_ns = now->mono_ns;
	fs->idle_gap_ns = now->idle_gap_ns;
	fs->before = before;
	fs->now = now;
}

void op_frame_merge(struct op_frame *to, const struct op_frame *from)
{
	if (!from->ios)
		return;
	if (!to->ios || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (!to->ios || from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->ios += from->ios;
	to->bytes += from->bytes;
	to->errors += from->errors;
	to->sum_ns += from->sum_ns;
	hist_add(&to->hist, &from->hist);
}

int merged_init(struct op_frame *m, u32 scale)
{
	*m = (struct op_frame){ 0 };
	return hist_init(&m->hist, scale);
}

void merged_uninit(struct op_frame *m)
{
	hist_uninit(&m->hist);
}

void frame_merge_ops(const struct frame *f, struct op_frame *ret)
{
	hist_clear(&ret->hist);
	*ret = (struct op_frame){ .hist = ret->hist };
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_frame_merge(ret, &f->ops[op]);
}

static void op_accumulate(struct op_frame *run, const struct op_frame *o)
{
	op_frame_merge(run, o);
	run->partial = o->partial;
	sums_add(&run->counted, &o->counted);
	if (o->ios)
		after_idle_add(run, o);
}

void frame_accumulate(struct frame *r, const struct frame *f, const struct percentiles *ps)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_accumulate(&r->ops[op], &f->ops[op]);
	r->end_ns = f->end_ns;
	r->interval_s += f->interval_s;
	/* Modulo 2^64, as a recording may hold any value. */
	r->in_flight_ns = (u64)r->in_flight_ns + f->in_flight_ns;
	r->busy_ns += f->busy_ns;
	r->busy_known |= f->busy_known;
	r->in_flight = f->in_flight;
	r->oldest_ns = f->oldest_ns;
	r->gone = f->gone;
	r->replaced = f->replaced;
	r->accounting = f->accounting;
	if (f->health.ailment >= r->health.ailment)
		r->health = f->health;
	derive(r, ps);
}

void frames_accumulate_rest(struct frames *run, const struct frames *interval)
{
	run->interval_s += interval->interval_s;
	run->skipped_unexplained = interval->skipped_unexplained;
	run->mono_ns = interval->mono_ns;
	run->reads += interval->reads ?: 1;
	run->drain_ns += interval->drain_ns;
	run->idle_gap_ns = interval->idle_gap_ns;
	run->host = interval->host;
}

void frames_accumulate(struct frames *run, const struct frames *interval, const struct percentiles *ps)
{
	frames_follow_parts(run);
	for (u32 i = 0; i < run->n; i++)
		frame_accumulate(&run->f[i], &interval->f[i], ps);
	frames_accumulate_rest(run, interval);
}

void frames_set_percentiles(struct frames *run, const struct percentiles *ps)
{
	for (u32 i = 0; i < run->n; i++)
		derive(&run->f[i], ps);
}
