// SPDX-License-Identifier: GPL-2.0-only
#include "core/health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/units.h"

const char *const ailment_names[] = {
	[AILMENT_NONE] = "none", [AILMENT_LOST] = "lost", [AILMENT_GONE] = "gone", [AILMENT_UNLIKE] = "unlike", [AILMENT_HOST] = "host",
	[AILMENT_HOST_WAITS] = "host_waits", [AILMENT_SLOW] = "slow", [AILMENT_OLD] = "old", [AILMENT_ERRORS] = "errors", [AILMENT_STALLED] = "stalled",
};

static void past_add(struct health_past *past, double log2_ns)
{
	if (past->intervals < HEALTH_INTERVALS)
		past->intervals++;
	past->log2_ns += (log2_ns - past->log2_ns) / past->intervals;
}

struct health health_judge(struct health_past *past, const struct frame *f, const struct op_frame *all)
{
	bool waits = f->in_flight && !accounting_ends_missed(&f->accounting);
	struct health h = { .ios = all->ios, .errors = all->errors, .waited_ns = waits ? f->oldest_ns : 0 };

	if (all->ios) {
		double p99_ns = quantile_ns(&all->hist, 0.99, all->min_ns, all->max_ns), log2_ns = log2(fmax(p99_ns, 1));

		h.p99_ns = p99_ns;
		if (past->intervals >= HEALTH_INTERVALS_MIN && all->ios >= HEALTH_IOS_MIN)
			h.times = exp2(log2_ns - past->log2_ns);
		past_add(past, log2_ns);
	}
	if (waits && frame_seems_stalled(f))
		h.ailment = AILMENT_STALLED;
	else if (all->errors)
		h.ailment = AILMENT_ERRORS;
	else if (h.waited_ns > f->interval_s * NSEC_PER_SEC)
		h.ailment = AILMENT_OLD;
	else if (h.times >= HEALTH_TIMES)
		h.ailment = AILMENT_SLOW;
	return h;
}

void health_besides(struct health *h, const struct frame *f, u64 lost)
{
	h->lost = lost;
	if (h->ailment < AILMENT_GONE && f->gone)
		h->ailment = AILMENT_GONE;
	else if (!h->ailment && lost && lost >= HEALTH_LOST_SHARE * (h->ios + lost))
		h->ailment = AILMENT_LOST;
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

int health_compare(const struct frames *fs, struct health *h)
{
	struct peer *peers = calloc(fs->n + 1, sizeof(*peers));
	u32 n = 0;

	if (!peers)
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++)
		if (!fs->f[i].watch->part && h[i].ios >= HEALTH_IOS_MIN)
			peers[n++] = (struct peer){ .watch = fs->f[i].watch, .health = &h[i] };
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

	return (!i || fs->f[i - 1].watch->device != d) && !d->n_lower && !device_is_partition(d) && strcmp(d->kind, "loop");
}

/* A property that most devices may have in common. */
struct trait {
	bool (*could)(const struct health *h);		/* can this be judged for the device? */
	double (*of)(const struct health *h);		/* the extent; 0: it does not apply */
};

static double slower(const struct health *h)
{
	return h->times >= HEALTH_TIMES ? h->times : 0;
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

static struct common find_common(const struct frames *fs, struct health *const *h, const struct trait *t)
{
	struct common c = { 0 };
	double sum = 0;
	u32 with = 0;

	for (u32 i = 0; i < fs->n; i++) {
		if (!h[i] || !t->could(h[i]) || !is_independent(fs, i))
			continue;
		c.of++;
		if (t->of(h[i]) > 0) {
			sum += log2(t->of(h[i]));
			with++;
		}
	}
	c.mean = with ? exp2(sum / with) : 0;
	for (u32 i = 0; i < fs->n; i++) {
		double much = h[i] && is_independent(fs, i) ? t->of(h[i]) : 0;

		c.n += much > 0 && much >= c.mean / HEALTH_HOST_LIKE && much <= c.mean * HEALTH_HOST_LIKE;
	}
	if (c.of < HEALTH_HOST_MIN || 4 * c.n < 3 * c.of)
		return (struct common){ 0 };
	return c;
}

struct health_host health_together(const struct frames *fs, struct health *const *h)
{
	static const struct trait slow = { has_past, slower }, waiting = { has_ios, waits_ns };
	struct common s = find_common(fs, h, &slow), w = find_common(fs, h, &waiting);

	for (u32 i = 0; s.n && i < fs->n; i++)
		if (h[i] && h[i]->ailment == AILMENT_SLOW && h[i]->times <= s.mean * HEALTH_HOST_LIKE)
			h[i]->ailment = AILMENT_HOST;
	for (u32 i = 0; w.n && i < fs->n; i++)
		if (h[i] && waits_ns(h[i]) > 0 && waits_ns(h[i]) <= w.mean * HEALTH_HOST_LIKE)
			h[i]->ailment = AILMENT_HOST_WAITS;
	return (struct health_host){ .n = s.n, .of = s.of, .times = s.mean, .waiting = w.n, .busy = w.of, .waited_ns = w.mean };
}

const char *health_host_text(const struct health_host *host)
{
	return host->waiting ? "all waiting: the host?" : host->n ? "all slower: the host?" : "";
}

const char *health_grade(const struct health *h)
{
	if (h->ailment >= AILMENT_SLOW)
		return "sick";
	return h->ailment && h->ailment != AILMENT_HOST ? "watch" : "well";
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
	case AILMENT_NONE:
		break;
	}
	return text;
}
