// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus_totals.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

static void series_unref(struct series *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		hist_uninit(&s->ops[op].hist);
	free(s);
}

struct totals *totals_new(void)
{
	struct totals *t = calloc(1, sizeof(*t));

	if (t)
		atomic_init(&t->refs, 1);
	return t;
}

struct totals *totals_ref(struct totals *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void totals_unref(struct totals *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	for (u32 i = 0; i < t->n; i++)
		series_unref(t->series[i]);
	free(t->series);
	free(t);
}

static int number_of(const struct part *part)
{
	return part ? part->number : 0;
}

static int by_name(const void *va, const void *vb)
{
	const struct series *a = *(struct series *const *)va, *b = *(struct series *const *)vb;
	int order = strverscmp(a->device.name, b->device.name);

	order = order ? order : (int)a->stage - (int)b->stage;
	return order ? order : number_of(a->part) - number_of(b->part);
}

static void raise_by(struct rising *r, u64 more)
{
	r->total += more;
	r->since += more;
}

static void raise_to(struct rising *r, u64 now)
{
	if (now > r->since)
		raise_by(r, now - r->since);
}

/*
 * A loss may be explained later and move to another reason. Here it stays with the reason reported first, so that no
 * total falls, and the sum over all reasons is the highest loss that was ever reported.
 */
static void raise_losses(struct rising lost_by[LOST_REASONS], const u64 now[LOST_REASONS])
{
	u64 told = 0, known = 0;

	for (u32 i = 0; i < LOST_REASONS; i++) {
		told += lost_by[i].since;
		known += now[i];
	}
	for (u32 i = 0; i < LOST_REASONS; i++) {
		u64 more = now[i] > lost_by[i].last ? now[i] - lost_by[i].last : 0;
		u64 untold = known > told ? known - told : 0;

		if (more > untold)
			more = untold;
		raise_by(&lost_by[i], more);
		told += more;
		lost_by[i].last = now[i];
	}
}

static bool op_counted(const struct op_frame *o)
{
	return o->ios || o->counted.bytes || o->counted.errors;
}

/*
 * Reads and writes are exposed from the beginning, at 0; other ops once they have an IO. For a divided watch only its
 * first part is exposed from the beginning, which is enough for the whole to have a rate; all parts would be nine times
 * as many series. By cgroup that is IO of no cgroup, which most devices never have.
 */
static bool op_exposed(const struct op_total *before, const struct frame *f, u32 op)
{
	const struct part *part = f->watch->part;
	bool early = (op == BLKLAT_OP_READ || op == BLKLAT_OP_WRITE) && (!part || (part->number == 1 && strcmp(part->by, by_names[BLKLAT_BY_CGROUP])));

	return (before && before->hist.cells) || early || op_counted(&f->ops[op]);
}

/* Returns 0 or -ENOMEM. The total @to is a copy of @before, except for the histogram. */
static int add_op(struct op_total *to, const struct op_total *before, const struct op_frame *o, s64 begin_ns, u32 scale)
{
	int err = hist_init(&to->hist, scale);

	if (err)
		return err;
	hist_track(&to->hist);
	if (before && before->hist.cells)
		hist_add(&to->hist, &before->hist);
	else
		to->created_ns = begin_ns;
	/*
	 * Bytes and errors as they were counted, including those of IOs that have not ended: a total keeps them
	 * whatever becomes of the device. The sum of latencies stays consistent with the buckets.
	 */
	to->bytes += o->counted.bytes;
	to->errors += o->counted.errors;
	to->sum_ns += o->sum_ns;
	if (o->ios)
		hist_add(&to->hist, &o->hist);
	return 0;
}

static void add_watch(struct series *s, const struct frame *f, u64 interval)
{
	bool missed = accounting_ends_missed(&f->accounting);

	if (s->number != f->number) {	/* it is counted from 0 again */
		s->started.since = s->requeued.since = 0;
		for (u32 i = 0; i < LOST_REASONS; i++)
			s->lost_by[i].since = s->lost_by[i].last = 0;
	}
	s->device = *f->watch->device;
	s->stage = f->watch->stage;
	s->part = f->watch->part;
	s->number = f->number;
	s->interval = interval;
	s->gone = f->gone;
	/*
	 * An IO whose end was missed does not hang, so it is left out; its loss is counted when its slot is used again.
	 */
	s->in_flight = missed ? 0 : f->in_flight;
	s->oldest_ns = missed ? 0 : f->oldest_ns;
	s->queue_depth = f->queue_depth;
	raise_to(&s->started, f->accounting.started);
	raise_to(&s->requeued, f->accounting.requeued);
	raise_losses(s->lost_by, f->accounting.lost_by);
}

/* Takes exemplars for the op of a whole or a part: the IOs that took longest, in this order. */
static void take_exemplars(struct op_total *to, const struct totals_interval *add, u32 i, u32 op)
{
	const struct frames *fs = add->frames;
	const struct part *part = fs->f[i].watch->part;
	const struct slow_of *of;
	u32 n = 0;

	while (fs->f[i].watch->part)
		i--;
	of = &fs->slow->of[fs->f[i].watch - add->run->watches];
	for (u32 k = 0; k < of->n; k++) {
		const struct slow_io *io = &fs->slow->io[of->first + k];
		const struct blklat_slow *t = &io->told;
		u32 at = n;

		if (t->op != op || io->part != part || !(t->known & (BLKLAT_SLOW_SECTOR | BLKLAT_SLOW_SUBMITTER)))
			continue;
		while (at && to->exemplars[at - 1].latency_ns < t->latency_ns)
			at--;
		if (at == EXEMPLARS_MAX)
			continue;
		n += n < EXEMPLARS_MAX;
		memmove(&to->exemplars[at + 1], &to->exemplars[at], (n - 1 - at) * sizeof(*to->exemplars));
		to->exemplars[at] = (struct exemplar){ t->latency_ns, io->end_ns, t->sector, t->submitter, t->known, "" };
		memcpy(to->exemplars[at].comm, t->comm, BLKLAT_COMM);
	}
	to->n_exemplars = n ?: to->n_exemplars;
}

static void add_slow(struct series *s, const struct totals_interval *add, const struct frame *f)
{
	const struct slow_ios *slow = add->frames->slow;
	const struct slow_of *of;

	s->tells_slow = slow;
	if (!slow || s->part)
		return;
	of = &slow->of[f->watch - add->run->watches];
	s->slow += of->found;
	for (u32 i = 0; i < of->n; i++)
		s->failed[slow_error_number(slow->io[of->first + i].told.error)]++;
}

/*
 * Makes the series after frame @i of an interval with this number. @before is the previous one; NULL: it is new. Returns NULL if
 * there is no memory.
 */
static struct series *series_next(const struct series *before, u64 interval, const struct totals_interval *add, u32 i)
{
	const struct frame *f = &add->frames->f[i];
	s64 begin_ns = f->end_ns - (s64)(f->interval_s * NSEC_PER_SEC);
	struct series *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (before)	/* everything but the references, which other threads change */
		memcpy(&s->device, &before->device, sizeof(*s) - offsetof(struct series, device));
	atomic_init(&s->refs, 1);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		s->ops[op].hist.cells = NULL;
	add_watch(s, f, interval);
	add_slow(s, add, f);
	if (!s->part && frames_parts(add->frames, i))
		return s;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_total *old = before ? &before->ops[op] : NULL;

		if (op_exposed(old, f, op) && add_op(&s->ops[op], old, &f->ops[op], begin_ns, add->scale)) {
			series_unref(s);
			return NULL;
		}
		if (s->tells_slow && s->ops[op].hist.cells)
			take_exemplars(&s->ops[op], add, i, op);
	}
	return s;
}

/* The place of @w's series among the first @n, which are sorted; NULL if it is new. */
static struct series **find(const struct totals *t, u32 n, const struct watch *w)
{
	struct series key, *at = &key;

	strcpy(key.device.name, w->device->name);
	key.stage = w->stage;
	key.part = w->part;
	return bsearch(&at, t->series, n, sizeof(at), by_name);
}

static bool put_frame(struct totals *t, u32 n_before, const struct totals_interval *add, u32 i)
{
	struct series **at = find(t, n_before, add->frames->f[i].watch);
	struct series *s = series_next(at ? *at : NULL, t->facts.intervals, add, i);

	if (!s)
		return false;
	if (at) {
		series_unref(*at);
		*at = s;
	} else {
		t->series[t->n++] = s;
	}
	return true;
}

/* While there are too many series, removes the one that went away first. */
static void forget_oldest(struct totals *t)
{
	for (;;) {
		u32 absent = 0, oldest = 0;

		for (u32 i = 0; i < t->n; i++) {
			if (series_present(t, t->series[i]))
				continue;
			if (!absent++ || t->series[i]->interval < t->series[oldest]->interval)
				oldest = i;
		}
		if (absent <= TOTALS_ABSENT_MAX)
			return;
		series_unref(t->series[oldest]);
		t->series[oldest] = t->series[--t->n];
	}
}

/* A part that no cgroup owns yet has no series. */
static bool is_vacant(const struct watch *w)
{
	return w->part && part_is_vacant(w->part);
}

/*
 * By cgroup, a part has no frame any more once its owner has ended, while its whole still has one: everything that it
 * counted was exposed, so its series ends. If the device is gone, the series stays, like the device's own.
 */
static bool has_ended(const struct totals *t, const struct series *s)
{
	const struct watch whole = { .device = &s->device, .stage = s->stage };
	struct series **at;

	if (!s->part || strcmp(s->part->by, by_names[BLKLAT_BY_CGROUP]) != 0 || s->gone || s->interval == t->facts.intervals)
		return false;
	at = find(t, t->n, &whole);
	return at && (*at)->interval == t->facts.intervals;
}

/* Returns false if there is no memory. */
static bool forget_ended(struct totals *t)
{
	bool *ended CLEANUP(cleanup_free) = calloc(t->n + 1, sizeof(*ended));
	u32 kept = 0;

	for (u32 i = 0; ended && i < t->n; i++)
		ended[i] = has_ended(t, t->series[i]);
	for (u32 i = 0; ended && i < t->n; i++)
		if (ended[i])
			series_unref(t->series[i]);
		else
			t->series[kept++] = t->series[i];
	t->n = ended ? kept : t->n;
	return ended;
}

/* Adds the frames of devices that are gone, or of the others. Returns false if there is no memory. */
static bool put_those(struct totals *t, const struct totals_interval *add, bool gone)
{
	u32 n_before = t->n;

	for (u32 i = 0; i < add->frames->n; i++) {
		const struct frame *f = &add->frames->f[i];

		if (f->gone == gone && !is_vacant(f->watch) && !put_frame(t, n_before, add, i))
			return false;
	}
	if (t->n > n_before)
		qsort(t->series, t->n, sizeof(*t->series), by_name);
	return true;
}

static bool put_frames(struct totals *t, const struct totals_interval *add)
{
	t->facts.intervals += add->reads;
	/* The one that took its place in this very interval continues its series. */
	if (!put_those(t, add, true) || !put_those(t, add, false))
		return false;
	raise_to(&t->facts.skipped, add->frames->skipped_unexplained);
	if (add->frames->n)
		t->facts.end_ns = add->frames->f[0].end_ns;
	if (!forget_ended(t))
		return false;
	forget_oldest(t);
	qsort(t->series, t->n, sizeof(*t->series), by_name);
	return true;
}

static void add_facts(struct totals_facts *facts, const struct totals_interval *add)
{
	snprintf(facts->version, sizeof(facts->version), "%s", add->run->version);
	snprintf(facts->engine, sizeof(facts->engine), "%s", add->run->engine);
	facts->memory_bytes = add->run->memory_bytes;
	facts->interval_s = add->run->interval_s;
	facts->drain_ns += add->drain_ns;
	memcpy(facts->refused, add->refused, sizeof(facts->refused));
}

struct totals *totals_next(const struct totals *before, const struct totals_interval *add)
{
	u32 room = before->n + (add->frames ? add->frames->n : 0);
	struct totals *t = totals_new();

	if (!t)
		return NULL;
	memcpy(&t->facts, &before->facts, sizeof(t->facts));
	t->series = calloc(room ? room : 1, sizeof(*t->series));
	if (!t->series) {
		totals_unref(t);
		return NULL;
	}
	for (; t->n < before->n; t->n++) {
		t->series[t->n] = before->series[t->n];
		atomic_fetch_add(&t->series[t->n]->refs, 1);
	}
	add_facts(&t->facts, add);
	if (add->frames && !put_frames(t, add)) {
		totals_unref(t);
		return NULL;
	}
	return t;
}
