// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a scrape costs: the bytes and time of each format for a host of DEVICES (24) drives that read and write
 * at one stage, with latencies spread like those of a busy SSD; and the time that an interval takes. Prints
 * one line of JSON. Times are CPU time of the thread; bytes are also given as compressed by gzip.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "service/prometheus.h"
#include "times.h"
#include "util/cleanup.h"

#define ROUNDS 200
#define INTERVALS 30
#define IOS 5000 		/* per op and interval */
#define MOST_DEVICES 1024

struct host {
	u32 n;
	struct device *devices;
	struct watch *watches;
	struct run_info run;
	struct totals *totals;
	struct frames frames;
};

static u64 cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void print_times(const char *name, u64 *ns, u32 n, const char *end)
{
	times_sort(ns, n);
	printf("\"%s\":{\"p50\":%.3f,\"p99\":%.3f}%s", name, ns[n / 2] / 1e6, ns[n * 99 / 100] / 1e6, end);
}

/* Normally distributed: the sum of twelve uniform numbers (it ends at 6 sigma, which does no harm here). */
static double normal(void)
{
	double sum = -6;

	for (u32 i = 0; i < 12; i++)
		sum += drand48();
	return sum;
}

/* Most IOs around @median_ns, and one in a hundred that waited for something 20 times as slow. */
static void spread(struct op_frame *o, double median_ns)
{
	hist_clear(&o->hist);
	o->sum_ns = 0;
	for (u32 i = 0; i < IOS; i++) {
		double slower = drand48() < 0.01 ? 20 : 1;
		u64 ns = median_ns * slower * exp(0.35 * normal());

		hist_put(&o->hist, blklat_cell(ns, o->hist.scale), 1);
		o->sum_ns += ns;
	}
	o->ios = IOS;
	o->bytes = o->counted.bytes = 4096ULL * IOS;
}

static int host_init(struct host *h, u32 n, struct totals *p)
{
	h->n = n;
	h->devices = calloc(n, sizeof(*h->devices));
	h->watches = calloc(n, sizeof(*h->watches));
	if (!h->devices || !h->watches)
		return -1;
	for (u32 i = 0; i < n; i++) {
		struct device *d = &h->devices[i];

		snprintf(d->name, sizeof(d->name), "nvme%un1", i);
		strcpy(d->kind, "nvme");
		strcpy(d->model, "SAMSUNG MZWLR7T6HBLA-00A07");
		strcpy(d->scheduler, "none");
		snprintf(d->serial, sizeof(d->serial), "S6CKNE0R%06u", i);
		snprintf(d->wwid, sizeof(d->wwid), "eui.36434b3052%018u", i);
		h->watches[i].device = d;
	}
	h->run = (struct run_info){
		.version = BLKLAT_VERSION, .engine = "bpf", .watches = h->watches, .n_watches = n,
		.scale = BLKLAT_SCALE_MAX, .interval_s = 1,
	};
	totals_begin(h->totals = p, &h->run);
	return frames_init(&h->frames, h->watches, n, BLKLAT_SCALE_MAX);
}

static void host_uninit(struct host *h)
{
	frames_uninit(&h->frames);
	free(h->devices);
	free(h->watches);
}

static int time_intervals(struct host *h)
{
	u64 ns[INTERVALS];

	for (u32 i = 0; i < INTERVALS; i++) {
		for (u32 w = 0; w < h->n; w++) {
			spread(&h->frames.f[w].ops[BLKLAT_OP_READ], 90e3 * (1 + w % 3));
			spread(&h->frames.f[w].ops[BLKLAT_OP_WRITE], 25e3 * (1 + w % 3));
			h->frames.f[w].interval_s = 1;
			h->frames.f[w].end_ns = 1795246501000000000LL + i * (s64)NSEC_PER_SEC;
		}
		ns[i] = cpu_ns();
		if (totals_add(h->totals, &h->frames))
			return -1;
		ns[i] = cpu_ns() - ns[i];
	}
	print_times("interval_ms", ns, INTERVALS, ",");
	return 0;
}

static int time_format(struct totals *p, enum prometheus_format format, const char *name, const char *end)
{
	CLEANUP(cleanup_free) Bytef *packed = NULL;
	struct blob *b = NULL;
	u64 ns[ROUNDS];
	uLongf zipped;

	for (u32 i = 0; i < ROUNDS; i++) {
		blob_unref(b);
		ns[i] = cpu_ns();
		if (prometheus_render(p, format, &b))
			return -1;
		ns[i] = cpu_ns() - ns[i];
	}
	zipped = compressBound(b->len);
	packed = malloc(zipped);
	if (!packed || compress(packed, &zipped, (const Bytef *)b->data, b->len) != Z_OK)
		return -1;
	printf("\"%s\":{\"bytes\":%zu,\"deflated_bytes\":%lu,", name, b->len, zipped);
	blob_unref(b);
	print_times("ms", ns, ROUNDS, "}");
	fputs(end, stdout);
	return 0;
}

static int bench(u32 n, u32 schema)
{
	struct totals p;
	struct host h = { 0 };
	int err;

	totals_init(&p, schema);
	err = host_init(&h, n, &p);
	printf("{\"devices\":%u,\"ops\":2,\"schema\":%u,", n, schema);
	err = err ?: time_intervals(&h) ?: time_format(&p, PROMETHEUS_PROTOBUF, "protobuf", ",") ?:
	      time_format(&p, PROMETHEUS_OPENMETRICS, "openmetrics", ",") ?:
	      time_format(&p, PROMETHEUS_TEXT, "text", "}\n");
	host_uninit(&h);
	totals_uninit(&p);
	return err;
}

int main(int argc, char **argv)
{
	u32 n = argc > 1 ? atoi(argv[1]) : 24, schema = argc > 2 ? atoi(argv[2]) : PROMETHEUS_SCHEMA;

	if (!n || n > MOST_DEVICES || schema > BLKLAT_SCALE_MAX) {
		fprintf(stderr, "usage: exposition [DEVICES [SCHEMA]]\n");
		return 2;
	}
	return bench(n, schema) ? 1 : 0;
}
