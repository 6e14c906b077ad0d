// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protobuf format: one MetricFamily after the other, each behind its length as a varint, by the numbers and types
 * of prometheus/client_model, io/prometheus/client/metrics.proto. Packed arrays are half as long, and every reader
 * takes either.
 */
#include <errno.h>
#include <math.h>

#include "service/prometheus_families.h"
#include "service/protobuf.h"
#include "util/cleanup.h"

/* A gap of up to this many empty buckets is cheaper to send than a new span. */
#define GAP_MAX 2

struct prom_encoder {
	struct encoder encoder;
	u32 schema;			/* of native histograms */
	struct wire_out family;		/* so far; empty: there is none */
};

static void put_labels(struct wire_out *to, const struct labels *l)
{
	for (u32 i = 0; i < l->n; i++) {
		size_t pair = pb_begin(to, 1);

		pb_text(to, 1, l->l[i].name);
		pb_text(to, 2, l->l[i].value);
		pb_end(to, pair);
	}
}

static void prom_value(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns)
{
	struct wire_out *to = &((struct prom_encoder *)e)->family;
	size_t metric = pb_begin(to, 4), of;

	(void)since_ns;
	put_labels(to, l);
	of = pb_begin(to, f->type == FAMILY_COUNTER ? 3 : 2);
	pb_double(to, 1, value);
	pb_end(to, of);
	pb_end(to, metric);
}

/* --- histograms -------------------------------------------------------------------------------- */

static void put_time(struct wire_out *to, u32 field, s64 ns)
{
	size_t time = pb_begin(to, field);

	pb_number(to, 1, ns / (s64)NSEC_PER_SEC);
	pb_number(to, 2, ns % (s64)NSEC_PER_SEC);
	pb_end(to, time);
}

static void put_exemplar(struct wire_out *to, u32 field, const struct exemplar *e)
{
	size_t exemplar = pb_begin(to, field);
	struct exemplar_room room;
	const struct labels l = exemplar_labels(e, &room);

	put_labels(to, &l);
	pb_double(to, 2, seconds_of(e->latency_ns));
	put_time(to, 3, e->end_ns);
	pb_end(to, exemplar);
}

/*
 * Buckets in use are in spans of neighbours. Finds the next one from *@cell on; false: there is none. IOs above the
 * grid are in the bucket that follows it, whose lower bound is right but whose upper bound is not; a quantile that
 * falls there means "beyond 128 s".
 */
static bool next_span(const struct hist *h, u32 *cell, u32 *ret_end)
{
	u32 n = BLKLAT_CELLS(h->scale);

	while (*cell < n && !h->cells[*cell])
		++*cell;
	*ret_end = *cell;
	for (u32 i = *cell; i < n && i <= *ret_end + GAP_MAX; i++)
		if (h->cells[i])
			*ret_end = i + 1;
	return *cell < n;
}

/* A span's offset is the number of buckets left out before it; of the first one, its bucket's number. */
static void put_spans(struct wire_out *to, const struct hist *h)
{
	s32 before = 0;		/* the number after that of the last bucket written */

	for (u32 cell = 1, end; next_span(h, &cell, &end); cell = end) {
		size_t span = pb_begin(to, 12);

		pb_signed(to, 1, hist_bucket(h->scale, cell) - before);
		pb_number(to, 2, end - cell);
		pb_end(to, span);
		before = hist_bucket(h->scale, end);
	}
}

/* The counts of all buckets in spans, each as the difference from the one before it. */
static void put_deltas(struct wire_out *to, const struct hist *h)
{
	u64 before = 0;
	size_t deltas;
	u32 cell = 1, end;

	if (!next_span(h, &cell, &end))
		return;
	deltas = pb_begin(to, 13);
	for (; next_span(h, &cell, &end); cell = end)
		for (u32 i = cell; i < end; i++) {
			wire_put_number(to, pb_zigzag(h->cells[i] - before));
			before = h->cells[i];
		}
	pb_end(to, deltas);
}

static void put_classic(struct wire_out *to, const struct op_total *o, const struct classic *c)
{
	for (u32 i = 0; i < c->n - 1; i++) {	/* +Inf is implied */
		const struct exemplar *e = exemplar_in(o, i ? c->b[i - 1].upper_ns : 0, c->b[i].upper_ns);
		size_t bucket = pb_begin(to, 3);

		pb_number(to, 1, c->b[i].ios);
		pb_double(to, 2, c->b[i].upper_ns / (double)NSEC_PER_SEC);
		if (e)
			put_exemplar(to, 3, e);
		pb_end(to, bucket);
	}
}

/*
 * A Prometheus that takes native histograms ignores classic buckets, unless configured otherwise. But one that asks
 * for protobuf and takes no native histograms would get only a count and a sum. So both are sent, for twice the bytes.
 * Native buckets have no place for exemplars, which are a list behind them.
 */
static int put_histogram(struct wire_out *to, const struct op_total *o, u32 schema)
{
	struct hist native CLEANUP(hist_uninit) = { 0 };
	struct classic classic;
	int err = hist_coarser(&native, &o->hist, schema) ?: classic_make(&classic, &o->hist);

	if (err)
		return err;
	pb_number(to, 1, hist_count(&native));
	pb_double(to, 2, seconds_of(o->sum_ns));
	put_classic(to, o, &classic);
	pb_signed(to, 5, native.scale);
	pb_double(to, 6, ldexp(1, HIST_FIRST_LOG2));
	pb_number(to, 7, native.cells[0]);
	put_spans(to, &native);
	put_deltas(to, &native);
	put_time(to, 15, o->created_ns);
	for (u32 i = 0; i < o->n_exemplars; i++)
		put_exemplar(to, 16, &o->exemplars[i]);
	return 0;
}

static void prom_histogram(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *o)
{
	struct prom_encoder *p = (struct prom_encoder *)e;
	size_t metric = pb_begin(&p->family, 4), histogram;

	(void)f;
	put_labels(&p->family, l);
	histogram = pb_begin(&p->family, 7);
	e->err = e->err ?: put_histogram(&p->family, o, p->schema);
	pb_end(&p->family, histogram);
	pb_end(&p->family, metric);
}

/* --- families ---------------------------------------------------------------------------------- */

/* Writes what there is of a family. */
static void prom_end(struct encoder *e)
{
	struct prom_encoder *p = (struct prom_encoder *)e;
	struct wire_out size = { 0 };

	if (p->family.len)
		wire_put_number(&size, p->family.len);
	if (size.failed || p->family.failed)
		e->err = -ENOMEM;
	if (!e->err && size.len) {
		fwrite(size.data, 1, size.len, e->out);
		fwrite(p->family.data, 1, p->family.len, e->out);
	}
	wire_out_free(&size);
	p->family.len = 0;
}

static void prom_family(struct encoder *e, const struct family *f)
{
	struct prom_encoder *p = (struct prom_encoder *)e;
	char name[PB_TEXT];

	prom_end(e);
	snprintf(name, sizeof(name), "%s%s", f->name, family_suffix(f));
	pb_text(&p->family, 1, name);
	pb_text(&p->family, 2, f->help);
	pb_number(&p->family, 3, f->type == FAMILY_COUNTER ? 0 : f->type == FAMILY_HISTOGRAM ? 4 : 1);
}

static const struct encoder_ops prom_ops = {
	.family = prom_family,
	.value = prom_value,
	.histogram = prom_histogram,
	.end = prom_end,
};

int exposition_protobuf(const struct totals *t, u32 schema, FILE *out)
{
	struct prom_encoder p = { .encoder = { .ops = &prom_ops, .out = out }, .schema = schema };
	int err = expose(t, &p.encoder);

	wire_out_free(&p.family);
	return err;
}
