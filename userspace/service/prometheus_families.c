// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus_families.h"

#include <string.h>

#include "service/otlp_push.h"

/* A walk over the totals for one family. */
struct walk {
	struct encoder *e;
	const struct totals *t;
	const struct family *f;
	bool begun;
};

static void begin(struct walk *w)
{
	if (!w->begun)
		w->e->ops->family(w->e, w->f);
	w->begun = true;
}

static void put_since(struct walk *w, const struct labels *l, double value, s64 since_ns)
{
	begin(w);
	w->e->ops->value(w->e, w->f, l, value, since_ns);
}

static void put(struct walk *w, const struct labels *l, double value)
{
	put_since(w, l, value, w->t->begin_ns);
}

static void label(struct labels *l, const char *name, const char *value)
{
	l->l[l->n++] = (struct label){ name, value };
}

/* Labels are in the order of their names, as Prometheus sorts them. @name: of one more; NULL: there is none. */
static struct labels of_series(const struct series *s, const char *name, const char *value)
{
	struct labels l = { 0 };

	label(&l, "device", s->device.name);
	if (name)
		label(&l, name, value);
	label(&l, "stage", stage_names[s->stage]);
	return l;
}

static struct labels of_op(const struct series *s, u32 op)
{
	struct labels l = { 0 };

	label(&l, "device", s->device.name);
	label(&l, "op", op_names[op]);
	if (s->part)
		label(&l, s->part->by, s->part->label);
	label(&l, "stage", stage_names[s->stage]);
	return l;
}

/* By OpenTelemetry's semantic conventions of disks, and the part. */
static struct labels of_disk(const struct series *s, u32 op)
{
	struct labels l = { 0 };

	label(&l, "disk.io.direction", op_names[op]);
	label(&l, "system.device", s->device.name);
	if (s->part)
		label(&l, s->part->by, s->part->label);
	return l;
}

/* The next exposed series from *@i on; NULL after the last. */
static const struct series *next(const struct totals *t, u32 *i)
{
	while (*i < t->n) {
		const struct series *s = t->series[(*i)++];

		if (series_present(t, s))
			return s;
	}
	return NULL;
}

#define for_each_present(s, t) \
	for (u32 next_ = 0; (s = next(t, &next_));)

/* Parts have only figures by op, so all other families skip them. */
#define for_each_whole(s, t) \
	for_each_present(s, t) \
		if (!(s)->part)

#define for_each_op(op, s) \
	for (u32 op = 0; op < BLKLAT_OPS; op++) \
		if ((s)->ops[op].hist.cells)

static void walk_latency(struct walk *w)
{
	const struct series *s;

	for_each_present(s, w->t)
		for_each_op(op, s) {
			const struct labels l = of_op(s, op);

			begin(w);
			w->e->ops->histogram(w->e, w->f, &l, &s->ops[op]);
		}
}

#define WALK_OPS(of, value_) \
	static void walk_##of(struct walk *w) \
	{ \
		const struct series *s; \
		for_each_present(s, w->t) \
			for_each_op(op, s) { \
				const struct labels l = of_op(s, op); \
				put_since(w, &l, s->ops[op].value_, s->ops[op].created_ns); \
			} \
	}

/*
 * A metric of OpenTelemetry's, of reads and writes. It knows no stages, and a device's IOs shall be in it once: so
 * those of its first stage are.
 */
#define WALK_DISK(of, value_) \
	static void walk_disk_##of(struct walk *w) \
	{ \
		const struct series *s, *first = NULL; \
		for_each_present(s, w->t) { \
			if (!first || strcmp(first->device.name, s->device.name)) \
				first = s; \
			for (u32 op = BLKLAT_OP_READ; op <= BLKLAT_OP_WRITE && s->stage == first->stage; op++) { \
				const struct op_total *o = &s->ops[op]; \
				const struct labels l = of_disk(s, op); \
				if (o->hist.cells) \
					put_since(w, &l, value_, o->created_ns); \
			} \
		} \
	}

#define WALK_SERIES(of, there, value_) \
	static void walk_##of(struct walk *w) \
	{ \
		const struct series *s; \
		for_each_whole(s, w->t) { \
			const struct labels l = of_series(s, NULL, NULL); \
			if (there) \
				put(w, &l, value_); \
		} \
	}

#define WALK_FACT(of, there, value_) \
	static void walk_##of(struct walk *w) \
	{ \
		const struct totals *t = w->t; \
		const struct labels none = { 0 }; \
		if (there) \
			put(w, &none, value_); \
	}

static double time_of(s64 ns)
{
	return ns / (double)NSEC_PER_SEC;
}

/* What is not of a device, under one label. */
static void put_by(struct walk *w, const char *name, const char *of, u64 value)
{
	struct labels l = { 0 };

	label(&l, name, of);
	put(w, &l, value);
}

/* What is 1 for the value of a label. */
#define WALK_INFO(of, name) \
	static void walk_##of(struct walk *w) \
	{ \
		put_by(w, #name, w->t->run->name, 1); \
	}

WALK_INFO(build, version)
WALK_INFO(capture, engine)
WALK_OPS(bytes, bytes)
WALK_OPS(errors, errors)
WALK_DISK(io, o->bytes)
WALK_DISK(operations, hist_count(&o->hist))
WALK_DISK(time, seconds_of(o->sum_ns))
WALK_SERIES(started, true, s->started.total)
WALK_SERIES(requeued, true, s->requeued.total)
WALK_SERIES(in_flight, true, s->in_flight)
WALK_SERIES(oldest, true, seconds_of(s->oldest_ns))
WALK_SERIES(queue_depth, true, s->queue_depth)
WALK_SERIES(busy, s->busy_known, seconds_of(s->busy_ns))
WALK_SERIES(slow, s->tells_slow, s->slow)
WALK_SERIES(ill_since, s->health.since_ns, time_of(s->health.since_ns))
WALK_FACT(memory, true, t->run->memory_bytes)
WALK_FACT(drain, true, seconds_of(t->drain_ns))
WALK_FACT(intervals, true, t->intervals)
WALK_FACT(interval, true, t->run->interval_s)
WALK_FACT(skipped, true, t->skipped.total)
WALK_FACT(end, t->intervals, time_of(t->end_ns))
WALK_FACT(recorder_bytes, t->recorder, t->recorder->bytes)
WALK_FACT(recorder_failures, t->recorder, t->recorder->failures)
WALK_FACT(recorder_incidents, t->recorder, t->recorder->incidents)
WALK_FACT(recorder_incident, t->recorder && t->recorder->incident_ns, time_of(t->recorder->incident_ns))
WALK_FACT(recorder_last, t->recorder && t->recorder->last_ns, time_of(t->recorder->last_ns))

static void walk_refused(struct walk *w)
{
	static const char *const names[REFUSALS] = {
		[REFUSAL_PASSWORD] = "password",
		[REFUSAL_BUSY] = "busy",
		[REFUSAL_CROWDED] = "crowded",
		[REFUSAL_SLOW] = "slow",
		[REFUSAL_STREAMS] = "streams",
	};

	for (u32 i = 0; i < REFUSALS; i++)
		put_by(w, "reason", names[i], w->t->refused[i]);
}

static void walk_pushes(struct walk *w)
{
	static const char *const names[OTLP_RESULTS] = {
		[OTLP_OK] = "ok",
		[OTLP_FAILED] = "failed",
		[OTLP_REJECTED] = "rejected",
	};

	for (u32 i = 0; w->t->otlp && i < OTLP_RESULTS; i++)
		put_by(w, "result", names[i], w->t->otlp->pushes[i]);
}

static void walk_failed(struct walk *w)
{
	const struct series *s;

	for_each_whole(s, w->t)
		for (u32 i = 1; i < SLOW_ERRORS; i++) {
			const struct labels l = of_series(s, "error", slow_error_name(i));

			if (s->failed[i])
				put(w, &l, s->failed[i]);
		}
}

static void walk_lost(struct walk *w)
{
	const struct series *s;

	for_each_whole(s, w->t)
		for (u32 i = 0; i < LOST_REASONS; i++) {
			const struct labels l = of_series(s, "reason", lost_names[i]);

			put(w, &l, s->lost_by[i].total);
		}
}

/* Once for each device, whose stages are next to each other. */
static void walk_devices(struct walk *w)
{
	const struct series *s, *before = NULL;

	for_each_present(s, w->t) {
		const struct device *d = &s->device;
		struct labels l = { 0 };

		if (before && !strcmp(before->device.name, d->name))
			continue;
		before = s;
		label(&l, "device", d->name);
		label(&l, "firmware", d->firmware);
		label(&l, "kind", d->kind);
		label(&l, "mapper", d->mapper);
		label(&l, "model", d->model);
		label(&l, "path", d->path);
		label(&l, "scheduler", d->scheduler);
		label(&l, "serial", d->serial);
		label(&l, "volume", d->volume);
		label(&l, "wwid", d->wwid);
		put(w, &l, 1);
	}
}

/*
 * One series for each device and stage: the reason is a label, so another one is another series, and the value is the
 * grade.
 */
static void walk_health(struct walk *w)
{
	const struct series *s;

	for_each_whole(s, w->t) {
		const struct labels l = of_series(s, "reason", ailment_names[s->health.ailment]);

		put(w, &l, health_grade(&s->health));
	}
}

static const struct exposed {
	struct family f;
	void (*walk)(struct walk *w);
} families[] = {
	{ { "blklat_build", NULL, "Version of blklat that is running.", FAMILY_INFO }, walk_build },
	{ { "blklat_capture", NULL, "Engine that captures.", FAMILY_INFO }, walk_capture },
	{ { "blklat_capture_drain_seconds", "seconds", "Time spent on reading the counters.",
	    FAMILY_COUNTER }, walk_drain },
	{ { "blklat_capture_interval_seconds", "seconds", "Time between two reads of the counters, as requested.",
	    FAMILY_GAUGE }, walk_interval },
	{ { "blklat_capture_intervals", NULL, "Reads of the counters.", FAMILY_COUNTER }, walk_intervals },
	{ { "blklat_capture_last_read_timestamp_seconds", "seconds", "When the counters were read last.",
	    FAMILY_GAUGE }, walk_end },
	{ { "blklat_capture_memory_bytes", "bytes", "Memory that the counters take.", FAMILY_GAUGE },
	  walk_memory },
	{ { "blklat_capture_skipped_runs", NULL,
	    "Program runs that the kernel skipped, where it is not known what they missed.", FAMILY_COUNTER },
	  walk_skipped },
	{ { "blklat_device", NULL, "What a device is.", FAMILY_INFO }, walk_devices },
	{ { "blklat_device_busy_seconds", "seconds", "Time in which at least one IO was in flight, with --by depth or beside.",
	    FAMILY_COUNTER }, walk_busy },
	{ { "blklat_device_health", NULL, "Is something wrong with a device? 0: it is well, 1: worth a look, 2: it is sick.",
	    FAMILY_GAUGE }, walk_health },
	{ { "blklat_device_health_since_timestamp_seconds", "seconds", "Since when something has been wrong, where it is.",
	    FAMILY_GAUGE }, walk_ill_since },
	{ { "blklat_http_refused", NULL, "Requests refused and connections closed by the server, by reason.",
	    FAMILY_COUNTER }, walk_refused },
	{ { "blklat_io_bytes", "bytes", "Bytes of the IOs that completed.", FAMILY_COUNTER }, walk_bytes },
	{ { "blklat_io_errors", NULL, "IOs that completed with an error.", FAMILY_COUNTER }, walk_errors },
	{ { "blklat_io_failed", NULL, "IOs that failed, by error, among those that --slow shows.", FAMILY_COUNTER }, walk_failed },
	{ { "blklat_io_in_flight", NULL, "IOs that started and have not completed yet.", FAMILY_GAUGE },
	  walk_in_flight },
	{ { "blklat_io_latency_seconds", "seconds", "Time from the start of an IO to its completion.",
	    FAMILY_HISTOGRAM }, walk_latency },
	{ { "blklat_io_lost", NULL, "IOs whose latency is not known, by reason.", FAMILY_COUNTER },
	  walk_lost },
	{ { "blklat_io_oldest_age_seconds", "seconds", "Age of the oldest IO in flight; 0 when there is none.",
	    FAMILY_GAUGE }, walk_oldest },
	{ { "blklat_io_queue_depth", NULL, "Mean number of IOs in flight in the last interval.", FAMILY_GAUGE },
	  walk_queue_depth },
	{ { "blklat_io_requeues", NULL, "IOs that were taken back, to be started again.", FAMILY_COUNTER },
	  walk_requeued },
	{ { "blklat_io_slow", NULL, "IOs that took at least as long as --slow says, or failed.", FAMILY_COUNTER }, walk_slow },
	{ { "blklat_io_started", NULL, "IOs that started, whether completed, in flight or lost.",
	    FAMILY_COUNTER }, walk_started },
	{ { "blklat_otlp_pushes", NULL, "Requests pushed to the collector, by what became of them.",
	    FAMILY_COUNTER }, walk_pushes },
	{ { "blklat_recorder_bytes", "bytes", "What recordings take on the disk.", FAMILY_GAUGE }, walk_recorder_bytes },
	{ { "blklat_recorder_failures", NULL, "How often writing a recording began to fail.", FAMILY_COUNTER }, walk_recorder_failures },
	{ { "blklat_recorder_incidents", NULL, "Incidents around which the minutes were kept.", FAMILY_COUNTER },
	  walk_recorder_incidents },
	{ { "blklat_recorder_last_incident_timestamp_seconds", "seconds", "When the last of these began.", FAMILY_GAUGE },
	  walk_recorder_incident },
	{ { "blklat_recorder_last_interval_timestamp_seconds", "seconds", "The end of the last interval that was recorded.",
	    FAMILY_GAUGE }, walk_recorder_last },
};

static const struct exposed conventions[] = {
	{ { "system.disk.io", "bytes", "Bytes of the reads and writes that completed.", FAMILY_COUNTER }, walk_disk_io },
	{ { "system.disk.operation_time", "seconds", "Time that the reads and writes took which completed.", FAMILY_COUNTER },
	  walk_disk_time },
	{ { "system.disk.operations", "{operation}", "Reads and writes that completed.", FAMILY_COUNTER }, walk_disk_operations },
};

static void walk_all(const struct totals *t, struct encoder *e, const struct exposed *of, u32 n)
{
	bool empty = !t->run;

	for (u32 i = 0; i < n && !empty && !e->err; i++) {
		struct walk w = { .e = e, .t = t, .f = &of[i].f };

		of[i].walk(&w);
	}
}

int expose(const struct totals *t, struct encoder *e)
{
	walk_all(t, e, families, ARRAY_SIZE(families));
	e->ops->end(e);
	return e->err;
}

int expose_conventions(const struct totals *t, struct encoder *e)
{
	walk_all(t, e, conventions, ARRAY_SIZE(conventions));
	return expose(t, e);
}

const char *family_suffix(const struct family *f)
{
	switch (f->type) {
	case FAMILY_COUNTER:
		return "_total";
	case FAMILY_INFO:
		return "_info";
	default:
		return "";
	}
}

const struct exemplar *exemplar_in(const struct op_total *o, u64 above_ns, u64 upto_ns)
{
	for (u32 i = 0; i < o->n_exemplars; i++)
		if (o->exemplars[i].latency_ns > above_ns && o->exemplars[i].latency_ns <= upto_ns)
			return &o->exemplars[i];
	return NULL;
}

struct labels exemplar_labels(const struct exemplar *e, struct exemplar_room *room)
{
	struct labels l = { 0 };

	snprintf(room->pid, sizeof(room->pid), "%u", e->pid);
	snprintf(room->sector, sizeof(room->sector), "%llu", e->sector);
	if (e->known & BLKLAT_SLOW_SUBMITTER) {
		label(&l, "comm", e->comm);
		label(&l, "pid", room->pid);
	}
	if (e->known & BLKLAT_SLOW_SECTOR)
		label(&l, "sector", room->sector);
	return l;
}

double seconds_of(unsigned __int128 ns)
{
	/* Seconds and fraction are converted separately, since for a large sum the fraction would be rounded away. */
	return (double)(u64)(ns / NSEC_PER_SEC) + (double)(u64)(ns % NSEC_PER_SEC) / NSEC_PER_SEC;
}
