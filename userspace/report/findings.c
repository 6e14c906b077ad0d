// SPDX-License-Identifier: GPL-2.0-only
#include "report/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings_rules.h"
#include "util/array.h"
#include "util/cleanup.h"

struct finding *finding_add(const struct inquiry *q, const char *kind, int op)
{
	struct findings *fs = q->to;
	bool added = !array_more(&fs->f, sizeof(*fs->f), fs->n, &fs->room);
	struct finding *f = added ? &fs->f[fs->n++] : &fs->spare;

	fs->lacks_memory |= !added;
	*f = (struct finding){
		.kind = kind, .watch = q->watch->watch, .op = op,
		.from_s = q->run->n ? q->run->start_s[0] : 0, .to_s = run_end(q->run),
	};
	return f;
}

void finding_value(struct finding *f, const char *name, double value)
{
	if (f->n < FINDING_VALUES_MAX)
		f->values[f->n++] = (struct finding_value){ name, value };
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

/* Whether the run has another watch of the same device. */
static bool has_other_stage(const struct inquiry *q)
{
	const struct run *r = q->run;

	for (u32 i = 0; i < r->n_watches; i += 1 + run_parts(r, i))
		if (&r->watches[i] != q->watch && r->watches[i].watch->device == q->watch->watch->device)
			return true;
	return false;
}

const char *finding_who(const struct inquiry *q, int op, char text[FINDING_WHO])
{
	const struct watch *w = q->watch->watch;
	int n = snprintf(text, FINDING_WHO, "%s", w->device->name);

	if (has_other_stage(q))
		n += snprintf(text + n, FINDING_WHO - n, " (%s)", stage_names[w->stage]);
	if (op >= 0)
		snprintf(text + n, FINDING_WHO - n, " %s", op_names[op]);
	return text;
}

bool op_matters(const struct watch_run *w, u32 op)
{
	u64 n = w->ops[op].total->ios;

	return n && n >= watch_run_ios(w) / 100.0;
}

int find_by_op(const struct inquiry *q, int (*find)(const struct inquiry *q, u32 op))
{
	int err = 0;

	for (u32 op = 0; !err && op < BLKLAT_OPS; op++)
		if (op_matters(q->watch, op))
			err = find(q, op);
	return err;
}

u32 main_op(const struct watch_run *w)
{
	u32 most = 0;

	for (u32 op = 1; op < BLKLAT_OPS; op++)
		if (w->ops[op].total->ios > w->ops[most].total->ios)
			most = op;
	return most;
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

/*
 * Stage queue is watched to tell where latency comes from. The rate at which IOs leave the queue is that of the device,
 * so if the device is watched at another stage too, findings about the rate are made there.
 */
static bool rate_is_its_own(const struct inquiry *q)
{
	return q->watch->watch->stage != BLKLAT_STAGE_QUEUE || !has_other_stage(q);
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

static int inquire(const struct inquiry *q)
{
	static int (*const of_rate[])(const struct inquiry *) = {
		find_stalls, find_steady_state, find_level_changes,
	};
	static int (*const of_all[])(const struct inquiry *) = {
		find_peaks, find_after_pause, find_beside, find_slow_common, find_hung, find_errors, find_losses, find_gone,
	};
	int err = 0;

	for (u32 i = 0; !err && rate_is_its_own(q) && i < ARRAY_SIZE(of_rate); i++)
		err = of_rate[i](q);
	for (u32 i = 0; !err && i < ARRAY_SIZE(of_all); i++)
		err = of_all[i](q);
	return err;
}

/* The arrays that an inquiry needs, with an element for each interval. */
struct rooms {
	bool *proven;
	double *stalled_s, *told_s;
};

static void rooms_uninit(struct rooms *r)
{
	free(r->proven);
	free(r->stalled_s);
	free(r->told_s);
}

static int rooms_init(struct rooms *rooms, const struct run *r)
{
	u32 n = r->n ?: 1;

	*rooms = (struct rooms){ calloc(n, sizeof(bool)), calloc(n, sizeof(double)), calloc(n, sizeof(double)) };
	return rooms->proven && rooms->stalled_s && rooms->told_s ? 0 : -ENOMEM;
}

static struct inquiry inquiry_of(const struct run *r, u32 watch, const struct rooms *rooms, struct findings *to)
{
	const struct inquiry q = {
		.run = r, .watch = &r->watches[watch], .age_proven = rooms->proven, .stalled_s = rooms->stalled_s,
		.told_s = rooms->told_s, .to = to,
	};

	prove_ages(r, q.watch, rooms->proven);
	memset(rooms->stalled_s, 0, r->n * sizeof(*rooms->stalled_s));
	/* What was told of a device's first stage is not told again of the next. */
	if (!watch || q.watch[-1].watch->device != q.watch->watch->device)
		memset(rooms->told_s, 0, r->n * sizeof(*rooms->told_s));
	return q;
}

int findings_make(const struct run *r, const struct steady_window *w, struct findings *ret)
{
	struct rooms rooms CLEANUP(rooms_uninit) = { 0 };
	struct findings made = { 0 };
	int err = rooms_init(&rooms, r);

	for (u32 i = 0; !err && i < r->n_watches; i += 1 + run_parts(r, i)) {
		struct inquiry q = inquiry_of(r, i, &rooms, &made);

		q.window = w;
		err = inquire(&q);
	}
	if (err || made.lacks_memory) {
		findings_uninit(&made);
		return -ENOMEM;
	}
	*ret = made;
	return 0;
}

/* The whole with the most IOs among those whose rate is their own; n_watches: none has IOs. */
static u32 busiest(const struct run *r)
{
	u32 most = r->n_watches;
	u64 most_ios = 0;

	for (u32 i = 0; i < r->n_watches; i += 1 + run_parts(r, i)) {
		const struct inquiry q = { .run = r, .watch = &r->watches[i] };
		u64 ios = watch_run_ios(q.watch);

		if (ios > most_ios && rate_is_its_own(&q)) {
			most = i;
			most_ios = ios;
		}
	}
	return most;
}

int findings_levels(const struct run *r, double *ret)
{
	struct rooms rooms CLEANUP(rooms_uninit) = { 0 };
	struct findings unused CLEANUP(findings_uninit) = { 0 };
	u32 watch = busiest(r);
	struct inquiry q;
	int err;

	if (watch == r->n_watches)
		return 0;
	err = rooms_init(&rooms, r);
	if (err)
		return err;
	q = inquiry_of(r, watch, &rooms, &unused);
	err = find_stalls(&q);
	return err ? err : find_levels(&q, main_op(q.watch), ret);
}

void findings_uninit(struct findings *fs)
{
	free(fs->f);
	*fs = (struct findings){ 0 };
}
