// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protobuf format: one MetricFamily after the other, each behind its length as a varint. A family is built as a
 * tree of protobuf-c's structures, packed and freed, so the memory needed is that of the largest family.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "service/prometheus.pb-c.h"
#include "service/protobuf.h"
#include "util/array.h"
#include "util/cleanup.h"

/* A gap of up to this many empty buckets is cheaper to send than a new span. */
#define GAP_MAX 2

struct prom_encoder {
	struct pb_encoder pb;
	u32 schema;			/* of native histograms */
	Prom__MetricFamily family;
	u32 room;			/* of family.metric */
	char name[128];
};

static void drop_family(struct prom_encoder *p)
{
	pb_drop(&p->pb);
	free(p->family.metric);
	p->family = (Prom__MetricFamily)PROM__METRIC_FAMILY__INIT;
	p->room = 0;
}

/* Adds the labels of a metric or an exemplar. */
static int add_labels(struct prom_encoder *p, size_t *n, Prom__LabelPair ***list, const struct labels *l)
{
	Prom__LabelPair *pairs = pb_take(&p->pb, l->n, sizeof(*pairs));

	*list = pb_take(&p->pb, l->n, sizeof(**list));
	if (!pairs || !*list)
		return -ENOMEM;
	for (u32 i = 0; i < l->n; i++) {
		prom__label_pair__init(&pairs[i]);
		pairs[i].name = (char *)l->l[i].name;
		pairs[i].value = pb_text(&p->pb, l->l[i].value);
		if (!pairs[i].value)
			return -ENOMEM;
		(*list)[(*n)++] = &pairs[i];
	}
	return 0;
}

/* Adds a metric to the family, with its labels. */
static Prom__Metric *add_metric(struct prom_encoder *p, const struct labels *l)
{
	Prom__MetricFamily *f = &p->family;
	Prom__Metric *m = pb_take(&p->pb, 1, sizeof(*m));

	if (!m)
		return NULL;
	prom__metric__init(m);
	if (array_more(&f->metric, sizeof(*f->metric), f->n_metric, &p->room)) {
		p->pb.encoder.err = -ENOMEM;
		return NULL;
	}
	if (add_labels(p, &m->n_label, &m->label, l))
		return NULL;
	f->metric[f->n_metric++] = m;
	return m;
}

static void prom_value(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns)
{
	struct prom_encoder *p = (struct prom_encoder *)e;
	Prom__Metric *m = add_metric(p, l);

	(void)since_ns;
	if (!m)
		return;
	if (f->type == FAMILY_COUNTER) {
		m->counter = pb_take(&p->pb, 1, sizeof(*m->counter));
		if (m->counter)
			*m->counter = (Prom__Counter){ PROTOBUF_C_MESSAGE_INIT(&prom__counter__descriptor), value };
		return;
	}
	m->gauge = pb_take(&p->pb, 1, sizeof(*m->gauge));
	if (m->gauge)
		*m->gauge = (Prom__Gauge){ PROTOBUF_C_MESSAGE_INIT(&prom__gauge__descriptor), value };
}

/* Makes room for as many spans and deltas as the cells could need. */
static int take_spans(struct prom_encoder *p, Prom__Histogram *h, u32 cells)
{
	Prom__BucketSpan *spans = pb_take(&p->pb, cells, sizeof(*spans));

	h->positive_span = pb_take(&p->pb, cells, sizeof(*h->positive_span));
	h->positive_delta = pb_take(&p->pb, cells, sizeof(*h->positive_delta));
	if (!spans || !h->positive_span || !h->positive_delta)
		return -ENOMEM;
	for (u32 i = 0; i < cells; i++)
		h->positive_span[i] = &spans[i];
	return 0;
}

static void append_bucket(Prom__Histogram *h, u64 ios, u64 *before)
{
	h->positive_delta[h->n_positive_delta++] = (int64_t)(ios - *before);
	h->positive_span[h->n_positive_span - 1]->length++;
	*before = ios;
}

/*
 * Writes the buckets in use as spans of neighbours and as differences between neighbours' counts. A span's offset is
 * the number of buckets left out since the previous span; for the first span it is its bucket's number. IOs above the
 * grid are in the bucket that follows it, whose lower bound is right but whose upper bound is not; a quantile that
 * falls there means "beyond 128 s".
 */
static void put_buckets(Prom__Histogram *h, const struct hist *merged)
{
	s32 end = 0;		/* the number after that of the last bucket written */
	u64 before = 0;

	for (u32 cell = 1; cell < BLKLAT_CELLS(merged->scale); cell++) {
		s32 bucket = hist_bucket(merged->scale, cell);

		if (!merged->cells[cell])
			continue;
		if (!h->n_positive_span || bucket - end > GAP_MAX) {
			Prom__BucketSpan *span = h->positive_span[h->n_positive_span++];

			prom__bucket_span__init(span);
			span->offset = bucket - end;
		} else {
			for (; end < bucket; end++)
				append_bucket(h, 0, &before);
		}
		append_bucket(h, merged->cells[cell], &before);
		end = bucket + 1;
	}
}

static Prom__Timestamp *timestamp(struct prom_encoder *p, s64 ns)
{
	Prom__Timestamp *t = pb_take(&p->pb, 1, sizeof(*t));

	if (!t)
		return NULL;
	prom__timestamp__init(t);
	t->seconds = ns / (s64)NSEC_PER_SEC;
	t->nanos = ns % (s64)NSEC_PER_SEC;
	return t;
}

/* NULL: there is no memory; the error is remembered. */
static Prom__Exemplar *exemplar(struct prom_encoder *p, const struct exemplar *e)
{
	Prom__Exemplar *made = pb_take(&p->pb, 1, sizeof(*made));
	struct exemplar_room room;
	struct labels l = exemplar_labels(e, &room);

	if (!made)
		return NULL;
	prom__exemplar__init(made);
	made->value = seconds_of(e->latency_ns);
	made->timestamp = timestamp(p, e->end_ns);
	return !made->timestamp || add_labels(p, &made->n_label, &made->label, &l) ? NULL : made;
}

/* Adds the exemplars of a native histogram, whose buckets have no place for them. */
static int put_exemplars(struct prom_encoder *p, Prom__Histogram *h, const struct op_total *o)
{
	if (!o->n_exemplars)
		return 0;
	h->exemplars = pb_take(&p->pb, o->n_exemplars, sizeof(*h->exemplars));
	if (!h->exemplars)
		return -ENOMEM;
	for (u32 i = 0; i < o->n_exemplars; i++) {
		h->exemplars[h->n_exemplars] = exemplar(p, &o->exemplars[i]);
		if (!h->exemplars[h->n_exemplars++])
			return -ENOMEM;
	}
	return 0;
}

static int put_native(struct prom_encoder *p, Prom__Histogram *h, const struct op_total *o)
{
	struct hist merged CLEANUP(hist_uninit) = { 0 };
	int err = hist_coarser(&merged, &o->hist, p->schema);

	if (!err)
		err = take_spans(p, h, BLKLAT_CELLS(merged.scale));
	if (err)
		return err;
	h->schema = merged.scale;
	h->sample_count = hist_count(&merged);
	h->sample_sum = seconds_of(o->sum_ns);
	h->zero_threshold = ldexp(1, HIST_FIRST_LOG2);
	h->zero_count = merged.cells[0];
	put_buckets(h, &merged);
	return put_exemplars(p, h, o);
}

static int put_classic(struct prom_encoder *p, Prom__Histogram *h, const struct op_total *o)
{
	Prom__Bucket *buckets;
	struct classic c;
	int err = classic_make(&c, &o->hist);

	if (err)
		return err;
	buckets = pb_take(&p->pb, c.n, sizeof(*buckets));
	h->bucket = pb_take(&p->pb, c.n, sizeof(*h->bucket));
	if (!buckets || !h->bucket)
		return -ENOMEM;
	for (u32 i = 0; i < c.n - 1; i++) {	/* +Inf is implied */
		const struct exemplar *e = exemplar_in(o, i ? c.b[i - 1].upper_ns : 0, c.b[i].upper_ns);

		prom__bucket__init(&buckets[i]);
		if (e) {
			buckets[i].exemplar = exemplar(p, e);
			if (!buckets[i].exemplar)
				return -ENOMEM;
		}
		buckets[i].upper_bound = c.b[i].upper_ns / (double)NSEC_PER_SEC;
		buckets[i].cumulative_count = c.b[i].ios;
		h->bucket[h->n_bucket++] = &buckets[i];
	}
	return 0;
}

static void prom_histogram(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *o)
{
	struct prom_encoder *p = (struct prom_encoder *)e;
	Prom__Metric *m = add_metric(p, l);
	Prom__Histogram *h = m ? pb_take(&p->pb, 1, sizeof(*h)) : NULL;
	Prom__Timestamp *created = h ? timestamp(p, o->created_ns) : NULL;

	(void)f;
	if (!created)
		return;
	prom__histogram__init(h);
	h->created_timestamp = created;
	m->histogram = h;
	/*
	 * A Prometheus that takes native histograms ignores classic buckets, unless configured otherwise. But one
	 * that asks for protobuf and takes no native histograms would get only a count and a sum. So both are sent,
	 * for twice the bytes.
	 */
	e->err = put_native(p, h, o) ?: put_classic(p, h, o);
}

/* Writes what there is of a family. */
static void prom_end(struct encoder *e)
{
	struct prom_encoder *p = (struct prom_encoder *)e;

	if (!e->err && p->family.name)
		e->err = pb_write(&p->family.base, true, e->out);
	drop_family(p);
}

static void prom_family(struct encoder *e, const struct family *f)
{
	struct prom_encoder *p = (struct prom_encoder *)e;

	prom_end(e);
	snprintf(p->name, sizeof(p->name), "%s%s", f->name, family_suffix(f));
	p->family.name = p->name;
	p->family.help = (char *)f->help;
	p->family.type = f->type == FAMILY_COUNTER ? PROM__METRIC_TYPE__COUNTER :
			 f->type == FAMILY_HISTOGRAM ? PROM__METRIC_TYPE__HISTOGRAM :
			 PROM__METRIC_TYPE__GAUGE;
}

static const struct encoder_ops prom_ops = {
	.family = prom_family,
	.value = prom_value,
	.histogram = prom_histogram,
	.end = prom_end,
};

int exposition_protobuf(const struct totals *t, u32 schema, FILE *out)
{
	struct prom_encoder p = { .pb.encoder = { .ops = &prom_ops, .out = out }, .schema = schema };

	return expose(t, &p.pb.encoder);
}
