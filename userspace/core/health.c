// SPDX-License-Identifier: GPL-2.0-only
#include "core/health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame.h"
#include "util/units.h"

const char *const ailment_names[] = {
	[AILMENT_NONE] = "none", [AILMENT_LOST] = "lost", [AILMENT_GONE] = "gone", [AILMENT_UNLIKE] = "unlike", [AILMENT_HOST] = "host",
	[AILMENT_HOST_WAITS] = "host_waits", [AILMENT_SLOW] = "slow", [AILMENT_OLD] = "old", [AILMENT_ERRORS] = "errors", [AILMENT_STALLED] = "stalled",
};

const char *const health_grade_names[] = { [HEALTH_WELL] = "well", [HEALTH_WATCH] = "watch", [HEALTH_SICK] = "sick" };

bool health_tally_add(struct health_tally *t, double interval_s, u64 ios, u64 lost)
{
	double kept = exp(-interval_s / 60);

	t->ios = kept * t->ios + ios;
	t->lost = kept * t->lost + lost;
	return lost && t->lost > HEALTH_LOST_SHARE * (t->ios + t->lost);
}

static enum ailment ailment_of(const struct frame *f, const struct health *h)
{
	if (h->waited_ns && frame_seems_stalled(f))
		return AILMENT_STALLED;
	if (h->errors)
		return AILMENT_ERRORS;
	if (h->waited_ns > f->interval_s * NSEC_PER_SEC)
		return AILMENT_OLD;
	if (h->times >= (f->past.slow ? HEALTH_TIMES_WELL : HEALTH_TIMES))
		return AILMENT_SLOW;
	if (f->gone)
		return AILMENT_GONE;
	return h->lost && h->lost >= HEALTH_LOST_SHARE * (h->ios + h->lost) ? AILMENT_LOST : AILMENT_NONE;
}

/* Judges an interval of a whole by its past. @all: of all its ops. */
static struct health judge(const struct frame *f, const struct op_frame *all)
{
	bool waits = f->in_flight && !accounting_ends_missed(&f->accounting);
	struct health h = { .ios = all->ios, .errors = all->errors, .waited_ns = waits ? f->oldest_ns : 0 };

	if (all->ios)
		h.p99_ns = fmax(op_quantile_ns(all, 0.99), 1);
	if (all->ios >= HEALTH_IOS_MIN && f->past.intervals >= HEALTH_INTERVALS_MIN)
		h.times = exp2(log2(h.p99_ns) - f->past.log2_ns);
	if (f->accounting.lost > f->past.lost)
		h.lost = f->accounting.lost - f->past.lost;
	h.ailment = ailment_of(f, &h);
	return h;
}

/* Sets since when it has been ill. */
static void follow_illness(struct health_past *past, struct health *h, const struct frame *f)
{
	if (h->ailment > AILMENT_GONE) {
		past->since_ns = past->since_ns ?: f->end_ns - (s64)(f->interval_s * NSEC_PER_SEC);
		h->since_ns = past->since_ns;
	} else if (h->ios >= HEALTH_IOS_MIN) {
		past->since_ns = 0;
	}
}

/* Adds the interval to its past. */
static void follow(struct frame *f)
{
	struct health_past *past = &f->past;
	struct health *h = &f->health;

	past->lost = f->accounting.lost;
	h->lost_lately = health_tally_add(&past->tally, f->interval_s, h->ios, h->lost);
	follow_illness(past, h, f);
	if (h->times)
		past->slow = h->times >= (past->slow ? HEALTH_TIMES_WELL : HEALTH_TIMES);
	if (past->slow && past->since_ns && f->end_ns - past->since_ns > (s64)HEALTH_SLOW_MAX_S * (s64)NSEC_PER_SEC) {
		past->slow = false;
		past->intervals = 0;
	}
	if (!h->ios || past->slow || h->ailment > AILMENT_UNLIKE)
		return;
	if (past->intervals < HEALTH_INTERVALS)
		past->intervals++;
	past->log2_ns += (log2(h->p99_ns) - past->log2_ns) / past->intervals;
}

/* Judges each whole. @run: not by its past. */
static int judge_each(struct frames *fs, bool run)
{
	struct op_frame all;
	int err = merged_init(&all, fs->scale);

	if (err)
		return err;
	for (u32 i = 0; i < fs->n; i++) {
		struct frame *f = &fs->f[i];

		f->health = (struct health){ 0 };
		if (f->watch->part || f->gone_before)
			continue;
		if (run)
			f->past = (struct health_past){ 0 };
		frame_merge_ops(f, &all);
		f->health = judge(f, &all);
	}
	merged_uninit(&all);
	return 0;
}

int health_judge_run(struct frames *run)
{
	return judge_each(run, true);
}

int health_judge(struct frames *fs)
{
	int err = judge_each(fs, false);

	if (err)
		return err;
	health_together(fs);
	err = health_compare(fs);
	for (u32 i = 0; i < fs->n; i++)
		if (!fs->f[i].watch->part)
			follow(&fs->f[i]);
	return err;
}

struct peer {
	const struct watch *watch;
	struct health *health;
};

static int alike(const struct peer *a, const struct peer *b)
{
	const struct device *d = a->watch->device, *e = b->watch->device;

	return ((int)a->watch->stage - (int)b->watch->stage) ?: strcmp(d->kind, e->kind) ?: strcmp(d->model, e->model);
}

static int by_p99(const void *a, const void *b)
{
	const struct peer *p = a, *q = b;

	return alike(p, q) ?: (p->health->p99_ns > q->health->p99_ns) - (p->health->p99_ns < q->health->p99_ns);
}

/*
 * Compares @n peers, sorted by p99. If their number is even, the lower of the two middle ones counts as
 * the median: so it is seen if half of them are slow.
 */
static void compare_like(const struct peer *like, u32 n)
{
	double middle_ns = like[(n - 1) / 2].health->p99_ns;

	for (u32 i = 0; n >= HEALTH_LIKE_MIN && i < n; i++) {
		struct health *h = like[i].health;

		h->times_like = h->p99_ns / fmax(middle_ns, 1);
		if (h->times_like >= HEALTH_TIMES && h->ailment < AILMENT_UNLIKE)
			h->ailment = AILMENT_UNLIKE;
	}
}

int health_compare(struct frames *fs)
{
	struct peer *peers = calloc(fs->n + 1, sizeof(*peers));
	u32 n = 0;

	if (!peers)
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++)
		if (!fs->f[i].watch->part && fs->f[i].health.ios >= HEALTH_IOS_MIN)
			peers[n++] = (struct peer){ .watch = fs->f[i].watch, .health = &fs->f[i].health };
	qsort(peers, n, sizeof(*peers), by_p99);
	for (u32 first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && !alike(&peers[first], &peers[end]); end++)
			;
		compare_like(&peers[first], end - first);
	}
	free(peers);
	return 0;
}

/* Is frame @i's device independent of all others, and counted once? The stages of a device are neighbours. */
static bool is_independent(const struct frames *fs, u32 i)
{
	const struct device *d = fs->f[i].watch->device;

	return !fs->f[i].watch->part && (!i || fs->f[i - 1].watch->device != d) && !d->n_lower && !device_is_partition(d) && strcmp(d->kind, "loop");
}

/* A property that most devices may have in common. */
struct trait {
	bool (*could)(const struct health *h);		/* can this be judged for the device? */
	double (*of)(const struct health *h);		/* the extent; 0: it does not apply */
};

static double slower(const struct health *h)
{
	return h->times >= HEALTH_TIMES || h->ailment == AILMENT_SLOW ? h->times : 0;
}

static bool has_past(const struct health *h)
{
	return h->times > 0;
}

static double waits_ns(const struct health *h)
{
	return h->ailment == AILMENT_OLD || h->ailment == AILMENT_STALLED ? h->waited_ns : 0;
}

static bool has_ios(const struct health *h)
{
	return h->ios || h->waited_ns;
}

struct common {
	u32 n, of;
	double mean;
};

static struct common find_common(const struct frames *fs, const struct trait *t)
{
	struct common c = { 0 };
	double sum = 0;
	u32 with = 0;

	for (u32 i = 0; i < fs->n; i++) {
		const struct health *h = &fs->f[i].health;

		if (!t->could(h) || !is_independent(fs, i))
			continue;
		c.of++;
		if (t->of(h) > 0) {
			sum += log2(t->of(h));
			with++;
		}
	}
	c.mean = with ? exp2(sum / with) : 0;
	for (u32 i = 0; i < fs->n; i++) {
		double much = is_independent(fs, i) ? t->of(&fs->f[i].health) : 0;

		c.n += much > 0 && much >= c.mean / HEALTH_HOST_LIKE && much <= c.mean * HEALTH_HOST_LIKE;
	}
	if (c.of < HEALTH_HOST_MIN || 4 * c.n < 3 * c.of)
		return (struct common){ 0 };
	return c;
}

void health_together(struct frames *fs)
{
	static const struct trait slow = { has_past, slower }, waiting = { has_ios, waits_ns };
	struct common s = find_common(fs, &slow), w = find_common(fs, &waiting);

	for (u32 i = 0; i < fs->n; i++) {
		struct health *h = &fs->f[i].health;

		if (s.n && h->ailment == AILMENT_SLOW && h->times <= s.mean * HEALTH_HOST_LIKE)
			h->ailment = AILMENT_HOST;
		if (w.n && waits_ns(h) > 0 && waits_ns(h) <= w.mean * HEALTH_HOST_LIKE)
			h->ailment = AILMENT_HOST_WAITS;
	}
	fs->host = (struct health_host){ .n = s.n, .of = s.of, .times = s.mean, .waiting = w.n, .busy = w.of, .waited_ns = w.mean };
}

const char *health_host_text(const struct health_host *host)
{
	return host->waiting ? "all waiting: the host?" : host->n ? "all slower: the host?" : "";
}

enum health_grade health_grade(const struct health *h)
{
	if (h->ailment >= AILMENT_SLOW)
		return HEALTH_SICK;
	return h->ailment && h->ailment != AILMENT_HOST ? HEALTH_WATCH : HEALTH_WELL;
}

const char *health_text(char text[HEALTH_TEXT], const struct health *h)
{
	char part[UNITS_TEXT];

	text[0] = '\0';
	switch (h->ailment) {
	case AILMENT_STALLED:
		sprintf(text, "stalled: no completions, an IO has waited %s", units_ns(part, h->waited_ns));
		break;
	case AILMENT_ERRORS:
		sprintf(text, "%s IO%s failed", units_count(part, h->errors), h->errors == 1 ? "" : "s");
		break;
	case AILMENT_OLD:
		sprintf(text, "an IO has waited %s", units_ns(part, h->waited_ns));
		break;
	case AILMENT_HOST_WAITS:
		sprintf(text, "all waiting, an IO here for %s: the host?", units_ns(part, h->waited_ns));
		break;
	case AILMENT_SLOW:
		sprintf(text, "slow: p99 is %s times its past", units_short(part, h->times));
		break;
	case AILMENT_HOST:
		sprintf(text, "all slower, this p99 by %s times: the host?", units_short(part, h->times));
		break;
	case AILMENT_UNLIKE:
		sprintf(text, "p99 is %s times that of its peers", units_short(part, h->times_like));
		break;
	case AILMENT_GONE:
		sprintf(text, "gone");
		break;
	case AILMENT_LOST:
		sprintf(text, "%s of its IOs lost", units_share(part, (double)h->lost / (h->ios + h->lost)));
		break;
	default:
		break;
	}
	return text;
}

const char *health_since(char text[HEALTH_TEXT], const struct health *h, s64 now_ns, double interval_s)
{
	double s = (double)(now_ns - h->since_ns) / NSEC_PER_SEC;
	char clock[UNITS_TEXT], length[UNITS_TEXT];

	text[0] = '\0';
	if (h->since_ns && s > 1.5 * interval_s)
		sprintf(text, "since %s (%s)", units_clock(clock, h->since_ns), units_long(length, s));
	return text;
}
