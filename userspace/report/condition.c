// SPDX-License-Identifier: GPL-2.0-only
#include "report/condition.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/noise.h"
#include "util/cleanup.h"
#include "util/units.h"

/* What a condition judges: an op of a watch, or all of its ops merged (then owned by the subject). */
struct subject {
	const struct op_frame *o;
	struct op_frame merged;
};

static void subject_uninit(struct subject *s)
{
	merged_uninit(&s->merged);
}

/* "nvme0n1", "md0 (total)": stage device is not named. */
static const char *watch_text(const struct watch *w, char text[DEVICE_NAME_MAX + 16])
{
	bool plain = w->stage == BLKLAT_STAGE_DEVICE;

	snprintf(text, DEVICE_NAME_MAX + 16, plain ? "%s" : "%s (%s)", w->device->name, stage_names[w->stage]);
	return text;
}

static int subject_make(struct subject *s, const struct condition *c, const struct frame *f)
{
	int err = c->op < 0 ? merged_make(f, &s->merged) : 0;

	s->o = c->op < 0 ? &s->merged : &f->ops[c->op];
	return err;
}

static int subject_init(struct subject *s, const struct condition *c, const struct run *r,
			const struct watch_run *w, struct problem *p)
{
	char name[DEVICE_NAME_MAX + 16];
	int err = subject_make(s, c, w->total);

	if (err)
		return problem_set(p, err, "out of memory");
	if (!s->o->ios)
		return problem_set(p, -ENODATA, "--fail-if '%s': '%s' has no %s%s of %s, so it can't be judged", c->text,
				   *r->origin.file ? r->origin.file : *r->origin.label ? r->origin.label : "the run",
				   c->op < 0 ? "" : op_names[c->op], c->op < 0 ? "IO" : " IO", watch_text(w->watch, name));
	return 0;
}

static double value_of(const struct condition *c, const struct subject *s, u64 lost)
{
	switch (c->metric) {
	case METRIC_IOPS:
		return s->o->iops;
	case METRIC_MBPS:
		return s->o->bytes_per_s / 1e6;
	case METRIC_MEAN:
		return s->o->mean_ns;
	case METRIC_MIN:
		return s->o->min_ns;
	case METRIC_MAX:
		return s->o->max_ns;
	case METRIC_PERCENTILE:
		return op_quantile_ns(s->o, c->percentile.q);
	case METRIC_ERRORS:
		return s->o->errors;
	case METRIC_LOST:
		return lost;
	case METRIC_KS:
		break;
	}
	return 0;
}

bool condition_compare(const struct condition *c, double value, double limit)
{
	switch (c->comparison) {
	case BELOW:
		return value < limit;
	case AT_MOST:
		return value <= limit;
	case ABOVE:
		return value > limit;
	case AT_LEAST:
		return value >= limit;
	}
	return false;
}

bool condition_needs_baseline(const struct condition *c)
{
	return c->relative || c->metric == METRIC_KS;
}

int condition_evaluate(const struct condition *c, const struct judged *j, struct verdict *ret, struct problem *p)
{
	struct subject run CLEANUP(subject_uninit) = { 0 }, base CLEANUP(subject_uninit) = { 0 };
	struct verdict v = { .base = -1, .limit = c->limit };
	bool needs_base = condition_needs_baseline(c);
	int err;

	if (needs_base && !j->base)
		return problem_set(p, -ENODATA, "--fail-if '%s': there is no baseline to compare with; name two recordings",
				   c->text);
	err = subject_init(&run, c, j->run, j->watch, p);
	if (!err && needs_base)
		err = subject_init(&base, c, j->base, j->base_watch, p);
	if (!err && c->metric == METRIC_KS)
		err = ks_distance(&base.o->hist, &run.o->hist, &v.value);
	if (err)
		return err == -ENOMEM ? problem_set(p, err, "out of memory") : err;
	if (c->metric != METRIC_KS)
		v.value = value_of(c, &run, j->watch->account.lost);
	if (c->relative) {
		v.base = value_of(c, &base, j->base_watch->account.lost);
		v.limit = v.base * (100 + c->limit) / 100;
	}
	v.holds = condition_compare(c, v.value, v.limit);
	*ret = v;
	return 0;
}

int condition_evaluate_frame(const struct condition *c, const struct frame *f, struct verdict *ret)
{
	struct subject s CLEANUP(subject_uninit) = { 0 };
	int err = subject_make(&s, c, f);

	*ret = (struct verdict){ .base = -1, .limit = c->limit };
	if (err || (!s.o->ios && c->metric != METRIC_LOST))
		return err;
	ret->value = value_of(c, &s, f->health.lost);
	ret->holds = condition_compare(c, ret->value, ret->limit);
	return 0;
}

/* "412 us", "51 200", "0.12" */
static const char *value_text(const struct condition *c, double value, char text[UNITS_TEXT])
{
	switch (c->metric) {
	case METRIC_MEAN:
	case METRIC_MIN:
	case METRIC_MAX:
	case METRIC_PERCENTILE:
		return units_ns(text, value);
	case METRIC_ERRORS:
	case METRIC_LOST:
		return units_count(text, llround(value));
	default:
		return units_number(text, value);
	}
}

void condition_explain(const struct condition *c, const struct watch *watch, const struct verdict *v,
		       struct problem *ret)
{
	char name[DEVICE_NAME_MAX + 16], value[UNITS_TEXT], base[UNITS_TEXT];
	const char *figure = c->phase[0] ? strrchr(c->text, ':') + 1 : c->text;
	int metric;

	figure += strspn(figure, " \t");
	metric = strcspn(figure, " \t<>");
	watch_text(watch, name);
	value_text(c, v->value, value);
	if (!c->relative) {
		problem_set(ret, 0, "%.*s of %s is %s (%s)", metric, figure, name, value, c->text);
		return;
	}
	value_text(c, v->base, base);
	if (v->base > 0)
		problem_set(ret, 0, "%.*s of %s is %s, %s %s the baseline's %s (%s)", metric, figure, name, value,
			    UNITS(share, fabs(v->value / v->base - 1)),
			    v->value < v->base ? "below" : "above", base, c->text);
	else
		problem_set(ret, 0, "%.*s of %s is %s, the baseline's %s (%s)", metric, figure, name, value, base,
			    c->text);
}
