/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Prometheus scrapes: totals over all captures that a service makes, and their exposition in
 * three formats. docs/prometheus.md has the metrics.
 *
 * One thread captures: it opens a sink for each capture, one after the other, and gives it
 * intervals. Any number of threads may render meanwhile. Nobody waits for them: an interval makes new
 * totals and puts them in place of those before, which are freed when the last thread that renders them
 * is done. A scrape is thus of one moment, the end of an interval.
 *
 * Totals are kept by device name, stage, part and op, and never fall: not when the capture is opened again,
 * nor when a device goes and comes back. One that went is not exposed until it is there again.
 */
#ifndef SERVICE_PROMETHEUS_H
#define SERVICE_PROMETHEUS_H

#include "core/sink.h"

#include <stdio.h>

enum prometheus_format {
	PROMETHEUS_PROTOBUF,	/* delimited io.prometheus.client.MetricFamily */
	PROMETHEUS_OPENMETRICS,	/* OpenMetrics text 1.0.0 */
	PROMETHEUS_TEXT,	/* Prometheus text 0.0.4 */
	PROMETHEUS_FORMATS,
};

/* The Content-Type of each. */
extern const char *const prometheus_content_types[PROMETHEUS_FORMATS];

/*
 * The format to answer a request's Accept header with; NULL when it has none. Follows the q values;
 * wildcards, and what nobody makes, mean the plain text. Takes anything.
 */
enum prometheus_format prometheus_negotiate(const char *accept);

#define PROMETHEUS_SCHEMA 3		/* buckets 9 % wide */
#define PROMETHEUS_CLASSIC_SCHEMA 1	/* bounds a factor of 1.41 apart: 6.6 a decade */

struct prometheus_config {
	u32 schema;		/* of native histograms, 0 to 6: 2^schema buckets an octave */
	u32 classic_schema;	/* the same of classic buckets, from 954 ns to 32 s */
	/*
	 * Leaves classic buckets out of protobuf. A Prometheus that takes native histograms ignores
	 * them, unless told otherwise; but one that asks for protobuf and doesn't would be left with
	 * a count and a sum. So both are offered, for twice the bytes: 73 kB instead of 37 for 24
	 * devices that read and write.
	 */
	bool native_only;
};

/* Why the server that is scraped refused a request or closed a connection. */
enum prometheus_refusal {
	REFUSAL_PASSWORD,	/* it was wrong */
	REFUSAL_BUSY,		/* too many passwords to be checked, or wrong ones from there */
	REFUSAL_CROWDED,	/* closed to make room for another */
	REFUSAL_SLOW,		/* closed since a request or the taking of an answer took too long */
	REFUSAL_STREAMS,	/* too many of them */
	REFUSALS,
};

struct prometheus;

/* Returns 0, -ENOMEM, or -EINVAL for a schema that can't be. @cfg is copied. */
int prometheus_new(const struct prometheus_config *cfg, struct prometheus **ret);
void prometheus_free(struct prometheus *p);	/* after its sink, and when nobody renders; takes NULL */

/*
 * Where a capture adds its intervals. When it is coarser than the schemas asked for, they are lowered, for good: merging is
 * exact, the reverse can't be done. A failing interval (-ENOMEM) leaves the totals as they were.
 */
struct sink_source *prometheus_source(struct prometheus *p);

/* Adds the time that a read of the counters took; shows with the next interval. Of the thread that captures. */
void prometheus_drained(struct prometheus *p, u64 ns);

/* The next interval is of so many reads, added up. The same. */
void prometheus_joined(struct prometheus *p, u64 reads);

/* Counts a refusal; shows with the next interval. Of any thread. */
void prometheus_refused(struct prometheus *p, enum prometheus_refusal why);

/* Writes the totals to @out. Returns 0, -ENOMEM, or the negative errno of writing. Of any thread. */
int prometheus_render(struct prometheus *p, enum prometheus_format format, FILE *out);

#endif
