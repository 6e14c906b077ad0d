// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus_families.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static void series_free(struct series *s)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		hist_uninit(&s->ops[op].hist);
	part_keep(&s->part, NULL);
	free(s);
}

static int by_name(const void *va, const void *vb)
{
	const struct series *a = *(struct series *const *)va, *b = *(struct series *const *)vb;
	int order = strverscmp(a->device.name, b->device.name);

	order = order ? order : (int)a->stage - (int)b->stage;
	return order ? order : (int)(part_number(a->part) - part_number(b->part));
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
 * A loss that is explained later moves to another reason. Here it stays with the first one, so that no total falls,
 * and the sum of all reasons is the highest loss that was ever reported.
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
 * Reads and writes are exposed from the beginning, at 0; other ops once they have an IO. Of a divided watch only the
 * first part is, which is enough for the whole to have a rate, and a ninth of the series. By cgroup and process no
 * part is: the first is IO of none, which most devices never have.
 */
static bool op_exposed(const struct op_total *total, const struct frame *f, u32 op)
{
	const struct part *part = f->watch->part;
	bool first = !part || (part->number == 1 && !part_has_owners(part));
	bool early = first && (op == BLKLAT_OP_READ || op == BLKLAT_OP_WRITE);

	return total->hist.cells || early || op_counted(&f->ops[op]);
}

static s64 begin_of(const struct frame *f)
{
	return f->end_ns - (s64)(f->interval_s * NSEC_PER_SEC);
}

/* Makes the histogram if there is none, or makes it as coarse as @scale. Returns 0 or -ENOMEM. */
static int prepare_hist(struct op_total *to, s64 begin_ns, u32 scale)
{
	struct hist made;

	if (to->hist.cells && to->hist.scale <= scale)
		return 0;
	if (hist_init(&made, scale))
		return -ENOMEM;
	if (to->hist.cells)
		hist_add(&made, &to->hist);
	else
		to->created_ns = begin_ns;
	hist_uninit(&to->hist);
	to->hist = made;
	return 0;
}

/*
 * Bytes and errors are added as they were counted, including those of IOs that have not ended: a total keeps them
 * whatever becomes of the device. The sum of latencies agrees with the buckets.
 */
static int add_op(struct op_total *to, const struct op_frame *o, s64 begin_ns, u32 scale)
{
	int err = prepare_hist(to, begin_ns, scale);

	if (err)
		return err;
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
	part_keep(&s->part, f->watch->part);
	s->number = f->number;
	s->interval = interval;
	s->gone = f->gone;
	/*
	 * An IO whose end was missed is not in flight, so it is left out; its loss is counted when its slot is used
	 * again.
	 */
	s->in_flight = missed ? 0 : f->in_flight;
	s->oldest_ns = missed ? 0 : f->oldest_ns;
	s->queue_depth = f->queue_depth;
	s->busy_known |= f->busy_known;
	s->busy_ns += f->busy_ns;
	s->health = f->health;
	raise_to(&s->started, f->accounting.started);
	raise_to(&s->requeued, f->accounting.requeued);
	raise_losses(s->lost_by, f->accounting.lost_by);
}

/* Takes the exemplars of an op, of a whole or a part: the IOs that took longest, in this order. */
static void take_exemplars(struct op_total *to, const struct frames *fs, u32 i, u32 op)
{
	const struct part *part = fs->f[i].watch->part;
	const struct slow_of *of;
	u32 n = 0;

	while (fs->f[i].watch->part)
		i--;
	of = fs->f[i].slow;
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
		to->exemplars[at] = (struct exemplar){
			t->latency_ns, io->end_ns, t->sector, t->submitter, t->known, "",
		};
		memcpy(to->exemplars[at].comm, t->comm, BLKLAT_COMM);
	}
	to->n_exemplars = n ?: to->n_exemplars;
}

static void add_slow(struct series *s, const struct slow_ios *slow, const struct slow_of *of)
{
	s->tells_slow = slow;
	if (!of)
		return;
	s->slow += of->found;
	for (u32 i = 0; i < of->n; i++)
		s->failed[slow_error_number(slow->io[of->first + i].told.error)]++;
}

/* Adds frame @i of @fs. Returns 0 or -ENOMEM. */
static int add_frame(struct series *s, const struct totals *t, const struct frames *fs, u32 i)
{
	const struct frame *f = &fs->f[i];
	int err = 0;

	add_watch(s, f, t->intervals);
	add_slow(s, fs->slow, f->slow);
	if (!s->part && frames_parts(fs, i))
		return 0;
	for (u32 op = 0; !err && op < BLKLAT_OPS; op++) {
		if (op_exposed(&s->ops[op], f, op))
			err = add_op(&s->ops[op], &f->ops[op], begin_of(f), t->scale);
		if (s->tells_slow && s->ops[op].hist.cells)
			take_exemplars(&s->ops[op], fs, i, op);
	}
	return err;
}

/* The series of @w among the first @n, which are sorted; NULL: it is new. */
static struct series **find(const struct totals *t, u32 n, const struct watch *w)
{
	struct series key, *at = &key;

	strcpy(key.device.name, w->device->name);
	key.stage = w->stage;
	key.part = w->part;
	return bsearch(&at, t->series, n, sizeof(at), by_name);
}

static int put_frame(struct totals *t, u32 n_before, const struct frames *fs, u32 i)
{
	struct series **at = find(t, n_before, fs->f[i].watch);

	if (!at) {
		at = &t->series[t->n];
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		t->n++;
	}
	return add_frame(*at, t, fs, i);
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
		series_free(t->series[oldest]);
		t->n--;
		memmove(&t->series[oldest], &t->series[oldest + 1], (t->n - oldest) * sizeof(*t->series));
	}
}

/* A part that has no owner yet has no series. */
static bool is_vacant(const struct watch *w)
{
	return w->part && part_is_vacant(w->part);
}

/*
 * By cgroup or process, a part has no frame any more once its owner has ended, while its whole still has one. All that
 * it counted was exposed, so its series ends. If the device is gone, the series is kept, as the device's own is.
 */
static bool has_ended(const struct totals *t, const struct series *whole, const struct series *s)
{
	return part_has_owners(s->part) && !s->gone && s->interval != t->intervals &&
	       whole && whole->interval == t->intervals && whole->stage == s->stage &&
	       !strcmp(whole->device.name, s->device.name);
}

static void forget_ended(struct totals *t)
{
	const struct series *whole = NULL;	/* it stands before its parts */
	u32 n = t->n;

	t->n = 0;
	for (u32 i = 0; i < n; i++) {
		struct series *s = t->series[i];

		whole = s->part ? whole : s;
		if (has_ended(t, whole, s))
			series_free(s);
		else
			t->series[t->n++] = s;
	}
}

/* Adds the frames of devices that are gone, or of the others. Returns 0 or -ENOMEM. */
static int put_those(struct totals *t, const struct frames *fs, bool gone)
{
	u32 n_before = t->n;
	int err = 0;

	for (u32 i = 0; !err && i < fs->n; i++)
		if (fs->f[i].gone == gone && !is_vacant(fs->f[i].watch))
			err = put_frame(t, n_before, fs, i);
	if (t->n > n_before)
		qsort(t->series, t->n, sizeof(*t->series), by_name);
	return err;
}

int totals_add(struct totals *t, const struct frames *fs)
{
	u32 most = t->n + fs->n;
	int err;

	if (most > t->room && array_grow(&t->series, sizeof(*t->series), most))
		return -ENOMEM;
	t->room = max_u64(t->room, most);
	t->intervals += fs->reads ?: 1;
	t->drain_ns += fs->drain_ns;
	/* A device that took the place of one that went in this interval continues its series. */
	err = put_those(t, fs, true) ?: put_those(t, fs, false);
	if (err)
		return err;
	raise_to(&t->skipped, fs->skipped_unexplained);
	if (fs->n) {
		t->begin_ns = t->begin_ns ?: begin_of(&fs->f[0]);
		t->end_ns = fs->f[0].end_ns;
	}
	forget_ended(t);
	forget_oldest(t);
	return 0;
}

void totals_begin(struct totals *t, const struct run_info *run)
{
	t->run = run;
	t->scale = min_u64(t->scale, run->scale);
}

void totals_init(struct totals *t, u32 schema)
{
	*t = (struct totals){ .schema = schema, .scale = max_u64(schema, PROMETHEUS_CLASSIC_SCHEMA) };
}

void totals_uninit(struct totals *t)
{
	for (u32 i = 0; i < t->n; i++)
		series_free(t->series[i]);
	free(t->series);
}

/* @host: of OTLP; NULL: another @format. */
static int render(const struct totals *t, const char *host, enum prometheus_format format, struct blob **ret)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err;

	if (!out)
		return -ENOMEM;
	if (host)
		err = exposition_otlp(t, host, out);
	else if (format == PROMETHEUS_PROTOBUF)
		err = exposition_protobuf(t, t->schema, out);
	else
		err = exposition_text(t, format, t->schema, out);
	err = err ?: ferror(out) ? -ENOMEM : 0;
	if (fclose(out) || err) {
		free(text);
		return err ?: -ENOMEM;
	}
	*ret = blob_take(text, len);
	return *ret ? 0 : -ENOMEM;
}

int prometheus_render(const struct totals *t, enum prometheus_format format, struct blob **ret)
{
	return render(t, NULL, format, ret);
}

int prometheus_render_otlp(const struct totals *t, const char *host, struct blob **ret)
{
	return t->end_ns ? render(t, host, PROMETHEUS_FORMATS, ret) : -EAGAIN;
}
