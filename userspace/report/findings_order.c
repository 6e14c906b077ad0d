// SPDX-License-Identifier: GPL-2.0-only
/* The worst first; what is alike of several devices is said once, and what is well in one line. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings_rules.h"

#define NEAR_SHARE 0.01		/* of the run: findings at most so far apart are of the same time */
#define NEAR_INTERVALS 2
#define LIKE 1.5		/* devices that are worse by factors which differ less are alike */
#define NAMED 8
#define FEW 4			/* steady ones, with each its rate */
#define SAME 1.01		/* of rates at two stages of a device */
#define SLOWER 1.2		/* levels whose latencies differ by this factor have peaks of their own */

static bool is_level_change(const struct finding *f)
{
	return !strcmp(f->kind, "level_change");
}

/* What is worse by about the same factor is told in order of time. */
static int severity(const struct finding *f)
{
	return f->times > 0 ? lround(4 * log2(f->times)) : INT_MIN;
}

/* "also" holds the place before. */
static int by_severity(const void *of_a, const void *of_b)
{
	const struct finding *a = of_a, *b = of_b;

	return ((int)a->grade - (int)b->grade) ?: ((int)finding_rank(a->kind) - (int)finding_rank(b->kind)) ?:
	       (severity(a) < severity(b)) - (severity(a) > severity(b)) ?:
	       (a->from_s > b->from_s) - (a->from_s < b->from_s) ?:
	       (int)a->also - (int)b->also;
}

/* Whether values that are a latency or a rate of their own differ by small factors; of rounds how much these differ. */
static bool alike_in_values(const struct finding *a, const struct finding *b)
{
	const char *rate = !strcmp(a->kind, "steady_state") ? "excursion_share" : "iops";

	for (u32 i = 0; i < a->n && i < b->n; i++) {
		const char *name = a->values[i].name, *unit = strrchr(name, '_');
		double x = a->values[i].value, y = b->values[i].value;

		if ((!strcmp(name, rate) || (unit && !strcmp(unit, "_ns"))) && fmax(x, y) > LIKE * fmin(x, y))
			return false;
	}
	return true;
}

static bool is_well(const struct finding *f)
{
	return finding_get(f, "reached") == 1 && !finding_get(f, "stalled_share");
}

/*
 * What became slower at the same time, for the same reason if one is known, or faster again, or whose load changed, is
 * one event: by however much, of which op and device. "": it is none.
 */
static const char *event_of(const struct finding *f)
{
	double times = finding_get(f, "times_slower_by_latency");

	if (!is_level_change(f))
		return "";
	if (f->grade == FINDING_WRONG || isnan(times))
		return f->grade == FINDING_WRONG ? "slower" : f->times_of ? "" : "alternating";
	return times * LIKE <= 1 ? "faster" : "changed";
}

/* Else alike are the same op of several devices and, where they are steady, any ops. */
static bool alike(const struct finding *a, const struct finding *b, const struct run *r)
{
	const char *event = event_of(a), *common = strstr(a->text, " are "), *other = strstr(b->text, " are ");
	double apart_s = fmax(fabs(a->from_s - b->from_s), fabs(a->to_s - b->to_s));
	double near_s = NEAR_INTERVALS * r->interval_s;
	double slack_s = a->grade == FINDING_WRONG && *event ? near_s : fmax(near_s, NEAR_SHARE * r->duration_s);
	bool of_others = !strcmp(a->kind, "steady_state") || (a->op == b->op && a->watch != b->watch);

	if (a->by_chance || b->by_chance)
		return a->by_chance && b->by_chance && steady_is_like(a, b);
	if (strcmp(a->kind, b->kind) || a->grade != b->grade || strcmp(event, event_of(b)) || apart_s > slack_s ||
	    (a->grade == FINDING_WRONG && strcmp(a->cause ?: "", b->cause ?: "")))
		return false;
	if (!strcmp(a->kind, "slow_common") && strncmp(common, other, strcspn(common, ",")))
		return false;
	return (*event && apart_s <= near_s) ||
	       (of_others && (a->n == b->n || finding_get(a, "reached") == finding_get(b, "reached")) && fmax(a->times, b->times) <= LIKE * fmin(a->times, b->times) &&
		(is_well(a) ? is_well(b) : alike_in_values(a, b)));
}

/* Moves @f behind @to and those that it speaks for; or @to, if only @f knows a culprit. */
static void join(struct finding *to, struct finding *f)
{
	bool knows = f->culprit && !to->culprit;
	struct finding *place = to + 1 + to->also, behind = knows ? *to : *f;

	if (knows)
		*to = *f;
	to->also = place - to;
	memmove(place + 1, place, (f - place) * sizeof(*f));
	*place = behind;
	place->also = 0;
}

/* The name of the device and op. */
static int name_length(const struct finding *f)
{
	return strstr(f->text, ": ") - f->text;
}

/* @rates: with the IOPS of each. */
static void say_names(struct finding *f, const struct finding *from, u32 n, bool rates)
{
	for (u32 i = 0; i < n && i < NAMED; i++) {
		double before = finding_get(&from[i], "before_iops"), after = finding_get(&from[i], "after_iops");

		finding_say(f, "%s%.*s", !i ? "" : i + 1 == n ? " and " : ", ", name_length(&from[i]), from[i].text);
		if (!strcmp(event_of(f), "alternating"))
			finding_say(f, " (%s and %s IOPS)", UNITS(short, finding_get(&from[i], "least_iops")),
				    UNITS(short, finding_get(&from[i], "most_iops")));
		else if (!strcmp(event_of(f), "changed") && fmax(before, after) > SLOWER * fmin(before, after))
			finding_say(f, " (from %s to %s IOPS)", UNITS(short, before), UNITS(short, after));
		else if (*event_of(f))
			finding_say(f, " (%s %s times)", from[i].times_of, UNITS(times, from[i].times));
		if (rates && !isnan(finding_get(&from[i], "iops")))
			finding_say(f, " (%s IOPS)", UNITS(short, finding_get(&from[i], "iops")));
	}
	if (n > NAMED)
		finding_say(f, " and %u more", n - NAMED);
}

/* Those that are well, or are not by chance, need no figures of their own, but their rates. */
static void say_well(struct finding *f)
{
	const struct finding of = *f, *least = &of, *most = &of;
	u32 reached = finding_get(f, "reached") == 1;
	const char *low, *high;
	bool differ, few = f->also < FEW;

	for (u32 i = 1; i <= f->also; i++) {
		least = finding_get(&f[i], "iops") < finding_get(least, "iops") ? &f[i] : least;
		most = finding_get(&f[i], "iops") > finding_get(most, "iops") ? &f[i] : most;
		reached += finding_get(&f[i], "reached") == 1;
	}
	low = UNITS(short, finding_get(least, "iops"));
	high = UNITS(short, finding_get(most, "iops"));
	differ = strcmp(low, high);
	snprintf(f->text, sizeof(f->text), "%u", reached);
	if (f->by_chance)
		finding_say(f, " of %u alike", f->also + 1);
	finding_say(f, " are steady from %s to %s", UNITS(seconds, f->from_s), UNITS(seconds, f->to_s));
	if (!differ)
		finding_say(f, ", %s IOPS each", low);
	else if (!few)
		finding_say(f, ", from %s IOPS (%.*s) to %s (%.*s)", low, name_length(least), least->text, high, name_length(most), most->text);
	finding_say(f, f->by_chance ? ", and which is chance: " : ": ");
	say_names(f, &of, 1, differ && few);
	finding_say(f, f->also > 1 ? ", " : " and ");
	say_names(f, f + 1, f->also, differ && few);
}

/* The first that it has; NAN: it is not about a rate. */
static double rate_of(const struct finding *f)
{
	static const char *const names[] = { "iops", "busy_iops", "worst_share", "after_iops" };
	double rate = NAN;

	for (u32 i = 0; isnan(rate) && i < ARRAY_SIZE(names); i++)
		rate = finding_get(f, names[i]);
	return rate;
}

/* Of two that say the same, that by a larger factor is told. */
static bool is_larger(const struct finding *f, const struct finding *than)
{
	return f->times > than->times || (f->times == than->times && f < than);
}

/* Whether @of is about the same rate at another stage: a change that is worse, else at the first of them. */
static bool is_same_rate(const struct finding *f, const struct finding *of, double slack_s)
{
	double x = rate_of(f), y = rate_of(of);
	bool change = is_level_change(f),
	     told = !change ? of < f : of->grade == f->grade ? is_larger(of, f) : of->grade < f->grade;

	if (change && (f->grade == FINDING_WRONG || fabs(f->from_s - of->from_s) > slack_s))
		return false;
	return told && f->watch->device == of->watch->device && f->watch != of->watch && f->op == of->op &&
	       !strcmp(f->kind, of->kind) && x <= SAME * y && y <= SAME * x;
}

/*
 * Whether @of says of the same event why: a larger factor, of the same op at another stage, or how another op became
 * slower or faster, so that this one, which waits for it, is done as seldom or as often.
 */
static bool is_same_event(const struct finding *f, const struct finding *of, double slack_s)
{
	double before = finding_get(f, "before_iops") / finding_get(of, "before_iops"),
	       after = finding_get(f, "after_iops") / finding_get(of, "after_iops");
	bool slower = !strcmp(event_of(of), "slower");
	bool stage = slower && f->grade == FINDING_WRONG && f->op == of->op && f->watch != of->watch,
	     turn = !strcmp(event_of(f), "changed") && f->op != of->op && f->watch == of->watch && !of->culprit &&
		    (slower ? finding_get(of, "times_slower_by_iops") >= SLOWER
			    : !strcmp(event_of(of), "faster") && finding_get(of, "times_slower_by_iops") <= 1 / SLOWER);

	return fabs(f->from_s - of->from_s) <= slack_s && f->watch->device == of->watch->device &&
	       fmax(before, 1 / before) <= SLOWER && fmax(after, 1 / after) <= SLOWER &&
	       (turn || (stage && is_level_change(f) && is_larger(of, f)));
}

/*
 * Whether @f says again what @of does: that a load changed, which is the cause of something, or changed with another;
 * or in peaks that latency did.
 */
static bool repeats(const struct finding *f, const struct finding *of, double slack_s)
{
	bool of_load = (!strcmp(f->kind, "steady_state") && finding_get(f, "reached") != 1) ||
		       (is_level_change(f) && f->grade == FINDING_DIFFERS);

	if (is_same_rate(f, of, slack_s) || is_same_event(f, of, slack_s))
		return true;
	if (!strcmp(f->kind, "peaks"))
		return is_level_change(of) && of->watch->device == f->watch->device && of->op == f->op &&
		       of->times >= SLOWER;
	return of_load && of->cause && (of->grade == FINDING_WRONG || !is_level_change(f) || is_larger(of, f)) &&
	       of->watch == f->watch && of->cause_op == f->op && (of->op != f->op || of->culprit) &&
	       of->from_s <= f->to_s + slack_s && of->to_s >= f->from_s - slack_s;
}

/* Drops what is said elsewhere. A device with which something is wrong is not among those that are well. */
static void settle(struct findings *fs, double slack_s)
{
	u32 all = fs->n;

	for (u32 i = 0; i < all; i++) {
		fs->f[i].also = false;	/* whether it is said elsewhere */
		for (u32 k = 0; k < all; k++) {
			fs->f[i].also |= repeats(&fs->f[i], &fs->f[k], slack_s);
			fs->f[i].sick |= fs->f[k].grade == FINDING_WRONG &&
					 fs->f[k].watch->device == fs->f[i].watch->device;
		}
		if (fs->f[i].sick && fs->f[i].grade == FINDING_WELL)
			fs->f[i].grade = FINDING_DIFFERS;
	}
	fs->n = 0;
	for (u32 i = 0; i < all; i++)
		if (!fs->f[i].also)
			fs->f[fs->n++] = fs->f[i];
}

int findings_order(struct findings *fs, const struct run *r)
{
	settle(fs, LEVEL_LEAST * r->interval_s);
	if (steady_mark_chance(fs))
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++)
		fs->f[i].also = i;
	if (fs->n)
		qsort(fs->f, fs->n, sizeof(*fs->f), by_severity);
	for (u32 i = 0; i < fs->n; i++) {
		struct finding *to = fs->f;	/* those that speak */

		while (to < &fs->f[i] && !alike(to, &fs->f[i], r))
			to += 1 + to->also;
		fs->f[i].also = 0;
		if (to < &fs->f[i])
			join(to, &fs->f[i]);
	}
	for (u32 i = 0; i < fs->n; i += 1 + fs->f[i].also) {
		struct finding *f = &fs->f[i];

		if (f->also && (is_well(f) || f->by_chance)) {
			say_well(f);
		} else if (f->also) {
			finding_say(f, *event_of(f) ? "; also %s: " : "; much the same on %s", event_of(f));
			say_names(f, f + 1, f->also, !strcmp(f->kind, "steady_state"));
		}
	}
	return 0;
}
