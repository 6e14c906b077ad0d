// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plays recordings into Prometheus totals and writes what a scrape would get, driven by commands on stdin:
 *
 *   open FILE        a replay of this recording begins, the previous one ends
 *   tick             its next interval; the answer is "ok" or, after the last, "end"
 *   get [ACCEPT]     a scrape with this Accept header; the answer is the content type, the number of
 *                    bytes, and those bytes
 *   otlp             the same of what is pushed to OpenTelemetry by host1
 *
 * Each read of the counters is reported to take 1.5 ms. An argument is the schema of native histograms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "core/frame.h"
#include "service/prometheus.h"
#include "util/cleanup.h"

#define DRAIN_NS 1500000

struct player {
	struct totals totals;
	struct capture *capture;
	struct run_info run;
	struct snapshot snapshots[2];
	struct frames frames;
	u32 numbers;
	u32 now;
};

static void end(struct player *p)
{
	if (!p->capture)
		return;
	frames_uninit(&p->frames);
	snapshot_uninit(&p->snapshots[0]);
	snapshot_uninit(&p->snapshots[1]);
	p->capture->ops->close(p->capture);
	p->capture = NULL;
}

static int begin(struct player *p, const char *file, struct problem *problem)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file };
	struct capture *c;
	int err;

	end(p);
	err = capture_replay.open(&cfg, &c, problem);
	if (err)
		return err;
	p->capture = c;
	p->run = (struct run_info){
		.version = "1.2.3", .engine = c->engine, .watches = c->watches, .n_watches = c->n_watches,
		.devices = c->devices, .cpus = c->cpus, .scale = c->scale, .memory_bytes = c->memory_bytes,
		.interval_s = 1, .percentiles = percentiles_default, .slow_most = c->slow ? c->slow->most : 0,
	};
	err = snapshot_init(&p->snapshots[0], c->n_watches, c->scale) ?:
	      snapshot_init(&p->snapshots[1], c->n_watches, c->scale) ?:
	      frames_init(&p->frames, c->watches, c->n_watches, c->scale);
	if (!err)
		totals_begin(&p->totals, &p->run);
	for (u32 i = 0; !err && i < p->frames.n; i++)
		p->frames.f[i].number = p->numbers++;	/* all are counted from 0 */
	return err ? err : c->ops->read(c, &p->snapshots[p->now], problem);
}

static int tick(struct player *p, struct problem *problem)
{
	struct capture *c = p->capture;
	int err;

	p->now = !p->now;
	err = c->ops->read(c, &p->snapshots[p->now], problem);
	if (err == -ENODATA) {
		p->now = !p->now;
		puts("end");
		return 0;
	}
	if (err)
		return err;
	frames_between(&p->frames, &p->snapshots[!p->now], &p->snapshots[p->now], &p->run.percentiles, c->cpus);
	err = health_judge(&p->frames);
	frames_set_slow(&p->frames, c->slow);
	p->frames.drain_ns = DRAIN_NS;
	err = err ?: totals_add(&p->totals, &p->frames);
	if (!err)
		puts("ok");
	return err;
}

/* @otlp: OpenTelemetry's format; else by @accept. */
static int get(struct player *p, bool otlp, const char *accept)
{
	enum prometheus_format format = prometheus_negotiate(accept);
	struct blob *b = NULL;
	int err = otlp ? prometheus_render_otlp(&p->totals, "host1", &b) : prometheus_render(&p->totals, format, &b);

	if (err)
		return err;
	printf("%s\n%zu\n", otlp ? "application/x-protobuf" : prometheus_content_types[format], b->len);
	fwrite(b->data, 1, b->len, stdout);
	blob_unref(b);
	return 0;
}

static int obey(struct player *p, char *line, struct problem *problem)
{
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "open ", 5))
		return begin(p, line + 5, problem);
	if (!strcmp(line, "tick") && p->capture)
		return tick(p, problem);
	if (!strcmp(line, "get"))
		return get(p, false, NULL);
	if (!strncmp(line, "get ", 4))
		return get(p, false, line + 4);
	if (!strcmp(line, "otlp"))
		return get(p, true, NULL);
	return problem_set(problem, -EINVAL, "'%s' is no command", line);
}

static int play(struct player *p)
{
	struct problem problem = { "out of memory" };
	CLEANUP(cleanup_free) char *line = NULL;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, stdin) > 0) {
		err = obey(p, line, &problem);
		fflush(stdout);
	}
	if (err)
		fprintf(stderr, "exposition: %s\n", problem.text);
	end(p);
	return err;
}

int main(int argc, char **argv)
{
	u32 schema = argc > 1 ? atoi(argv[1]) : PROMETHEUS_SCHEMA;
	struct player p = { 0 };
	int err;

	if (argc > 2 || schema > BLKLAT_SCALE_MAX)
		return 2;
	totals_init(&p.totals, schema);
	err = play(&p);
	totals_uninit(&p.totals);
	return err ? 1 : 0;
}
