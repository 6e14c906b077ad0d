// SPDX-License-Identifier: GPL-2.0-only
#include "service/frames_wire.h"

#include <errno.h>

#include "service/slow_wire.h"
#include "util/wire.h"

/* Writes the cells with IOs: the distance of each from the previous one, and its IOs. */
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

static const struct wire_field sums_fields[] = {
	WIRE_FIELD(op_sums, bytes, WIRE_NUMBER), WIRE_FIELD(op_sums, errors, WIRE_NUMBER), WIRE_FIELD(op_sums, sum_ns, WIRE_NUMBER),
};

/* An op without its sums, percentiles and histograms. */
static const struct wire_field op_fields[] = {
	WIRE_FIELD(op_frame, ios, WIRE_NUMBER), WIRE_FIELD(op_frame, bytes, WIRE_NUMBER), WIRE_FIELD(op_frame, errors, WIRE_NUMBER),
	WIRE_FIELD(op_frame, sum_ns, WIRE_NUMBER), WIRE_FIELD(op_frame, iops, WIRE_DOUBLE),
	WIRE_FIELD(op_frame, bytes_per_s, WIRE_DOUBLE),
	WIRE_FIELD(op_frame, mean_ns, WIRE_DOUBLE), WIRE_FIELD(op_frame, min_ns, WIRE_NUMBER),
	WIRE_FIELD(op_frame, max_ns, WIRE_NUMBER),
	WIRE_FIELD(op_frame, after_idle_ios, WIRE_NUMBER), WIRE_FIELD(op_frame, after_idle_sum_ns, WIRE_NUMBER),
};

/* The accounting without lost_by. */
static const struct wire_field accounting_fields[] = {
	WIRE_FIELD(accounting, started, WIRE_NUMBER), WIRE_FIELD(accounting, completed, WIRE_NUMBER),
	WIRE_FIELD(accounting, in_flight, WIRE_NUMBER),
	WIRE_FIELD(accounting, lost, WIRE_NUMBER), WIRE_FIELD(accounting, requeued, WIRE_NUMBER),
	WIRE_FIELD(accounting, moved, WIRE_NUMBER),
	WIRE_FIELD(accounting, before, WIRE_NUMBER), WIRE_FIELD(accounting, unissued, WIRE_NUMBER),
	WIRE_FIELD(accounting, skipped, WIRE_NUMBER),
	WIRE_FIELD(accounting, skipped_unexplained, WIRE_NUMBER), WIRE_FIELD(accounting, kernel_ios, WIRE_NUMBER),
	WIRE_FIELD(accounting, kernel_in_flight, WIRE_NUMBER), WIRE_FIELD(accounting, kernel_known, WIRE_NUMBER),
	WIRE_FIELD(accounting, kernel_leaves_out, WIRE_NUMBER),
};

/* A frame without its watch, ops and accounting. */
static const struct wire_field frame_fields[] = {
	WIRE_FIELD(frame, end_ns, WIRE_SIGNED), WIRE_FIELD(frame, interval_s, WIRE_DOUBLE),
	WIRE_FIELD(frame, in_flight, WIRE_NUMBER),
	WIRE_FIELD(frame, oldest_ns, WIRE_NUMBER), WIRE_FIELD(frame, queue_depth, WIRE_DOUBLE),
	WIRE_FIELD(frame, gone, WIRE_NUMBER),
	WIRE_FIELD(frame, replaced, WIRE_NUMBER), WIRE_FIELD(frame, pauses_hidden, WIRE_NUMBER),
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
	wire_put(to, fs->skipped_unexplained);
	wire_put(to, fs->idle_gap_ns);
	for (u32 i = 0; i < fs->n; i++)
		put_frame(to, &fs->f[i], run->percentiles.n);
	if (run->slow_most)
		wire_put_slow(to, watches, fs);
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
		err = wire_get_slow(from, fs, slow);
	return wire_ended(from) ? err : -EBADMSG;
}
