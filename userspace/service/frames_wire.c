// SPDX-License-Identifier: GPL-2.0-only
#include "service/frames_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define PUT(to, value) wire_put(to, &(value), sizeof(value))
#define GET(from, value) wire_get(from, &(value), sizeof(value))

/* --- a run ---------------------------------------------------------------------------------- */

/* Parts of cgroups are made while a process runs, so another one has them elsewhere. */
static void put_part(struct wire_out *to, const struct part *part)
{
	wire_put_text(to, part ? part->by : NULL);
	wire_put_text(to, part ? part->label : NULL);
}

static const struct part *get_part(struct wire_in *from)
{
	const char *by = wire_get_text(from), *label = wire_get_text(from);
	const struct part *part = by && label ? part_find(by, label) : NULL;

	from->failed |= by && !part;
	return part;
}

#define DEVICE_BYTES offsetof(struct device, absent)	/* what follows may change without making another run */

/*
 * Sinks compare addresses to see whether two watches are of the same device. No one reads the numbers: they tell a
 * device from its predecessor that looked the same.
 */
void wire_put_watches(struct wire_out *to, const struct run_info *run, const struct frames *fs)
{
	const struct device *before = NULL;
	u32 n = fs ? fs->n : run->n_watches;

	PUT(to, run->memory_bytes);
	PUT(to, n);
	for (u32 i = 0; i < n; i++) {
		const struct watch *w = fs ? fs->f[i].watch : &run->watches[i];
		u32 number = fs ? fs->f[i].number : i;
		bool same = w->device == before;

		PUT(to, number);
		PUT(to, w->stage);
		put_part(to, w->part);
		PUT(to, same);
		wire_put(to, w->device, same ? 0 : DEVICE_BYTES);
		before = w->device;
	}
}

/*
 * Reads the device of a watch, which is in the table, or is added to it if it has gone meanwhile. There is room for
 * it.
 */
static struct device *get_device(struct wire_in *from, struct device_table *t)
{
	struct device *d = &t->d[t->n];

	*d = (struct device){ 0 };
	wire_get(from, d, DEVICE_BYTES);
	for (u32 i = 0; i < t->n; i++)
		if (!memcmp(&t->d[i], d, DEVICE_BYTES))
			return &t->d[i];
	d->parent = t->n;
	return &t->d[t->n++];
}

static int get_watches(struct wire_in *from, struct wired_run *r)
{
	u32 n, number;
	bool same;

	GET(from, r->info.memory_bytes);
	n = wire_get_count(from, 1);
	r->watches = calloc(n + 1, sizeof(*r->watches));
	if (!r->watches || array_grow(&r->devices.d, sizeof(*r->devices.d), r->devices.n + n + 1))
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		GET(from, number);
		GET(from, r->watches[i].stage);
		r->watches[i].part = get_part(from);
		GET(from, same);
		r->watches[i].device = same && i ? r->watches[i - 1].device : get_device(from, &r->devices);
	}
	r->info.watches = r->watches;
	r->info.n_watches = n;
	return 0;
}

void wire_put_run(struct wire_out *to, const struct run_info *run, const struct wire_out *watches)
{
	u32 devices = run->devices ? run->devices->n : 0;

	PUT(to, *run);
	wire_put_text(to, run->version);
	wire_put_text(to, run->engine);
	PUT(to, devices);
	wire_put(to, devices ? run->devices->d : NULL, devices * sizeof(struct device));
	wire_put(to, watches->data, watches->len);
	to->failed |= watches->failed;
}

static int get_run(struct wire_in *from, struct wired_run *r)
{
	int err;

	GET(from, r->info);
	r->info.version = r->version = wire_dup_text(from);
	r->info.engine = r->engine = wire_dup_text(from);
	r->info.origin = NULL;
	r->info.devices = &r->devices;
	r->devices.n = wire_get_count(from, sizeof(*r->devices.d));
	r->devices.d = calloc(r->devices.n + 1, sizeof(*r->devices.d));
	if (!r->devices.d)
		return -ENOMEM;
	wire_get(from, r->devices.d, r->devices.n * sizeof(*r->devices.d));
	err = get_watches(from, r);
	return err ?: wire_ended(from) ? 0 : -EBADMSG;
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
	free(r->watches);
	*r = (struct wired_run){ 0 };
}

/* --- slow IOs ------------------------------------------------------------------------------- */

/* Writes a whole's number of slow IOs, and as many of them as take no more than @most bytes. */
static void put_whole(struct wire_out *to, const struct slow_ios *slow, const struct slow_of *of, size_t most)
{
	size_t end = to->len + most;
	bool more = true;

	PUT(to, of->found);
	for (u32 k = 0; k < of->n && to->len < end; k++) {
		const struct slow_io *io = &slow->io[of->first + k];

		PUT(to, more);
		PUT(to, *io);
		put_part(to, io->part);
		wire_put_text(to, io->cgroup);
	}
	more = false;
	PUT(to, more);
}

static int get_whole(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	u64 found;
	bool more;
	int err = 0;

	GET(from, found);
	for (GET(from, more); more; GET(from, more)) {
		struct slow_io io;

		GET(from, io);
		io.watch = watch;
		io.part = get_part(from);
		io.cgroup = (char *)wire_get_text(from);	/* slow_ios_add() copies it */
		err = slow_ios_add(slow, &io) ?: err;
	}
	slow->of[watch].found = found;
	return err;
}

/* Of each whole; one with few leaves room for those behind it. */
static void put_slow(struct wire_out *to, const struct frames *fs)
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
		put_whole(to, fs->slow, fs->f[i].slow ?: &none, left / wholes--);
		took = to->len - before;
		left -= took < left ? took : left;
	}
}

/* Reads the slow IOs of the wholes in @fs into @slow, which is emptied first. Returns 0 or -ENOMEM. */
static int get_slow(struct wire_in *from, const struct frames *fs, struct slow_ios *slow)
{
	int err = 0;

	slow_ios_clear(slow);
	for (u32 i = 0; i < fs->n; i++)
		if (!fs->f[i].watch->part)
			err = get_whole(from, i, slow) ?: err;
	slow_ios_sort(slow);
	return err;
}

/* --- frames --------------------------------------------------------------------------------- */

/* How far each cell with IOs lies behind the one before, and its IOs; 0 behind the last. */
static void put_hist(struct wire_out *to, const struct hist *h)
{
	u32 before = UINT32_MAX;

	hist_for_each(i, h) {
		wire_put_number(to, i - before);
		wire_put_number(to, h->cells[i]);
		before = i;
	}
	wire_put_number(to, 0);
}

static void get_hist(struct wire_in *from, struct hist *h)
{
	u32 cell = UINT32_MAX;

	for (u32 step = wire_get_number(from); step; step = wire_get_number(from)) {
		cell += step;
		hist_put(h, cell, wire_get_number(from));
	}
}

static bool is_empty(const struct op_frame *o)
{
	static const struct op_sums none;

	return !o->ios && !memcmp(&o->partial, &none, sizeof(none)) && !memcmp(&o->counted, &none, sizeof(none));
}

static void put_frame(struct wire_out *to, const struct frame *f)
{
	wire_put_sparse(to, f, offsetof(struct frame, ops));
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &f->ops[op];
		bool empty = is_empty(o);

		PUT(to, empty);
		if (empty)
			continue;
		wire_put_sparse(to, o, offsetof(struct op_frame, percentile_ns));
		put_hist(to, &o->hist);
		put_hist(to, &o->after_idle);
	}
}

static void get_frame(struct wire_in *from, struct frame *f)
{
	const struct watch *watch = f->watch;

	frame_clear(f);
	wire_get_sparse(from, f, offsetof(struct frame, ops));
	f->watch = watch;
	f->part = part_number(watch->part);
	f->counts = NULL;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct op_frame *o = &f->ops[op];
		bool empty;

		GET(from, empty);
		if (empty)
			continue;
		wire_get_sparse(from, o, offsetof(struct op_frame, percentile_ns));
		get_hist(from, &o->hist);
		get_hist(from, &o->after_idle);
	}
}

/* Of a watch's counts, those of its ops come first: these are in its frame. */
#define COUNTS_FROM offsetof(struct watch_counts, started)
#define COUNTS_BYTES (sizeof(struct watch_counts) - COUNTS_FROM)

static void put_counts(struct wire_out *to, const struct frames *fs)
{
	PUT(to, *fs->now);
	for (u32 i = 0; i < fs->n; i++)
		wire_put_sparse(to, (const u8 *)fs->f[i].counts + COUNTS_FROM, COUNTS_BYTES);
}

static void get_counts(struct wire_in *from, struct frames *fs, struct snapshot *now)
{
	struct watch_counts *w = now->w;

	GET(from, *now);
	now->w = w;
	now->n = fs->n;
	now->cells = NULL;
	for (u32 i = 0; i < fs->n; i++) {
		wire_get_sparse(from, (u8 *)&w[i] + COUNTS_FROM, COUNTS_BYTES);
		fs->f[i].counts = &w[i];
	}
	fs->now = now;
}

void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct frames *fs)
{
	PUT(to, *fs);
	for (u32 i = 0; i < fs->n; i++)
		put_frame(to, &fs->f[i]);
	if (fs->now)
		put_counts(to, fs);
	if (run->slow_most)
		put_slow(to, fs);
}

int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow,
		    struct snapshot *now)
{
	struct frames got;
	int err = 0;

	GET(from, got);
	if (got.n != fs->n)
		return -EBADMSG;
	fs->interval_s = got.interval_s;
	fs->skipped_unexplained = got.skipped_unexplained;
	fs->mono_ns = got.mono_ns;
	fs->reads = got.reads;
	fs->drain_ns = got.drain_ns;
	fs->idle_gap_ns = got.idle_gap_ns;
	fs->host = got.host;
	for (u32 i = 0; i < fs->n; i++)
		get_frame(from, &fs->f[i]);
	fs->now = NULL;
	if (got.now)
		get_counts(from, fs, now);
	frames_set_slow(fs, run->slow_most ? slow : NULL);
	if (fs->slow)
		err = get_slow(from, fs, slow);
	return wire_ended(from) ? err : -EBADMSG;
}
