/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Prometheus scrapes: a service's totals, and their exposition in its three formats, in that of VictoriaMetrics,
 * and in OpenTelemetry's. docs/prometheus.md describes the metrics.
 *
 * Totals are kept by device name, stage, part and op. They never fall, even if another capture is opened, or a device
 * goes and comes back. A device that is gone is not exposed until it is back.
 */
#ifndef SERVICE_PROMETHEUS_H
#define SERVICE_PROMETHEUS_H

#include "core/sink.h"
#include "util/blob.h"

enum prometheus_format {
	PROMETHEUS_PROTOBUF,	/* delimited io.prometheus.client.MetricFamily */
	PROMETHEUS_OPENMETRICS,	/* OpenMetrics text 1.0.0 */
	PROMETHEUS_TEXT,	/* Prometheus text 0.0.4 */
	PROMETHEUS_VMRANGE,	/* the same with native buckets as VictoriaMetrics has them; not negotiated */
	PROMETHEUS_FORMATS,
};

/* The Content-Type of each format. */
extern const char *const prometheus_content_types[PROMETHEUS_FORMATS];

/*
 * The format of the answer to a request with this Accept header. Follows the q values. Wildcards, and formats that are
 * not offered, mean the plain text. @accept may be any text; NULL: the request has none.
 */
enum prometheus_format prometheus_negotiate(const char *accept);

/* 2^schema buckets an octave, 0 to BLKLAT_SCALE_MAX. */
#define PROMETHEUS_SCHEMA 3		/* of native histograms, unless asked for another: buckets 9 % wide */
#define PROMETHEUS_CLASSIC_SCHEMA 1	/* of classic buckets: bounds a factor of 1.41 apart, 6.6 a decade */

/* Why the server refused a request or closed a connection. */
enum prometheus_refusal {
	REFUSAL_PASSWORD,	/* it was wrong */
	REFUSAL_BUSY,		/* too many passwords wait for a check, or too many from there were wrong */
	REFUSAL_CROWDED,	/* closed to make room for another */
	REFUSAL_SLOW,		/* closed, as the request or reading the answer took too long */
	REFUSAL_STREAMS,	/* too many of them */
	REFUSALS,
};

/* What a recorder says of itself, in memory that two processes share: one only writes, the other one only reads. */
struct recorder_state {
	_Atomic u64 bytes;	/* on the disk */
	_Atomic u64 failures;	/* of writing, told */
	_Atomic u64 incidents;	/* kept */
	/* CLOCK_REALTIME: the end of the last interval written, the last incident; 0: none yet */
	_Atomic s64 last_ns, incident_ns;
};

/*
 * Makes a total that never falls of a figure that begins at 0 again when its device comes back, and that may be
 * corrected downwards.
 */
struct rising {
	u64 total;
	u64 since;			/* the share of it since it was 0 */
	u64 last;			/* the last figure */
};

struct totals {
	u32 schema;			/* of native histograms */
	u32 scale;			/* of those that are kept */
	/* To be set by the owner, and borrowed; NULL: there is none. */
	const struct recorder_state *recorder;
	const struct otlp_state *otlp;
	u64 refused[REFUSALS];		/* counted by the server */
	/* The rest is for service/prometheus_*.c. */
	const struct run_info *run;	/* the last one; NULL: there is no capture yet */
	u64 intervals;			/* so far; the number of the last one */
	u64 drain_ns;
	struct rising skipped;		/* program runs, unexplained */
	s64 begin_ns;			/* of the first interval with a device, CLOCK_REALTIME; 0: there was none */
	s64 end_ns;			/* of the last one */
	u32 n, room;
	struct series **series;		/* by device name (numbers by value), then stage, then part */
};

/* With native histograms of @schema. */
void totals_init(struct totals *t, u32 schema);
void totals_uninit(struct totals *t);	/* takes a struct that is all 0 */

/*
 * A run has begun, or its devices have changed; @run stays there until the next call. If its bins are coarser than the
 * schemas, the schemas are lowered for good, since buckets can be merged but not split.
 */
void totals_begin(struct totals *t, const struct run_info *run);

/* Adds an interval. Returns 0, or -ENOMEM, after which the totals must not be used any more. */
int totals_add(struct totals *t, const struct frames *fs);

/* Makes a text of the totals. Returns 0 or -ENOMEM. */
int prometheus_render(const struct totals *t, enum prometheus_format format, struct blob **ret);

/*
 * Makes a request of OTLP (OpenTelemetry) of them, an ExportMetricsServiceRequest of this @host. The same, and -EAGAIN
 * while there was no interval yet.
 */
int prometheus_render_otlp(const struct totals *t, const char *host, struct blob **ret);

#endif
