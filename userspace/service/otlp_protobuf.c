// SPDX-License-Identifier: GPL-2.0-only
/*
 * OTLP: all metrics of one resource and scope in one message, a tree of protobuf-c's structures that is packed at the
 * end. The families are those of Prometheus, with OpenTelemetry's way of naming them and telling their units; a store
 * that makes Prometheus' names of OpenTelemetry's gets the same ones back.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "service/otlp.pb-c.h"
#include "service/protobuf.h"
#include "util/array.h"
#include "util/cleanup.h"

struct otlp_encoder {
	struct pb_encoder pb;
	const struct totals *totals;
	Otlp__ScopeMetrics metrics;
	u32 metrics_room;
	const struct family *family;	/* of the points; NULL: there was none yet */
	u32 n_points, points_room;
	void **points;			/* NumberDataPoint, or those of histograms */
};

static Otlp__KeyValue *attribute(struct otlp_encoder *o, const char *name, const char *value)
{
	Otlp__KeyValue *pair = pb_take(&o->pb, 1, sizeof(*pair));
	Otlp__AnyValue *any = pb_take(&o->pb, 1, sizeof(*any));
	char *text = pb_text(&o->pb, value);

	if (!pair || !any || !text)
		return NULL;
	otlp__key_value__init(pair);
	otlp__any_value__init(any);
	pair->key = (char *)name;
	pair->value = any;
	any->string_value = text;
	return pair;
}

/* Returns 0 or -ENOMEM. */
static int add_attributes(struct otlp_encoder *o, size_t *n, Otlp__KeyValue ***list, const struct labels *l)
{
	*list = pb_take(&o->pb, l->n, sizeof(**list));
	for (u32 i = 0; *list && i < l->n; i++)
		(*list)[(*n)++] = attribute(o, l->l[i].name, l->l[i].value);
	return o->pb.encoder.err;
}

static void add_point(struct otlp_encoder *o, void *point)
{
	if (o->pb.encoder.err || array_more(&o->points, sizeof(*o->points), o->n_points, &o->points_room))
		o->pb.encoder.err = -ENOMEM;
	else
		o->points[o->n_points++] = point;
}

static void otlp_value(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;
	Otlp__NumberDataPoint *point = pb_take(&o->pb, 1, sizeof(*point));

	if (!point)
		return;
	otlp__number_data_point__init(point);
	point->has_start_time_unix_nano = f->type == FAMILY_COUNTER;
	point->start_time_unix_nano = since_ns;
	point->time_unix_nano = o->totals->end_ns;
	point->as_double = value;
	add_attributes(o, &point->n_attributes, &point->attributes, l);
	add_point(o, point);
}

/*
 * All of one array, from the first bucket in use to the last. OpenTelemetry numbers a bucket by its lower bound, as
 * we do its upper one.
 */
static void put_buckets(struct otlp_encoder *o, Otlp__Buckets *to, const struct hist *h)
{
	u32 first = 1, end = BLKLAT_CELLS(h->scale);

	while (first < end && !h->cells[first])
		first++;
	while (end > first && !h->cells[end - 1])
		end--;
	otlp__buckets__init(to);
	to->offset = first < end ? hist_bucket(h->scale, first) - 1 : 0;
	to->bucket_counts = pb_take(&o->pb, end - first, sizeof(*to->bucket_counts));
	for (u32 cell = first; to->bucket_counts && cell < end; cell++)
		to->bucket_counts[to->n_bucket_counts++] = h->cells[cell];
}

static Otlp__Exemplar *exemplar(struct otlp_encoder *o, const struct exemplar *e)
{
	Otlp__Exemplar *made = pb_take(&o->pb, 1, sizeof(*made));
	struct exemplar_room room;
	struct labels l = exemplar_labels(e, &room);

	if (!made)
		return NULL;
	otlp__exemplar__init(made);
	made->time_unix_nano = e->end_ns;
	made->as_double = seconds_of(e->latency_ns);
	add_attributes(o, &made->n_filtered_attributes, &made->filtered_attributes, &l);
	return made;
}

static void put_exemplars(struct otlp_encoder *o, Otlp__ExponentialHistogramDataPoint *point, const struct op_total *of)
{
	point->exemplars = pb_take(&o->pb, of->n_exemplars, sizeof(*point->exemplars));
	for (u32 i = 0; point->exemplars && i < of->n_exemplars; i++)
		point->exemplars[point->n_exemplars++] = exemplar(o, &of->exemplars[i]);
}

static void otlp_histogram(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *of)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;
	Otlp__ExponentialHistogramDataPoint *point = pb_take(&o->pb, 1, sizeof(*point));
	Otlp__Buckets *positive = pb_take(&o->pb, 1, sizeof(*positive));

	(void)f;
	if (!point || !positive)
		return;
	otlp__exponential_histogram_data_point__init(point);
	point->start_time_unix_nano = of->created_ns;
	point->time_unix_nano = o->totals->end_ns;
	point->count = hist_count(&of->hist);
	point->sum = seconds_of(of->sum_ns);
	point->scale = of->hist.scale;
	point->zero_threshold = ldexp(1, HIST_FIRST_LOG2);
	point->zero_count = of->hist.cells[0];
	point->positive = positive;
	put_buckets(o, positive, &of->hist);
	put_exemplars(o, point, of);
	add_attributes(o, &point->n_attributes, &point->attributes, l);
	add_point(o, point);
}

/* --- metrics ----------------------------------------------------------------------------------- */

/* blklat_io_latency_seconds is blklat.io.latency: dots between what is in each other, and the unit by itself. */
static char *name_of(struct otlp_encoder *o, const struct family *f)
{
	char *name = pb_take(&o->pb, strlen(f->name) + sizeof("_info"), 1);
	u32 dots = strncmp(f->name, "blklat_", strlen("blklat_")) ? 0 : 2;

	if (!name)
		return NULL;
	strcpy(name, f->name);
	if (f->type == FAMILY_INFO)
		strcat(name, family_suffix(f));
	if (f->unit && strlen(name) > strlen(f->unit) && !strcmp(name + strlen(name) - strlen(f->unit), f->unit))
		name[strlen(name) - strlen(f->unit) - 1] = '\0';
	for (char *c = name; dots && (c = strchr(c, '_')); dots--)
		*c = '.';
	return name;
}

static const char *unit_of(const struct family *f)
{
	const char *unit = f->unit ?: "";

	return !strcmp(unit, "seconds") ? "s" : !strcmp(unit, "bytes") ? "By" : unit;
}

/* Gives the metric its points. Returns 0 or -ENOMEM. */
static int put_points(struct otlp_encoder *o, Otlp__Metric *m)
{
	void **points = pb_take(&o->pb, o->n_points, sizeof(*points));

	if (!points)
		return -ENOMEM;
	memcpy(points, o->points, o->n_points * sizeof(*points));
	if (o->family->type == FAMILY_HISTOGRAM) {
		m->exponential_histogram = pb_take(&o->pb, 1, sizeof(*m->exponential_histogram));
		if (m->exponential_histogram)
			*m->exponential_histogram = (Otlp__ExponentialHistogram){
				PROTOBUF_C_MESSAGE_INIT(&otlp__exponential_histogram__descriptor),
				o->n_points,
				(Otlp__ExponentialHistogramDataPoint **)points,
				OTLP__AGGREGATION_TEMPORALITY__CUMULATIVE,
			};
	} else if (o->family->type == FAMILY_COUNTER) {
		m->sum = pb_take(&o->pb, 1, sizeof(*m->sum));
		if (m->sum)
			*m->sum = (Otlp__Sum){
				PROTOBUF_C_MESSAGE_INIT(&otlp__sum__descriptor),
				o->n_points,
				(Otlp__NumberDataPoint **)points,
				OTLP__AGGREGATION_TEMPORALITY__CUMULATIVE,
				true,
			};
	} else {
		m->gauge = pb_take(&o->pb, 1, sizeof(*m->gauge));
		if (m->gauge)
			*m->gauge = (Otlp__Gauge){
				PROTOBUF_C_MESSAGE_INIT(&otlp__gauge__descriptor),
				o->n_points,
				(Otlp__NumberDataPoint **)points,
			};
	}
	return o->pb.encoder.err;
}

/* Makes a metric of the points. */
static void end_family(struct otlp_encoder *o)
{
	Otlp__ScopeMetrics *to = &o->metrics;
	Otlp__Metric *m;

	if (!o->family || o->pb.encoder.err)
		return;
	m = pb_take(&o->pb, 1, sizeof(*m));
	if (!m)
		return;
	otlp__metric__init(m);
	m->name = name_of(o, o->family);
	m->description = (char *)o->family->help;
	m->unit = (char *)unit_of(o->family);
	if (!m->name || put_points(o, m) ||
	    array_more(&to->metrics, sizeof(*to->metrics), to->n_metrics, &o->metrics_room))
		o->pb.encoder.err = -ENOMEM;
	else
		to->metrics[to->n_metrics++] = m;
	o->n_points = 0;
}

static void otlp_family(struct encoder *e, const struct family *f)
{
	struct otlp_encoder *o = (struct otlp_encoder *)e;

	end_family(o);
	o->family = f;
}

static int write_all(struct otlp_encoder *o, const char *host)
{
	struct labels of = { 4, {
		{ "host.name", host }, { "service.instance.id", host }, { "service.name", "blklat" },
		{ "service.version", o->totals->run->version },
	} };
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__ResourceMetrics metrics = OTLP__RESOURCE_METRICS__INIT;
	Otlp__ExportMetricsServiceRequest request = OTLP__EXPORT_METRICS_SERVICE_REQUEST__INIT;

	scope.name = (char *)"blklat";
	scope.version = (char *)o->totals->run->version;
	o->metrics.scope = &scope;
	metrics.resource = &resource;
	metrics.n_scope_metrics = 1;
	metrics.scope_metrics = &(Otlp__ScopeMetrics *){ &o->metrics };
	request.n_resource_metrics = 1;
	request.resource_metrics = &(Otlp__ResourceMetrics *){ &metrics };
	return add_attributes(o, &resource.n_attributes, &resource.attributes, &of)
		       ?: pb_write(&request.base, false, o->pb.encoder.out);
}

static void otlp_end(struct encoder *e)
{
	end_family((struct otlp_encoder *)e);
}

static const struct encoder_ops otlp_ops = {
	.family = otlp_family,
	.value = otlp_value,
	.histogram = otlp_histogram,
	.end = otlp_end,
};

int exposition_otlp(const struct totals *t, const char *host, FILE *out)
{
	struct otlp_encoder o = { .pb.encoder = { .ops = &otlp_ops, .out = out }, .totals = t, .metrics = OTLP__SCOPE_METRICS__INIT };
	int err = expose_conventions(t, &o.pb.encoder) ?: write_all(&o, host);

	pb_drop(&o.pb);
	free(o.metrics.metrics);
	free(o.points);
	return err;
}
