// SPDX-License-Identifier: GPL-2.0-only
#include "service/frames_wire.h"

#include <errno.h>

#include "util/cleanup.h"

static const struct wire_field slow_fields[] = {
	WIRE_FIELD(blklat_slow, latency_ns), WIRE_FIELD(blklat_slow, queue_ns), WIRE_FIELD(blklat_slow, device_ns),
	WIRE_FIELD(blklat_slow, sector), WIRE_FIELD(blklat_slow, bytes), WIRE_FIELD(blklat_slow, error),
	WIRE_FIELD(blklat_slow, submitter), WIRE_FIELD(blklat_slow, hw_queue), WIRE_FIELD(blklat_slow, start_cpu),
	WIRE_FIELD(blklat_slow, end_cpu), WIRE_FIELD(blklat_slow, op), WIRE_FIELD(blklat_slow, known),
	WIRE_FIELD(blklat_slow, depth), WIRE_FIELD(blklat_slow, beside), WIRE_FIELD(blklat_slow, flags),
	WIRE_FIELD(blklat_slow, comm),
};

static void put_io(struct wire_out *to, const struct slow_io *io)
{
	wire_put_signed(to, io->end_ns);
	WIRE_PUT_FIELDS(to, &io->told, slow_fields);
	wire_put_text(to, io->part ? io->part->by : NULL);
	wire_put_text(to, io->part ? io->part->label : NULL);
	wire_put_text(to, io->cgroup);
}

static const struct part *get_part(struct wire_in *from)
{
	char *by CLEANUP(cleanup_free) = wire_dup_text(from), *label CLEANUP(cleanup_free) = wire_dup_text(from);

	return by && label ? part_find(by, label) : NULL;
}

static int get_io(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	struct slow_io io = { .watch = watch, .end_ns = wire_get_signed(from) };
	struct blklat_slow *t = &io.told;

	WIRE_GET_FIELDS(from, t, slow_fields);
	if (t->op >= BLKLAT_OPS || t->beside > BLKLAT_BESIDE_PARTS || t->flags > BLKLAT_FLAGS_PARTS) {
		from->failed = true;
		t->op = t->beside = t->flags = 0;
	}
	io.part = get_part(from);
	io.cgroup = wire_dup_text(from);
	return slow_ios_add(slow, &io);
}

/* Writes a whole's number of slow IOs, and as many of them as take no more than @most bytes. */
static void put_whole(struct wire_out *to, const struct slow_ios *slow, const struct slow_of *of, size_t most)
{
	size_t end = to->len + most;

	wire_put(to, of->found);
	for (u32 k = 0; k < of->n && to->len < end; k++) {
		wire_put(to, 1);
		put_io(to, &slow->io[of->first + k]);
	}
	wire_put(to, 0);
}

static int get_whole(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	u64 found = wire_get(from);
	int err = 0;
	u64 n = 0;

	for (; wire_get_most(from, 1) && !from->failed; n++)
		err = get_io(from, watch, slow) ?: err;
	from->failed |= n > found || n > slow->most;
	slow->of[watch].found = found;
	return err;
}

/* Of each whole; one with few leaves room for those behind it. @watches are those that the slow IOs refer to by number. */
static void put_slow(struct wire_out *to, const struct watch *watches, const struct frames *fs)
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
		put_whole(to, fs->slow, fs->slow ? &fs->slow->of[fs->f[i].watch - watches] : &none, left / wholes--);
		took = to->len - before;
		left -= took < left ? took : left;
	}
}

/*
 * Reads the slow IOs of the wholes in @fs into @slow, which is emptied first; after a failure it is
 * filled in part. Returns 0 or -ENOMEM; invalid bytes fail the reader.
 */
static int get_slow(struct wire_in *from, const struct frames *fs, struct slow_ios *slow)
{
	int err = 0;

	slow_ios_clear(slow);
	for (u32 i = 0; i < fs->n && !from->failed; i++)
		if (!fs->f[i].watch->part)
			err = get_whole(from, i, slow) ?: err;
	slow_ios_sort(slow);
	return err;
}

/* Writes the cells with IOs: the distance of each from the previous one, and its IOs. */
static void put_hist(struct wire_out *to, const struct hist *h)
{
	u32 n = 0, next = 0;

	hist_for_each(i, h)
		n++;
	wire_put(to, n);
	hist_for_each(i, h) {
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

static const struct wire_field sums_fields[] = {
	WIRE_FIELD(op_sums, bytes), WIRE_FIELD(op_sums, errors), WIRE_FIELD(op_sums, sum_ns),
};

/* An op without its sums, percentiles and histograms. */
static const struct wire_field op_fields[] = {
	WIRE_FIELD(op_frame, ios), WIRE_FIELD(op_frame, bytes), WIRE_FIELD(op_frame, errors),
	WIRE_FIELD(op_frame, sum_ns), WIRE_FIELD(op_frame, iops), WIRE_FIELD(op_frame, bytes_per_s),
	WIRE_FIELD(op_frame, mean_ns), WIRE_FIELD(op_frame, min_ns), WIRE_FIELD(op_frame, max_ns),
	WIRE_FIELD(op_frame, after_idle_ios), WIRE_FIELD(op_frame, after_idle_sum_ns),
};

/* The accounting without lost_by. */
static const struct wire_field accounting_fields[] = {
	WIRE_FIELD(accounting, started), WIRE_FIELD(accounting, completed), WIRE_FIELD(accounting, in_flight),
	WIRE_FIELD(accounting, lost), WIRE_FIELD(accounting, requeued), WIRE_FIELD(accounting, moved),
	WIRE_FIELD(accounting, before), WIRE_FIELD(accounting, unissued), WIRE_FIELD(accounting, skipped),
	WIRE_FIELD(accounting, skipped_unexplained), WIRE_FIELD(accounting, kernel_ios),
	WIRE_FIELD(accounting, kernel_in_flight), WIRE_FIELD(accounting, kernel_known),
	WIRE_FIELD(accounting, kernel_leaves_out),
};

/* A frame without its watch, ops and accounting. */
static const struct wire_field frame_fields[] = {
	WIRE_FIELD(frame, number), WIRE_FIELD(frame, end_ns), WIRE_FIELD(frame, interval_s), WIRE_FIELD(frame, in_flight),
	WIRE_FIELD(frame, oldest_ns), WIRE_FIELD(frame, queue_depth), WIRE_FIELD(frame, gone),
	WIRE_FIELD(frame, replaced), WIRE_FIELD(frame, pauses_hidden),
};

static bool any(const struct op_sums *s)
{
	return s->bytes || s->errors || s->sum_ns;
}

/* For an op without IOs only the two sums are meaningful. */
enum { OP_ABSENT, OP_SUMS, OP_IOS };

static void put_op(struct wire_out *to, const struct op_frame *o, u32 n_percentiles)
{
	u32 has = o->ios ? OP_IOS : any(&o->partial) || any(&o->counted) ? OP_SUMS : OP_ABSENT;

	wire_put(to, has);
	if (has == OP_ABSENT)
		return;
	WIRE_PUT_FIELDS(to, &o->partial, sums_fields);
	WIRE_PUT_FIELDS(to, &o->counted, sums_fields);
	if (has == OP_SUMS)
		return;
	WIRE_PUT_FIELDS(to, o, op_fields);
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
	WIRE_GET_FIELDS(from, &o->partial, sums_fields);
	WIRE_GET_FIELDS(from, &o->counted, sums_fields);
	if (has == OP_SUMS)
		return;
	WIRE_GET_FIELDS(from, o, op_fields);
	for (u32 i = 0; i < n_percentiles; i++)
		o->percentile_ns[i] = wire_get_double(from);
	get_hist(from, &o->hist);
	get_hist(from, &o->after_idle);
}

static void put_frame(struct wire_out *to, const struct frame *f, u32 n_percentiles)
{
	WIRE_PUT_FIELDS(to, f, frame_fields);
	WIRE_PUT_FIELDS(to, &f->accounting, accounting_fields);
	for (u32 i = 0; i < LOST_REASONS; i++)
		wire_put(to, f->accounting.lost_by[i]);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put_op(to, &f->ops[op], n_percentiles);
}

static void get_frame(struct wire_in *from, struct frame *f, u32 n_percentiles)
{
	WIRE_GET_FIELDS(from, f, frame_fields);
	WIRE_GET_FIELDS(from, &f->accounting, accounting_fields);
	for (u32 i = 0; i < LOST_REASONS; i++)
		f->accounting.lost_by[i] = wire_get(from);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		get_op(from, &f->ops[op], n_percentiles);
}

void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct watch *watches, const struct frames *fs)
{
	wire_put(to, fs->n);
	wire_put_double(to, fs->interval_s);
	wire_put(to, fs->skipped_unexplained);
	wire_put(to, fs->idle_gap_ns);
	for (u32 i = 0; i < fs->n; i++)
		put_frame(to, &fs->f[i], run->percentiles.n);
	if (run->slow_most)
		put_slow(to, watches, fs);
}

int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow)
{
	u32 n = wire_get_count(from, BLKLAT_MAX_WATCHES);
	int err = 0;

	if (n != fs->n)
		return -EBADMSG;
	fs->interval_s = wire_get_double(from);
	fs->skipped_unexplained = wire_get(from);
	fs->idle_gap_ns = wire_get(from);
	for (u32 i = 0; i < n; i++)
		get_frame(from, &fs->f[i], run->percentiles.n);
	fs->slow = run->slow_most ? slow : NULL;
	if (fs->slow)
		err = get_slow(from, fs, slow);
	return wire_ended(from) ? err : -EBADMSG;
}
