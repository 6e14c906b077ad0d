// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/prometheus_families.h"
#include "service/prometheus_totals.h"
#include "util/realtime.h"

struct prometheus {
	struct sink_source source;
	struct prometheus_config cfg;
	pthread_mutex_t lock;		/* protects only 'now', while it is taken or replaced */
	struct totals *now;
	atomic_ullong refused[REFUSALS];
	/* Only for the thread that captures: */
	u64 reads, drain_ns;		/* of the next interval; 0 reads: one */
	u32 scale;			/* of the totals' histograms */
};

struct capture_sink {
	struct sink sink;
	struct prometheus *p;
	const struct run_info *run;
};

void prometheus_free(struct prometheus *p)
{
	if (!p)
		return;
	totals_unref(p->now);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void prometheus_drained(struct prometheus *p, u64 reads, u64 ns)
{
	p->reads += reads;
	p->drain_ns += ns;
}

void prometheus_refused(struct prometheus *p, enum prometheus_refusal why)
{
	atomic_fetch_add_explicit(&p->refused[why], 1, memory_order_relaxed);
}

/* Only the capturing thread changes 'now', so it may read it without the lock. */
static int advance(struct capture_sink *c, const struct frames *frames)
{
	struct prometheus *p = c->p;
	struct totals_interval add = {
		.run = c->run, .frames = frames, .reads = p->reads ?: 1, .drain_ns = p->drain_ns, .scale = p->scale,
	};
	struct totals *before = p->now, *next;

	for (u32 i = 0; i < REFUSALS; i++)
		add.refused[i] = atomic_load_explicit(&p->refused[i], memory_order_relaxed);
	next = totals_next(before, &add);
	if (!next)
		return -ENOMEM;
	p->reads = p->drain_ns = 0;
	pthread_mutex_lock(&p->lock);
	p->now = next;
	pthread_mutex_unlock(&p->lock);
	totals_unref(before);
	return 0;
}

static int prometheus_interval(struct sink *s, const struct frames *interval)
{
	return advance((struct capture_sink *)s, interval);
}

static const struct sink_ops sink_prometheus = {
	.interval = prometheus_interval,
	.summary = sink_without_summary,
	.close = sink_free,
};

static int prometheus_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct prometheus *p = (struct prometheus *)of;
	struct capture_sink *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	*c = (struct capture_sink){ .sink.ops = &sink_prometheus, .p = p, .run = run };
	if (run->scale < p->scale)
		p->scale = run->scale;
	err = advance(c, NULL);
	if (err) {
		free(c);
		return err;
	}
	*ret = &c->sink;
	return 0;
}

int prometheus_new(const struct prometheus_config *cfg, struct prometheus **ret)
{
	struct prometheus *p;

	if (cfg->schema > BLKLAT_SCALE_MAX || cfg->classic_schema > BLKLAT_SCALE_MAX)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->source.open = prometheus_open;
	p->cfg = *cfg;
	p->scale = cfg->schema > cfg->classic_schema ? cfg->schema : cfg->classic_schema;
	p->now = totals_new();
	if (!p->now) {
		free(p);
		return -ENOMEM;
	}
	realtime_lock_init(&p->lock);
	*ret = p;
	return 0;
}

struct sink_source *prometheus_source(struct prometheus *p)
{
	return &p->source;
}

int prometheus_render(struct prometheus *p, enum prometheus_format format, FILE *out)
{
	struct totals *t;
	int err;

	pthread_mutex_lock(&p->lock);
	t = totals_ref(p->now);
	pthread_mutex_unlock(&p->lock);
	errno = 0;	/* so that it also covers what is written before the end */
	if (format == PROMETHEUS_PROTOBUF)
		err = exposition_protobuf(t, &p->cfg, out);
	else
		err = exposition_text(t, &p->cfg, format == PROMETHEUS_OPENMETRICS, out);
	totals_unref(t);
	if (err)
		return err;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
