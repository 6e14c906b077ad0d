/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conditions of --fail-if and --keep-if: [PHASE:] OP.METRIC COMPARISON VALUE.
 *
 *   PHASE       a mark's text: judges only the time between this mark and the next one
 *   OP          read, write, flush, discard, other; total: all of them together
 *   METRIC      iops, mbps (MB/s), mean, min, max, p50 ... (any percentile), errors, lost (of total only),
 *               ks (distance of the distributions, 0 to 1, needs a baseline)
 *   COMPARISON  < <= > >=
 *   VALUE       +10% or -5%: this much above or below the baseline's value;
 *               or a latency, as 20ms, 300us, 1.5s, 800ns; or a number, as 50000, 50k, 1.5M
 *
 *   A change may be followed by "beyond noise": for repeats (compare --baseline) the condition then holds
 *   only if the change is also larger than the differences between repeats (noise.h).
 *
 *   read.p99 > +10%    write.iops < -5%    read.max > 20ms    read.p99.9 >= 300us    total.errors > 0
 *   read.p99 > +10% beyond noise    QD 16: read.p99 > +10%
 */
#ifndef REPORT_CONDITION_H
#define REPORT_CONDITION_H

#include "report/run.h"
#include "util/problem.h"

enum condition_metric {
	METRIC_IOPS,
	METRIC_MBPS,
	METRIC_MEAN,
	METRIC_MIN,
	METRIC_MAX,
	METRIC_PERCENTILE,
	METRIC_ERRORS,
	METRIC_LOST,
	METRIC_KS,
};

enum condition_comparison { BELOW, AT_MOST, ABOVE, AT_LEAST };

struct condition {
	const char *option;		/* that it was given for, for messages */
	int op;				/* enum blklat_op, or -1: total */
	enum condition_metric metric;
	struct percentile percentile;	/* of METRIC_PERCENTILE */
	enum condition_comparison comparison;
	bool relative;			/* limit is a change against the baseline in %; else in ns, IOs/s, MB/s ... */
	bool beyond_noise;		/* only if relative, and of a metric that has a logarithm */
	double limit;
	char phase[96];			/* its name; "": the whole run */
	char text[96];			/* as written, without blanks around it */
};

/* @option is borrowed. Returns 0, or -EINVAL and a sentence that shows where the error is. */
int condition_parse(const char *option, const char *text, struct condition *ret, struct problem *p);

/* Whether @value is on the side of @limit that the condition names. */
bool condition_compare(const struct condition *c, double value, double limit);

/* The result of a condition. Numbers are in the metric's unit (ns, IOs/s, MB/s, IOs). */
struct verdict {
	bool holds;
	double value;		/* the run's */
	double base;		/* the baseline's; negative if the condition does not need it */
	double limit;		/* what value was compared with */
};

/* The figures to judge: a watch of the run, and the baseline's watch that it is compared with. */
struct judged {
	const struct run *run;
	const struct watch_run *watch;
	const struct run *base;		/* NULL: there is none */
	const struct watch_run *base_watch;
};

/*
 * Returns 0 or -ENOMEM; or -ENODATA and a sentence if a recording that is needed has no IO of the op,
 * or the condition needs a baseline and there is none. (Such a condition is never simply false.)
 */
int condition_evaluate(const struct condition *c, const struct judged *j, struct verdict *ret, struct problem *p);

/*
 * Without a baseline (needs_baseline()): an interval's frame of a whole. One without IO of the op is not judged, and
 * holds not.
 */
int condition_evaluate_frame(const struct condition *c, const struct frame *f, struct verdict *ret);
bool condition_needs_baseline(const struct condition *c);

/* "read.p99 of nvme0n1 is 412 us, 37.3 % above the baseline's 300 us" */
void condition_explain(const struct condition *c, const struct watch *watch, const struct verdict *v,
		       struct problem *ret);

#endif
