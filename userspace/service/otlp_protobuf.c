// SPDX-License-Identifier: GPL-2.0-only
/*
 * OTLP: all metrics of one resource and scope in one message, by the numbers and types of opentelemetry-proto,
 * opentelemetry/proto/metrics/v1/metrics.proto and the files that it imports. The families are those of Prometheus,
 * with OpenTelemetry's way of naming them and telling their units; a store that makes Prometheus' names of
 * OpenTelemetry's gets the same ones back.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "service/prometheus_families.h"
#include "service/protobuf.h"

#define CUMULATIVE 2			/* of enum AggregationTemporality */

struct otlp_encoder {
	struct encoder encoder;
	const struct totals *totals;
	struct wire_out request;
	const struct family *family;	/* of the metric; NULL: there was none yet */
	size_t metric, data;		/* where these begin */
};

static void put_attributes(struct wire_out *to, u32 field, const struct labels *l)
{
	for (u32 i = 0; i < l->n; i++) {
		size_t pair = pb_begin(to, field), value;

		pb_text(to, 1, l->l[i].name);
		value = pb_begin(to, 2);
		pb_text(to, 1, l->l[i].value);
		pb_end(to, value);
		pb_end(to, pair);
	}
}

static void otlp_value(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;
	size_t point = pb_begin(&o->request, 1);

	if (f->type == FAMILY_COUNTER)
		pb_fixed(&o->request, 2, since_ns);
	pb_fixed(&o->request, 3, o->totals->end_ns);
	pb_double(&o->request, 4, value);
	put_attributes(&o->request, 7, l);
	pb_end(&o->request, point);
}

/*
 * All of one array, from the first bucket in use to the last. OpenTelemetry numbers a bucket by its lower bound, as
 * we do its upper one.
 */
static void put_buckets(struct wire_out *to, const struct hist *h)
{
	u32 first = 1, end = BLKLAT_CELLS(h->scale);
	size_t buckets = pb_begin(to, 8), counts;

	while (first < end && !h->cells[first])
		first++;
	while (end > first && !h->cells[end - 1])
		end--;
	pb_signed(to, 1, first < end ? hist_bucket(h->scale, first) - 1 : 0);
	if (first < end) {
		counts = pb_begin(to, 2);
		for (u32 cell = first; cell < end; cell++)
			wire_put_number(to, h->cells[cell]);
		pb_end(to, counts);
	}
	pb_end(to, buckets);
}

static void put_exemplar(struct wire_out *to, const struct exemplar *e)
{
	size_t exemplar = pb_begin(to, 11);
	struct exemplar_room room;
	const struct labels l = exemplar_labels(e, &room);

	pb_fixed(to, 2, e->end_ns);
	pb_double(to, 3, seconds_of(e->latency_ns));
	put_attributes(to, 7, &l);
	pb_end(to, exemplar);
}

static void otlp_histogram(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *of)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;
	struct wire_out *to = &o->request;
	size_t point = pb_begin(to, 1);

	(void)f;
	put_attributes(to, 1, l);
	pb_fixed(to, 2, of->created_ns);
	pb_fixed(to, 3, o->totals->end_ns);
	pb_fixed(to, 4, hist_count(&of->hist));
	pb_double(to, 5, seconds_of(of->sum_ns));
	pb_signed(to, 6, of->hist.scale);
	pb_fixed(to, 7, of->hist.cells[0]);
	put_buckets(to, &of->hist);
	for (u32 i = 0; i < of->n_exemplars; i++)
		put_exemplar(to, &of->exemplars[i]);
	pb_double(to, 14, ldexp(1, HIST_FIRST_LOG2));
	pb_end(to, point);
}

/* --- metrics ----------------------------------------------------------------------------------- */

/* blklat_io_latency_seconds is blklat.io.latency: dots between what is in each other, and the unit by itself. */
static void put_name(struct wire_out *to, const struct family *f)
{
	u32 dots = strncmp(f->name, "blklat_", strlen("blklat_")) ? 0 : 2;
	char name[PB_TEXT];

	snprintf(name, sizeof(name), "%s%s", f->name, f->type == FAMILY_INFO ? family_suffix(f) : "");
	if (f->unit && strlen(name) > strlen(f->unit) && !strcmp(name + strlen(name) - strlen(f->unit), f->unit))
		name[strlen(name) - strlen(f->unit) - 1] = '\0';
	for (char *c = name; dots && (c = strchr(c, '_')); dots--)
		*c = '.';
	pb_text(to, 1, name);
}

static const char *unit_of(const struct family *f)
{
	const char *unit = f->unit ?: "";

	return !strcmp(unit, "seconds") ? "s" : !strcmp(unit, "bytes") ? "By" : unit;
}

/* Behind the points. */
static void otlp_end(struct encoder *e)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;

	if (!o->family)
		return;
	if (o->family->type == FAMILY_COUNTER || o->family->type == FAMILY_HISTOGRAM)
		pb_number(&o->request, 2, CUMULATIVE);
	if (o->family->type == FAMILY_COUNTER)
		pb_number(&o->request, 3, true);	/* is_monotonic */
	pb_end(&o->request, o->data);
	pb_end(&o->request, o->metric);
}

static void otlp_family(struct encoder *e, const struct family *f)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;

	otlp_end(e);
	o->family = f;
	o->metric = pb_begin(&o->request, 2);
	put_name(&o->request, f);
	pb_text(&o->request, 2, f->help);
	pb_text(&o->request, 3, unit_of(f));
	o->data = pb_begin(&o->request, f->type == FAMILY_HISTOGRAM ? 10 : f->type == FAMILY_COUNTER ? 7 : 5);
}

static const struct encoder_ops otlp_ops = {
	.family = otlp_family,
	.value = otlp_value,
	.histogram = otlp_histogram,
	.end = otlp_end,
};

int exposition_otlp(const struct totals *t, const char *host, FILE *out)
{
	struct otlp_encoder o = { .encoder = { .ops = &otlp_ops, .out = out }, .totals = t };
	const struct labels of = { 4, {
		{ "host.name", host }, { "service.instance.id", host }, { "service.name", "blklat" },
		{ "service.version", t->run->version },
	} };
	struct wire_out *to = &o.request;
	size_t all = pb_begin(to, 1), resource = pb_begin(to, 1), metrics, scope;
	int err;

	put_attributes(to, 1, &of);
	pb_end(to, resource);
	metrics = pb_begin(to, 2);
	scope = pb_begin(to, 1);
	pb_text(to, 1, "blklat");
	pb_text(to, 2, t->run->version);
	pb_end(to, scope);
	err = expose_conventions(t, &o.encoder);
	pb_end(to, metrics);
	pb_end(to, all);
	err = to->failed ? -ENOMEM : err;
	if (!err)
		fwrite(to->data, 1, to->len, out);
	wire_out_free(to);
	return err;
}
