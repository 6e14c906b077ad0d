// SPDX-License-Identifier: GPL-2.0-only
#include "service/frames_wire.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "util/cleanup.h"

#define DEVICES_MOST (1u << 20)
#define PART_TEXT 32

/* --- members of a structure, one list for both ways ------------------------------------------ */

enum kind { NUMBER, SIGNED, DOUBLE, TEXT };

struct member {
	size_t offset, size;
	enum kind kind;
};

#define MEMBER(type, name, kind) { offsetof(struct type, name), sizeof(((struct type *)0)->name), kind }

static u64 load_number(const void *at, size_t size)
{
	if (size == sizeof(bool))
		return *(const bool *)at;
	return size == sizeof(u32) ? *(const u32 *)at : *(const u64 *)at;
}

static void put_members(struct wire_out *to, const void *of, const struct member *m, size_t n)
{
	for (; n; n--, m++) {
		const void *at = (const char *)of + m->offset;

		if (m->kind == TEXT)
			wire_put_text(to, at);
		else if (m->kind == DOUBLE)
			wire_put_double(to, *(const double *)at);
		else if (m->kind == SIGNED)
			wire_put_signed(to, *(const s64 *)at);
		else
			wire_put(to, load_number(at, m->size));
	}
}

static void get_number(struct wire_in *from, void *at, size_t size)
{
	if (size == sizeof(bool))
		*(bool *)at = wire_get_most(from, 1);
	else if (size == sizeof(u32))
		*(u32 *)at = wire_get_most(from, UINT32_MAX);
	else
		*(u64 *)at = wire_get(from);
}

static void get_members(struct wire_in *from, void *of, const struct member *m, size_t n)
{
	for (; n; n--, m++) {
		void *at = (char *)of + m->offset;

		if (m->kind == TEXT)
			wire_get_text(from, at, m->size);
		else if (m->kind == DOUBLE)
			*(double *)at = wire_get_double(from);
		else if (m->kind == SIGNED)
			*(s64 *)at = wire_get_signed(from);
		else
			get_number(from, at, m->size);
	}
}

#define PUT_MEMBERS(to, of, list) put_members(to, of, list, ARRAY_SIZE(list))
#define GET_MEMBERS(from, of, list) get_members(from, of, list, ARRAY_SIZE(list))

/* --- devices -------------------------------------------------------------------------------- */

/* But where it is in its table. */
static const struct member device_members[] = {
	MEMBER(device, name, TEXT), MEMBER(device, mapper, TEXT), MEMBER(device, kind, TEXT), MEMBER(device, model, TEXT),
	MEMBER(device, serial, TEXT), MEMBER(device, wwid, TEXT), MEMBER(device, scheduler, TEXT), MEMBER(device, sysfs, TEXT),
	MEMBER(device, major, NUMBER), MEMBER(device, minor, NUMBER), MEMBER(device, node, NUMBER),
	MEMBER(device, diskseq, NUMBER), MEMBER(device, size_bytes, NUMBER), MEMBER(device, hw_queues, NUMBER),
	MEMBER(device, tags, NUMBER), MEMBER(device, nr_requests, NUMBER), MEMBER(device, iostats, NUMBER),
	MEMBER(device, hidden, NUMBER), MEMBER(device, stages, NUMBER),
};

static void put_table(struct wire_out *to, const struct device_table *t)
{
	u32 n = t ? t->n : 0;

	wire_put(to, n);
	for (u32 i = 0; i < n; i++) {
		const struct device *d = &t->d[i];

		PUT_MEMBERS(to, d, device_members);
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

		GET_MEMBERS(from, d, device_members);
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
			PUT_MEMBERS(to, w[i].device, device_members);
		wire_put(to, w[i].part != NULL);
		if (w[i].part) {
			wire_put_text(to, w[i].part->by);
			wire_put_text(to, w[i].part->label);
		}
	}
}

/* It is one of ours, and stands behind its whole or another part of that. */
static bool get_part(struct wire_in *from, struct watch *w, bool first)
{
	char by[PART_TEXT], label[PART_LABEL_MAX];

	wire_get_text(from, by, sizeof(by));
	wire_get_text(from, label, sizeof(label));
	w->part = part_find(by, label);
	return w->part && !first && w->device == w[-1].device && w->stage == w[-1].stage;
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
			GET_MEMBERS(from, next++, device_members);
		r->watches[i].device = next - 1;
		if (wire_get_most(from, 1) && !get_part(from, &r->watches[i], !i))
			return -EBADMSG;
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
	wire_put(to, run->slow_most);
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
	info->slow_most = wire_get_most(from, UINT32_MAX);
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

static const struct member sums_members[] = {
	MEMBER(op_sums, bytes, NUMBER), MEMBER(op_sums, errors, NUMBER), MEMBER(op_sums, sum_ns, NUMBER),
};

/* But its sums, percentiles and histograms. */
static const struct member op_members[] = {
	MEMBER(op_frame, ios, NUMBER), MEMBER(op_frame, bytes, NUMBER), MEMBER(op_frame, errors, NUMBER),
	MEMBER(op_frame, sum_ns, NUMBER), MEMBER(op_frame, iops, DOUBLE), MEMBER(op_frame, bytes_per_s, DOUBLE),
	MEMBER(op_frame, mean_ns, DOUBLE), MEMBER(op_frame, min_ns, NUMBER), MEMBER(op_frame, max_ns, NUMBER),
	MEMBER(op_frame, after_idle_ios, NUMBER), MEMBER(op_frame, after_idle_sum_ns, NUMBER),
};

/* But lost_by. */
static const struct member accounting_members[] = {
	MEMBER(accounting, started, NUMBER), MEMBER(accounting, completed, NUMBER), MEMBER(accounting, in_flight, NUMBER),
	MEMBER(accounting, lost, NUMBER), MEMBER(accounting, requeued, NUMBER), MEMBER(accounting, moved, NUMBER),
	MEMBER(accounting, before, NUMBER), MEMBER(accounting, unissued, NUMBER), MEMBER(accounting, skipped, NUMBER),
	MEMBER(accounting, skipped_unexplained, NUMBER), MEMBER(accounting, kernel_ios, NUMBER),
	MEMBER(accounting, kernel_in_flight, NUMBER), MEMBER(accounting, kernel_known, NUMBER),
	MEMBER(accounting, kernel_leaves_out, NUMBER),
};

/* But its watch, ops and accounting. */
static const struct member frame_members[] = {
	MEMBER(frame, end_ns, SIGNED), MEMBER(frame, interval_s, DOUBLE), MEMBER(frame, in_flight, NUMBER),
	MEMBER(frame, oldest_ns, NUMBER), MEMBER(frame, queue_depth, DOUBLE), MEMBER(frame, gone, NUMBER),
	MEMBER(frame, replaced, NUMBER), MEMBER(frame, pauses_hidden, NUMBER),
};

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
	PUT_MEMBERS(to, &o->partial, sums_members);
	PUT_MEMBERS(to, &o->counted, sums_members);
	if (has == OP_SUMS)
		return;
	PUT_MEMBERS(to, o, op_members);
	for (u32 i = 0; i < n_percentiles; i++)
		wire_put_double(to, o->percentile_ns[i]);
	put_hist(to, &o->hist);
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
	GET_MEMBERS(from, &o->partial, sums_members);
	GET_MEMBERS(from, &o->counted, sums_members);
	if (has == OP_SUMS)
		return;
	GET_MEMBERS(from, o, op_members);
	for (u32 i = 0; i < n_percentiles; i++)
		o->percentile_ns[i] = wire_get_double(from);
	get_hist(from, &o->hist);
	get_hist(from, &o->after_idle);
}

static void put_frame(struct wire_out *to, const struct frame *f, u32 n_percentiles)
{
	PUT_MEMBERS(to, f, frame_members);
	PUT_MEMBERS(to, &f->accounting, accounting_members);
	for (u32 i = 0; i < LOST_REASONS; i++)
		wire_put(to, f->accounting.lost_by[i]);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put_op(to, &f->ops[op], n_percentiles);
}

static void get_frame(struct wire_in *from, struct frame *f, u32 n_percentiles)
{
	GET_MEMBERS(from, f, frame_members);
	GET_MEMBERS(from, &f->accounting, accounting_members);
	for (u32 i = 0; i < LOST_REASONS; i++)
		f->accounting.lost_by[i] = wire_get(from);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		get_op(from, &f->ops[op], n_percentiles);
}

/* --- slow IOs -------------------------------------------------------------------------------- */

static void put_slow(struct wire_out *to, const struct slow_io *io)
{
	const struct blklat_slow *t = &io->told;

	wire_put_signed(to, io->end_ns);
	wire_put(to, t->latency_ns);
	wire_put(to, t->queue_ns);
	wire_put(to, t->device_ns);
	wire_put(to, t->sector);
	wire_put(to, t->bytes);
	wire_put_signed(to, t->error);
	wire_put(to, t->submitter);
	wire_put(to, t->hw_queue);
	wire_put(to, t->start_cpu);
	wire_put(to, t->end_cpu);
	wire_put(to, t->op);
	wire_put(to, t->known);
	wire_put_text(to, t->comm);
	wire_put_text(to, io->part ? io->part->by : NULL);
	wire_put_text(to, io->part ? io->part->label : NULL);
	wire_put_text(to, io->cgroup);
}

static const struct part *get_slow_part(struct wire_in *from)
{
	char *by CLEANUP(cleanup_free) = wire_dup_text(from), *label CLEANUP(cleanup_free) = wire_dup_text(from);

	return by && label ? part_find(by, label) : NULL;
}

static s32 get_error(struct wire_in *from)
{
	s64 error = wire_get_signed(from);

	from->failed |= error != (s32)error;
	return error;
}

static int get_slow(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	struct slow_io io = { .watch = watch };
	struct blklat_slow *t = &io.told;

	io.end_ns = wire_get_signed(from);
	t->latency_ns = wire_get(from);
	t->queue_ns = wire_get(from);
	t->device_ns = wire_get(from);
	t->sector = wire_get(from);
	t->bytes = wire_get_most(from, UINT32_MAX);
	t->error = get_error(from);
	t->submitter = wire_get_most(from, UINT32_MAX);
	t->hw_queue = wire_get_most(from, UINT16_MAX);
	t->start_cpu = wire_get_most(from, UINT16_MAX);
	t->end_cpu = wire_get_most(from, UINT16_MAX);
	t->op = wire_get_most(from, BLKLAT_OPS - 1);
	t->known = wire_get_most(from, UINT8_MAX);
	wire_get_text(from, t->comm, sizeof(t->comm));
	io.part = get_slow_part(from);
	io.cgroup = wire_dup_text(from);
	return slow_ios_add(slow, &io);
}

/* Of a whole: what was found, and those that are told, as long as all of them take no more than @most bytes. */
static void put_slow_of(struct wire_out *to, const struct slow_ios *slow, const struct slow_of *of, size_t most)
{
	size_t end = to->len + most;

	wire_put(to, of->found);
	for (u32 k = 0; k < of->n && to->len < end; k++) {
		wire_put(to, 1);
		put_slow(to, &slow->io[of->first + k]);
	}
	wire_put(to, 0);
}

static int get_slow_of(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	u64 found = wire_get(from);
	int err = 0;
	u64 n = 0;

	for (; wire_get_most(from, 1) && !from->failed; n++)
		err = get_slow(from, watch, slow) ?: err;
	from->failed |= n > found || n > slow->most;
	slow->of[watch].found = found;
	return err;
}

/* Who has few leaves room to those behind. */
static void put_all_slow(struct wire_out *to, const struct watch *watches, const struct frames *fs)
{
	static const struct slow_of none;
	size_t left = WIRE_SLOW_BYTES;
	u32 wholes = 0;

	for (u32 i = 0; i < fs->n; i++)
		wholes += !fs->f[i].watch->part;
	for (u32 i = 0; i < fs->n; i++) {
		size_t before = to->len, took;

		if (fs->f[i].watch->part)
			continue;
		put_slow_of(to, fs->slow, fs->slow ? &fs->slow->of[fs->f[i].watch - watches] : &none, left / wholes--);
		took = to->len - before;
		left -= took < left ? took : left;
	}
}

/* --- frames ---------------------------------------------------------------------------------- */

void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct watch *watches, const struct frames *fs)
{
	wire_put(to, fs->n);
	wire_put(to, fs->skipped_unexplained);
	wire_put(to, fs->idle_gap_ns);
	for (u32 i = 0; i < fs->n; i++)
		put_frame(to, &fs->f[i], run->percentiles.n);
	if (run->slow_most)
		put_all_slow(to, watches, fs);
}

int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow)
{
	u32 n = wire_get_count(from, BLKLAT_MAX_WATCHES);
	int err = 0;

	if (n != fs->n)
		return -EBADMSG;
	fs->skipped_unexplained = wire_get(from);
	fs->idle_gap_ns = wire_get(from);
	for (u32 i = 0; i < n; i++)
		get_frame(from, &fs->f[i], run->percentiles.n);
	fs->slow = run->slow_most ? slow : NULL;
	if (fs->slow)
		slow_ios_clear(slow);
	for (u32 i = 0; fs->slow && i < n && !from->failed; i++)
		if (!fs->f[i].watch->part)
			err = get_slow_of(from, i, slow) ?: err;
	if (fs->slow)
		slow_ios_sort(slow);
	return wire_ended(from) ? err : -EBADMSG;
}
