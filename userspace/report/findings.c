// SPDX-License-Identifier: GPL-2.0-only
#include "report/findings.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings_rules.h"
#include "util/array.h"
#include "util/cleanup.h"

const char *const finding_grades[] = { "wrong", "differs", "well" };

#define HEAVY 0.1		/* share of the time of all IOs, from which on rare ops have levels, too */

enum when { ALWAYS, IF_RATE_IS_ITS_OWN, WHEN_ALL_ARE_DONE };

/*
 * The kinds in order of severity, with the grade that they usually have, and the rule that finds them: of a watch, or
 * of each op that matters. Rules run in this order, as some look at what those before them told.
 */
static const struct rule {
	const char *kind;
	enum finding_grade grade;
	enum when when;
	int (*of_watch)(const struct inquiry *q);
	int (*of_op)(const struct inquiry *q, u32 op);
} rules[] = {
	{ "errors", FINDING_WRONG, .of_watch = find_errors },
	{ "gone", FINDING_WRONG, .of_watch = find_gone },
	{ "stall", FINDING_WRONG, IF_RATE_IS_ITS_OWN, .of_watch = find_stalls },
	{ "hung", FINDING_WRONG, .of_watch = find_hung },
	{ "level_change", FINDING_WRONG, .of_op = find_level_changes },
	{ "unlike", FINDING_WRONG, WHEN_ALL_ARE_DONE, .of_op = find_peers },
	{ "kernel_count", FINDING_WRONG, .of_watch = find_kernel_count },
	{ "saturated", FINDING_DIFFERS, IF_RATE_IS_ITS_OWN, .of_op = find_saturated },
	{ "beside", FINDING_DIFFERS, .of_op = find_beside },
	{ "flush_cost", FINDING_DIFFERS, IF_RATE_IS_ITS_OWN, .of_watch = find_flush_cost },
	{ "slow_common", FINDING_DIFFERS, .of_watch = find_slow_common },
	{ "duty_cycle", FINDING_DIFFERS, IF_RATE_IS_ITS_OWN, .of_watch = find_duty_cycle },
	{ "after_pause", FINDING_DIFFERS, .of_watch = find_after_pause },
	{ "renamed", FINDING_DIFFERS, .when = WHEN_ALL_ARE_DONE },	/* by find_drives(), like the next one */
	{ "exchanged", FINDING_DIFFERS, .when = WHEN_ALL_ARE_DONE },
	{ "order", FINDING_DIFFERS, WHEN_ALL_ARE_DONE, .of_op = find_compared },
	{ "pair", FINDING_DIFFERS, .when = WHEN_ALL_ARE_DONE },		/* by the same rule, like the next one */
	{ "regimes", FINDING_DIFFERS, .when = WHEN_ALL_ARE_DONE },
	{ "consistency", FINDING_DIFFERS, IF_RATE_IS_ITS_OWN, .of_op = find_consistency },
	{ "layer", FINDING_DIFFERS, WHEN_ALL_ARE_DONE, .of_watch = find_layer },
	{ "steady_state", FINDING_DIFFERS, IF_RATE_IS_ITS_OWN, .of_op = find_steady_state },
	{ "peaks", FINDING_DIFFERS, .of_op = find_peaks },
	{ "losses", FINDING_WRONG, .of_watch = find_losses },	/* few are told last */
};

u32 finding_rank(const char *kind)
{
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(rules) && strcmp(rules[i].kind, kind))
		i++;
	return i;
}

/* The stages at which the device is watched, a bit each. */
static u32 stages_of(const struct inquiry *q)
{
	const struct run *r = q->run;
	u32 stages = 0;

	for (u32 i = 0; i < r->n_watches; i++)
		if (r->watches[i].watch->device == q->watch->watch->device)
			stages |= 1U << r->watches[i].watch->stage;
	return stages;
}

static bool is_on_the_way(const struct inquiry *q)
{
	return q->watch->watch->stage == BLKLAT_STAGE_QUEUE || q->watch->watch->stage == BLKLAT_STAGE_WAIT;
}

bool rate_is_its_own(const struct inquiry *q)
{
	return !is_on_the_way(q) || stages_of(q) == 1U << BLKLAT_STAGE_QUEUE;
}

bool latency_is_its_own(const struct inquiry *q)
{
	return !is_on_the_way(q) || !(stages_of(q) & 1U << BLKLAT_STAGE_TOTAL);
}

struct finding *finding_add(const struct inquiry *q, const char *kind, int op)
{
	const struct watch *w = q->watch->watch;
	struct findings *fs = q->to;
	bool added = !array_more(&fs->f, sizeof(*fs->f), fs->n, &fs->room);
	struct finding *f = added ? &fs->f[fs->n++] : &fs->spare;

	fs->lacks_memory |= !added;
	*f = (struct finding){
		.kind = kind, .grade = rules[finding_rank(kind)].grade, .watch = w, .op = op,
		.from_s = q->run->n ? q->run->start_s[0] : 0, .to_s = run_end(q->run),
	};
	finding_say(f, "%s", w->device->name);
	if (stages_of(q) & (stages_of(q) - 1))
		finding_say(f, " (%s)", stage_names[w->stage]);
	finding_say(f, "%s%s: ", op < 0 ? "" : " ", op < 0 ? "" : op_names[op]);
	return f;
}

void finding_value(struct finding *f, const char *name, double value)
{
	if (f->n < FINDING_VALUES_MAX)
		f->values[f->n++] = (struct finding_value){ name, value };
}

void finding_add_values(struct finding *f, const struct finding_value *values, u32 n)
{
	for (u32 i = 0; i < n; i++)
		finding_value(f, values[i].name, values[i].value);
}

double finding_get(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return f->values[i].value;
	return NAN;
}

void finding_say(struct finding *f, const char *format, ...)
{
	size_t used = strlen(f->text);
	va_list args;

	va_start(args, format);
	vsnprintf(f->text + used, sizeof(f->text) - used, format, args);
	va_end(args);
}

void finding_rule(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->rule, sizeof(f->rule), format, args);
	va_end(args);
}

bool op_matters(const struct watch_run *w, u32 op)
{
	u64 n = w->ops[op].total->ios;

	return n && n >= watch_run_ios(w) / 100.0;
}

double op_share_of_time(const struct watch_run *w, u32 op)
{
	double all = 0;

	for (u32 i = 0; i < BLKLAT_OPS; i++)
		all += w->ops[i].total->sum_ns;
	return all > 0 ? w->ops[op].total->sum_ns / all : 0;
}

u32 main_op(const struct watch_run *w)
{
	u32 most = 0;

	for (u32 op = 1; op < BLKLAT_OPS; op++)
		if (w->ops[op].total->ios > w->ops[most].total->ios)
			most = op;
	return most;
}

int op_named(const struct watch_run *w, int op)
{
	u32 n = 0;

	for (u32 i = 0; i < BLKLAT_OPS; i++)
		n += w->ops[i].total->ios > 0;
	return op < 0 && n == 1 ? (int)main_op(w) : op;
}

double weighted_median(struct weighted *w, u32 n)
{
	double all = 0, up_to = 0;

	qsort(w, n, sizeof(*w), compare_double);
	for (u32 i = 0; i < n; i++)
		all += w[i].weight;
	for (u32 i = 0; i < n; i++) {
		up_to += w[i].weight;
		if (up_to >= all / 2)
			return w[i].value;
	}
	return 0;
}

static bool ended_in(const struct watch_run *w, u32 i, u64 age_ns)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (w->ops[op].ios && w->ops[op].ios[i] && w->ops[op].max_ns[i] >= age_ns)
			return true;
	return false;
}

static void prove_ages(const struct run *r, const struct watch_run *w, bool *proven)
{
	for (u32 i = r->n; i-- > 0;) {
		u64 age_ns = w->oldest_ns[i];

		if (i + 1 == r->n)
			proven[i] = age_ns && !accounting_ends_missed(&w->total->accounting);
		else
			/* If the age keeps growing, it is still the same IO. */
			proven[i] = age_ns && (ended_in(w, i + 1, age_ns) ||
					       (w->oldest_ns[i + 1] >= age_ns && proven[i + 1]));
	}
}

static int apply(const struct rule *rule, const struct inquiry *q)
{
	int err = rule->of_watch ? rule->of_watch(q) : 0;

	for (u32 op = 0; !err && rule->of_op && op < BLKLAT_OPS; op++)
		if (op_matters(q->watch, op) ||
		    (rule->of_op == find_level_changes &&
		     (op_has_figures(q->watch, op) || op_share_of_time(q->watch, op) >= HEAVY)))
			err = rule->of_op(q, op);
	return err;
}

/* Applies the rules to one watch: those before all watches are done, or those after. */
static int inquire(const struct inquiry *q, bool done)
{
	int err = 0;

	for (u32 i = 0; !err && i < ARRAY_SIZE(rules); i++)
		if ((rules[i].when == WHEN_ALL_ARE_DONE) == done && (rules[i].when == ALWAYS || rate_is_its_own(q)))
			err = apply(&rules[i], q);
	return err;
}

static void inquiry_uninit(struct inquiry *q)
{
	free(q->age_proven);
	free(q->stalled_s);
	free(q->told_s);
	free(q->sweeps);
}

/* The inquiry must be uninitialized in any case. */
static int inquiry_init(struct inquiry *q, const struct run *r, struct findings *to)
{
	u32 n = r->n ?: 1;

	*q = (struct inquiry){ .run = r, .to = to, .age_proven = calloc(n, sizeof(bool)), .stalled_s = calloc(n, sizeof(double)),
			       .told_s = calloc(n, sizeof(double)), .sweeps = calloc(BLKLAT_OPS, sizeof(bool)) };
	return q->age_proven && q->stalled_s && q->told_s && q->sweeps ? 0 : -ENOMEM;
}

/* Begins with the first or the next watch. */
static void inquire_of(struct inquiry *q, const struct watch_run *w)
{
	const struct run *r = q->run;

	q->watch = w;
	memset(q->sweeps, 0, BLKLAT_OPS * sizeof(*q->sweeps));
	prove_ages(r, w, q->age_proven);
	memset(q->stalled_s, 0, r->n * sizeof(*q->stalled_s));
	/* What was told of a device's first stage is not told again of the next. */
	if (w == r->watches || w[-1].watch->device != w->watch->device)
		memset(q->told_s, 0, r->n * sizeof(*q->told_s));
}

int findings_make(const struct run *r, const struct steady_window *w, struct findings *ret)
{
	struct inquiry q CLEANUP(inquiry_uninit);
	struct findings made = { 0 };
	int err = inquiry_init(&q, r, &made);

	if (err)
		return err;
	q.window = w;
	run_for_each_whole(watch, r) {
		inquire_of(&q, watch);
		err = err ?: inquire(&q, false);
	}
	run_for_each_whole(watch, r) {
		q.watch = watch;
		err = err ?: inquire(&q, true);
	}
	if (err || made.lacks_memory || findings_order(&made, r)) {
		findings_uninit(&made);
		return -ENOMEM;
	}
	*ret = made;
	return 0;
}

/* The whole with the most IOs among those whose rate is their own; NULL: none has IOs. */
static const struct watch_run *busiest(const struct run *r)
{
	const struct watch_run *most = NULL;

	run_for_each_whole(w, r)
		if (watch_run_ios(w) > (most ? watch_run_ios(most) : 0) && rate_is_its_own(&(const struct inquiry){ .run = r, .watch = w }))
			most = w;
	return most;
}

int findings_levels(const struct run *r, double *ret)
{
	struct findings unused CLEANUP(findings_uninit) = { 0 };
	struct inquiry q CLEANUP(inquiry_uninit);
	const struct watch_run *watch = busiest(r);
	int err = inquiry_init(&q, r, &unused);

	if (err || !watch)
		return err;
	inquire_of(&q, watch);
	return find_stalls(&q) ?: find_levels(&q, main_op(watch), ret);
}

void findings_uninit(struct findings *fs)
{
	free(fs->f);
	*fs = (struct findings){ 0 };
}
