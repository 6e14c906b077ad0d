/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metrics, independent of the format in which they are written. The table of families walks the totals and passes
 * each sample to an encoder: family by family, with series in the order of the totals.
 */
#ifndef SERVICE_PROMETHEUS_FAMILIES_H
#define SERVICE_PROMETHEUS_FAMILIES_H

#include <stdio.h>

#include "service/prometheus.h"

/* --- the totals that are exposed --- */

/* How many series are kept of devices that are gone. Beyond that, the one gone for longest is forgotten. */
#define TOTALS_ABSENT_MAX 1024

#define EXEMPLARS_MAX 4

/* A slow IO, for whoever looks at a bucket and wants to know more. */
struct exemplar {
	u64 latency_ns;
	s64 end_ns;			/* CLOCK_REALTIME */
	u64 sector;
	u32 pid;
	u32 known;			/* bit set of enum blklat_slow_known */
	char comm[BLKLAT_COMM];
};

struct op_total {
	u64 bytes;
	u64 errors;
	unsigned __int128 sum_ns;	/* 64 bits would last 200 days with 1000 IOs in flight */
	s64 created_ns;			/* CLOCK_REALTIME since which it is counted */
	struct hist hist;		/* no cells: not exposed, there was no such IO yet */
	u32 n_exemplars;
	struct exemplar exemplars[EXEMPLARS_MAX];	/* the slowest of the last interval that had any */
};

/*
 * A device and stage, or a part of it. If it is divided, only its parts have ops, so that a sum of series counts no IO
 * twice; all other figures are in the whole's series only.
 */
struct series {
	struct device device;		/* as last seen; its parent and lower mean nothing here */
	enum blklat_stage stage;
	const struct part *part;	/* kept; NULL: the whole */
	u64 interval;			/* the number of its last interval */
	u32 number;			/* frame.number then */
	bool gone;
	u64 in_flight;
	u64 oldest_ns;
	double queue_depth;
	bool busy_known;
	u64 busy_ns;			/* so far */
	struct health health;
	struct rising started;
	struct rising requeued;
	struct rising lost_by[LOST_REASONS];
	bool tells_slow;		/* slow IOs are looked for */
	u64 slow;			/* found so far */
	u64 failed[SLOW_ERRORS];	/* slow IOs that failed, by error */
	struct op_total ops[BLKLAT_OPS];
};

/* Whether a series is exposed: the last interval has it, and its device did not go away. */
static inline bool series_present(const struct totals *t, const struct series *s)
{
	return s->interval == t->intervals && !s->gone;
}

/* --- the families of metrics --- */

enum family_type {
	FAMILY_COUNTER,		/* samples end in _total */
	FAMILY_GAUGE,
	FAMILY_INFO,		/* samples end in _info and are 1 */
	FAMILY_HISTOGRAM,
};

struct family {
	const char *name;	/* with the suffix of its unit, without that of its type */
	const char *unit;	/* NULL: it has none */
	const char *help;
	enum family_type type;
};

#define LABELS_MAX 10

/* Values come from devices and may be any bytes; encoders make them valid. */
struct labels {
	u32 n;
	struct label {
		const char *name;
		const char *value;
	} l[LABELS_MAX];
};

/* Writes one format. Every hook is required; a failure is kept in err. What a family has follows it. */
struct encoder {
	const struct encoder_ops *ops;
	FILE *out;
	int err;
};

struct encoder_ops {
	void (*family)(struct encoder *e, const struct family *f);
	/* @since_ns (CLOCK_REALTIME): when a counter was 0; of what is no counter it means nothing. */
	void (*value)(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns);
	void (*histogram)(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *o);
	void (*end)(struct encoder *e);
};

/* Passes all of @t to @e; a family without samples is left out. Returns e->err. */
int expose(const struct totals *t, struct encoder *e);

/* The same, with what OpenTelemetry has names of its own for, first. */
int expose_conventions(const struct totals *t, struct encoder *e);

/* The suffix of a family's samples: "_total", "_info" or "". */
const char *family_suffix(const struct family *f);

/*
 * Classic buckets, from 954 ns to 32 s, made from @h at the coarser of its own scale and PROMETHEUS_CLASSIC_SCHEMA.
 * Their bounds are those of bins, and the same for all series and at all times: one that appears later would look
 * like a burst.
 */
#define CLASSIC_MAX ((25 << PROMETHEUS_CLASSIC_SCHEMA) + 2)
struct classic {
	u32 n;
	struct classic_bucket {
		u64 upper_ns;		/* inclusive; of the last one UINT64_MAX, for +Inf */
		u64 ios;		/* that took no longer */
	} b[CLASSIC_MAX];
};
/* Returns 0 or -ENOMEM. */
int classic_make(struct classic *c, const struct hist *h);

/* The slowest exemplar of @o that took more than @above_ns and at most @upto_ns; NULL: it has none. */
const struct exemplar *exemplar_in(const struct op_total *o, u64 above_ns, u64 upto_ns);

/* An exemplar's labels. Their values are texts in @room. */
struct exemplar_room {
	char pid[16], sector[24];
};
struct labels exemplar_labels(const struct exemplar *e, struct exemplar_room *room);

/* @h at the coarser of its own scale and @scale, an exact merge. Returns 0 or -ENOMEM. */
int hist_coarser(struct hist *ret, const struct hist *h, u32 scale);

/* A sum of ns in seconds. */
double seconds_of(unsigned __int128 ns);

/* The formats; @host: the name of this host. Return 0 or a negative errno; @out may hold more than was flushed. */
int exposition_protobuf(const struct totals *t, u32 schema, FILE *out);
int exposition_otlp(const struct totals *t, const char *host, FILE *out);
int exposition_text(const struct totals *t, enum prometheus_format format, u32 schema, FILE *out);

#endif
