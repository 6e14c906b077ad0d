// SPDX-License-Identifier: GPL-2.0-only
#include "sink/frames_wire.h"

#include <errno.h>
#include <stdlib.h>


#define DEVICES_MOST (1u << 20)

/* --- devices -------------------------------------------------------------------------------- */

static void put_device(struct wire_out *to, const struct device *d)
{
	wire_put_text(to, d->name);
	wire_put_text(to, d->mapper);
	wire_put_text(to, d->kind);
	wire_put_text(to, d->model);
	wire_put_text(to, d->serial);
	wire_put_text(to, d->wwid);
	wire_put_text(to, d->scheduler);
	wire_put_text(to, d->sysfs);
	wire_put(to, d->major);
	wire_put(to, d->minor);
	wire_put(to, d->node);
	wire_put(to, d->diskseq);
	wire_put(to, d->size_bytes);
	wire_put(to, d->hw_queues);
	wire_put(to, d->tags);
	wire_put(to, d->nr_requests);
	wire_put(to, d->iostats);
	wire_put(to, d->hidden);
	wire_put(to, d->stages);
}

static void get_device(struct wire_in *from, struct device *d)
{
	wire_get_text(from, d->name, sizeof(d->name));
	wire_get_text(from, d->mapper, sizeof(d->mapper));
	wire_get_text(from, d->kind, sizeof(d->kind));
	wire_get_text(from, d->model, sizeof(d->model));
	wire_get_text(from, d->serial, sizeof(d->serial));
	wire_get_text(from, d->wwid, sizeof(d->wwid));
	wire_get_text(from, d->scheduler, sizeof(d->scheduler));
	wire_get_text(from, d->sysfs, sizeof(d->sysfs));
	d->major = wire_get_most(from, UINT32_MAX);
	d->minor = wire_get_most(from, UINT32_MAX);
	d->node = wire_get(from);
	d->diskseq = wire_get(from);
	d->size_bytes = wire_get(from);
	d->hw_queues = wire_get_most(from, UINT32_MAX);
	d->tags = wire_get_most(from, UINT32_MAX);
	d->nr_requests = wire_get_most(from, UINT32_MAX);
	d->iostats = wire_get_most(from, 1);
	d->hidden = wire_get_most(from, 1);
	d->stages = wire_get_most(from, UINT32_MAX);
}

static void put_table(struct wire_out *to, const struct device_table *t)
{
	u32 n = t ? t->n : 0;

	wire_put(to, n);
	for (u32 i = 0; i < n; i++) {
		const struct device *d = &t->d[i];

		put_device(to, d);
		wire_put(to, d->parent);
		wire_put(to, d->n_lower);
		for (u32 j = 0; j < d->n_lower; j++)
			wire_put(to, d->lower[j]);
	}
}

static int get_table(struct wire_in *from, struct device_table *t)
{
	u32 n = wire_get_count(from, DEVICES_MOST);

	t->d = calloc(n + 1, sizeof(*t->d));
	if (!t->d)
		return -ENOMEM;
	t->n = n;
	for (u32 i = 0; i < n; i++) {
		struct device *d = &t->d[i];

		get_device(from, d);
		d->parent = wire_get_most(from, n - 1);
		d->n_lower = wire_get_count(from, ARRAY_SIZE(d->lower));
		for (u32 j = 0; j < d->n_lower; j++)
			d->lower[j] = wire_get_most(from, n - 1);
	}
	return 0;
}

/* --- a run ---------------------------------------------------------------------------------- */

/* Sinks tell by the address whether two watches are of one device. */
static void put_watches(struct wire_out *to, const struct watch *w, u32 n)
{
	wire_put(to, n);
	for (u32 i = 0; i < n; i++) {
		bool same = i && w[i].device == w[i - 1].device;

		wire_put(to, w[i].stage);
		wire_put(to, same);
		if (!same)
			put_device(to, w[i].device);
	}
}

static int get_watches(struct wire_in *from, struct wired_run *r)
{
	u32 n = wire_get_count(from, BLKLAT_MAX_WATCHES);
	struct device *next;

	r->watched = next = calloc(n + 1, sizeof(*r->watched));
	r->watches = calloc(n + 1, sizeof(*r->watches));
	if (!r->watched || !r->watches)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		r->watches[i].stage = wire_get_most(from, BLKLAT_STAGES - 1);
		/* The first can't be the same as one before. */
		if (!wire_get_most(from, i ? 1 : 0))
			get_device(from, next++);
		r->watches[i].device = next - 1;
	}
	r->info.watches = r->watches;
	r->info.n_watches = n;
	return 0;
}

static void put_percentiles(struct wire_out *to, const struct percentiles *ps)
{
	wire_put(to, ps->n);
	for (u32 i = 0; i < ps->n; i++) {
		wire_put_double(to, ps->p[i].q);
		wire_put_text(to, ps->p[i].name);
	}
}

static void get_percentiles(struct wire_in *from, struct percentiles *ps)
{
	ps->n = wire_get_count(from, PERCENTILES_MAX);
	for (u32 i = 0; i < ps->n; i++) {
		ps->p[i].q = wire_get_double(from);
		wire_get_text(from, ps->p[i].name, sizeof(ps->p[i].name));
	}
}

void wire_put_run(struct wire_out *to, const struct run_info *run, const struct watch *watches, u32 n)
{
	wire_put_text(to, run->version);
	wire_put_text(to, run->engine);
	wire_put(to, run->cpus);
	wire_put(to, run->scale);
	wire_put(to, run->memory_bytes);
	wire_put_double(to, run->interval_s);
	put_percentiles(to, &run->percentiles);
	put_table(to, run->devices);
	put_watches(to, watches, n);
}

static int get_run(struct wire_in *from, struct wired_run *r)
{
	struct run_info *info = &r->info;
	int err;

	info->version = r->version = wire_dup_text(from);
	info->engine = r->engine = wire_dup_text(from);
	info->cpus = wire_get_most(from, UINT32_MAX);
	info->scale = wire_get_most(from, BLKLAT_SCALE_MAX);
	info->memory_bytes = wire_get(from);
	info->interval_s = wire_get_double(from);
	get_percentiles(from, &info->percentiles);
	err = get_table(from, &r->devices);
	err = err ?: get_watches(from, r);
	info->devices = &r->devices;
	return err ?: wire_ended(from) && r->version && r->engine ? 0 : -EBADMSG;
}

int wire_get_run(struct wire_in *from, struct wired_run *ret)
{
	int err;

	*ret = (struct wired_run){ 0 };
	err = get_run(from, ret);
	if (err)
		wired_run_free(ret);
	return err;
}

void wired_run_free(struct wired_run *r)
{
	free(r->version);
	free(r->engine);
	free(r->devices.d);
	free(r->watched);
	free(r->watches);
	*r = (struct wired_run){ 0 };
}

/* --- an interval ---------------------------------------------------------------------------- */

/* Cells that hold IOs: how far each is from the one before, and its IOs. */
static void put_hist(struct wire_out *to, const struct hist *h)
{
	u32 first, last, n = 0, next = 0;

	if (!hist_range(h, &first, &last)) {
		wire_put(to, 0);
		return;
	}
	for (u32 i = first; i <= last; i++)
		n += h->cells[i] > 0;
	wire_put(to, n);
	for (u32 i = first; i <= last; i++) {
		if (!h->cells[i])
			continue;
		wire_put(to, i - next);
		wire_put(to, h->cells[i]);
		next = i + 1;
	}
}

static void get_hist(struct wire_in *from, struct hist *h)
{
	u32 cells = BLKLAT_CELLS(h->scale), n = wire_get_count(from, cells);
	u64 cell = 0;

	for (u32 i = 0; i < n && !from->failed; i++) {
		cell += wire_get_most(from, cells - 1);
		if (cell >= cells) {
			from->failed = true;
			return;
		}
		hist_put(h, cell++, wire_get(from));
	}
}

static void put_sums(struct wire_out *to, const struct op_sums *s)
{
	wire_put(to, s->bytes);
	wire_put(to, s->errors);
	wire_put(to, s->sum_ns);
}

static struct op_sums get_sums(struct wire_in *from)
{
	u64 bytes = wire_get(from), errors = wire_get(from), sum_ns = wire_get(from);

	return (struct op_sums){ .bytes = bytes, .errors = errors, .sum_ns = sum_ns };
}

static bool any(const struct op_sums *s)
{
	return s->bytes || s->errors || s->sum_ns;
}

/* Of an op without IOs only the two sums mean anything. */
enum { OP_ABSENT, OP_SUMS, OP_IOS };

static void put_op(struct wire_out *to, const struct op_frame *o, u32 n_percentiles)
{
	u32 has = o->ios ? OP_IOS : any(&o->partial) || any(&o->counted) ? OP_SUMS : OP_ABSENT;

	wire_put(to, has);
	if (has == OP_ABSENT)
		return;
	put_sums(to, &o->partial);
	put_sums(to, &o->counted);
	if (has == OP_SUMS)
		return;
	wire_put(to, o->ios);
	wire_put(to, o->bytes);
	wire_put(to, o->errors);
	wire_put(to, o->sum_ns);
	wire_put(to, o->min_ns);
	wire_put(to, o->max_ns);
	wire_put_double(to, o->iops);
	wire_put_double(to, o->bytes_per_s);
	wire_put_double(to, o->mean_ns);
	for (u32 i = 0; i < n_percentiles; i++)
		wire_put_double(to, o->percentile_ns[i]);
	put_hist(to, &o->hist);
	wire_put(to, o->after_idle_ios);
	wire_put(to, o->after_idle_sum_ns);
	put_hist(to, &o->after_idle);
}

static void get_op(struct wire_in *from, struct op_frame *o, u32 n_percentiles)
{
	struct hist hist = o->hist, after_idle = o->after_idle;
	u32 has = wire_get_most(from, OP_IOS);

	hist_clear(&hist);
	hist_clear(&after_idle);
	*o = (struct op_frame){ .hist = hist, .after_idle = after_idle };
	if (has == OP_ABSENT)
		return;
	o->partial = get_sums(from);
	o->counted = get_sums(from);
	if (has == OP_SUMS)
		return;
	o->ios = wire_get(from);
	o->bytes = wire_get(from);
	o->errors = wire_get(from);
	o->sum_ns = wire_get(from);
	o->min_ns = wire_get(from);
	o->max_ns = wire_get(from);
	o->iops = wire_get_double(from);
	o->bytes_per_s = wire_get_double(from);
	o->mean_ns = wire_get_double(from);
	for (u32 i = 0; i < n_percentiles; i++)
		o->percentile_ns[i] = wire_get_double(from);
	get_hist(from, &o->hist);
	o->after_idle_ios = wire_get(from);
	o->after_idle_sum_ns = wire_get(from);
	get_hist(from, &o->after_idle);
}

static void put_accounting(struct wire_out *to, const struct accounting *a)
{
	wire_put(to, a->started);
	wire_put(to, a->completed);
	wire_put(to, a->in_flight);
	wire_put(to, a->lost);
	for (u32 i = 0; i < LOST_REASONS; i++)
		wire_put(to, a->lost_by[i]);
	wire_put(to, a->requeued);
	wire_put(to, a->moved);
	wire_put(to, a->before);
	wire_put(to, a->unissued);
	wire_put(to, a->skipped);
	wire_put(to, a->skipped_unexplained);
	wire_put(to, a->kernel_ios);
	wire_put(to, a->kernel_in_flight);
	wire_put(to, a->kernel_known);
	wire_put(to, a->kernel_leaves_out);
}

static void get_accounting(struct wire_in *from, struct accounting *a)
{
	a->started = wire_get(from);
	a->completed = wire_get(from);
	a->in_flight = wire_get(from);
	a->lost = wire_get(from);
	for (u32 i = 0; i < LOST_REASONS; i++)
		a->lost_by[i] = wire_get(from);
	a->requeued = wire_get(from);
	a->moved = wire_get(from);
	a->before = wire_get(from);
	a->unissued = wire_get(from);
	a->skipped = wire_get(from);
	a->skipped_unexplained = wire_get(from);
	a->kernel_ios = wire_get(from);
	a->kernel_in_flight = wire_get(from);
	a->kernel_known = wire_get_most(from, 1);
	a->kernel_leaves_out = wire_get(from);
}

static void put_frame(struct wire_out *to, const struct frame *f, u32 n_percentiles)
{
	wire_put_signed(to, f->end_ns);
	wire_put_double(to, f->interval_s);
	wire_put(to, f->in_flight);
	wire_put(to, f->oldest_ns);
	wire_put_double(to, f->queue_depth);
	wire_put(to, f->gone);
	wire_put(to, f->replaced);
	wire_put(to, f->pauses_hidden);
	put_accounting(to, &f->accounting);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put_op(to, &f->ops[op], n_percentiles);
}

static void get_frame(struct wire_in *from, struct frame *f, u32 n_percentiles)
{
	f->end_ns = wire_get_signed(from);
	f->interval_s = wire_get_double(from);
	f->in_flight = wire_get(from);
	f->oldest_ns = wire_get(from);
	f->queue_depth = wire_get_double(from);
	f->gone = wire_get_most(from, 1);
	f->replaced = wire_get_most(from, 1);
	f->pauses_hidden = wire_get_most(from, 1);
	get_accounting(from, &f->accounting);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		get_op(from, &f->ops[op], n_percentiles);
}

void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct frames *fs)
{
	wire_put(to, fs->n);
	wire_put(to, fs->skipped_unexplained);
	wire_put(to, fs->now ? fs->now->idle_gap_ns : 0);
	for (u32 i = 0; i < fs->n; i++)
		put_frame(to, &fs->f[i], run->percentiles.n);
}

int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, u64 *ret_idle_gap_ns)
{
	u32 n = wire_get_count(from, BLKLAT_MAX_WATCHES);

	if (n != fs->n)
		return -EBADMSG;
	fs->skipped_unexplained = wire_get(from);
	*ret_idle_gap_ns = wire_get(from);
	for (u32 i = 0; i < n; i++)
		get_frame(from, &fs->f[i], run->percentiles.n);
	return wire_ended(from) ? 0 : -EBADMSG;
}
