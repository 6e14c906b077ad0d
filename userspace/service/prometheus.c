// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/prometheus_families.h"
#include "service/prometheus_totals.h"

struct prometheus {
	struct sink_source source;
	struct prometheus_config cfg;
	struct totals totals;
	u32 scale;			/* of the totals' histograms */
};

struct totals_sink {
	struct sink sink;
	struct prometheus *p;
};

void prometheus_free(struct prometheus *p)
{
	if (!p)
		return;
	totals_uninit(&p->totals);
	free(p);
}

void prometheus_refused(struct prometheus *p, enum prometheus_refusal why)
{
	p->totals.refused[why]++;
}

static int prometheus_interval(struct sink *s, const struct frames *interval)
{
	struct prometheus *p = ((struct totals_sink *)s)->p;

	return totals_add(&p->totals, interval, p->scale);
}

static const struct sink_ops sink_prometheus = {
	.interval = prometheus_interval,
	.summary = sink_without_summary,
	.close = sink_free,
};

static int prometheus_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct prometheus *p = (struct prometheus *)of;
	struct totals_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct totals_sink){ .sink.ops = &sink_prometheus, .p = p };
	p->totals.run = run;
	if (run->scale < p->scale)
		p->scale = run->scale;
	*ret = &s->sink;
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
	*ret = p;
	return 0;
}

struct sink_source *prometheus_source(struct prometheus *p)
{
	return &p->source;
}

int prometheus_render(struct prometheus *p, enum prometheus_format format, FILE *out)
{
	int err;

	errno = 0;	/* so that it also covers what is written before the end */
	if (format == PROMETHEUS_PROTOBUF)
		err = exposition_protobuf(&p->totals, &p->cfg, out);
	else
		err = exposition_text(&p->totals, &p->cfg, format == PROMETHEUS_OPENMETRICS, out);
	if (err)
		return err;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
