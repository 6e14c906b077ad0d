// SPDX-License-Identifier: GPL-2.0-only
/* The BPF engine: reads what the programs of bpf/blklat.bpf.c count. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "blklat.skel.h"
#include "blklat/bins.h"
#include "capture/bpf_engine.h"
#include "capture/bpf_probe.h"

static u64 age_ns(u64 start_ns, u64 now_ns)
{
	return start_ns < now_ns ? now_ns - start_ns : 0;
}

static u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/*
 * What the kernel's statistics count as one IO is a request where there are requests, and a bio
 * where there are none. zram counts whatever queue/iostats says (zram_submit_bio()).
 */
static bool kernel_comparable(const struct watch *w)
{
	bool requests = w->device->hw_queues > 0, counts = w->device->iostats;

	return (counts || !strcmp(w->device->kind, "zram")) &&
	       w->stage == (requests ? BLKLAT_STAGE_DEVICE : BLKLAT_STAGE_TOTAL);
}

/* Forgets a device that went away: its pointers may come to stand for another one. */
static void drop_target(struct bpf_capture *b, u32 watch)
{
	struct target *table = b->target_table.at;

	for (u32 i = 0; i < b->targets.n; i++)
		for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
			if (b->targets.list[i].watch[stage] == watch + 1)
				__atomic_store_n(&table[targets_bucket(&b->targets, b->targets.list[i].key)].key,
						 UINT64_MAX, __ATOMIC_RELAXED);
}

static void read_kernel(struct bpf_capture *b, u32 i, struct watch_counts *w)
{
	const struct watch *watch = &b->capture.watches[i];
	u64 ios = 0;
	int err;

	w->kernel_known = false;
	w->gone = b->last.w[i].gone;
	if (w->gone)
		return;
	err = device_kernel_ios(b->devices, watch->device, &ios);
	if (err == -ENODEV) {
		w->gone = true;
		drop_target(b, i);
	}
	ios -= b->kernel_base[i] + w->accounts[BLKLAT_EMPTY_FLUSH];
	w->kernel_known = !err && kernel_comparable(watch) && (s64)ios >= 0;
	w->kernel_ios = w->kernel_known ? ios : 0;
}

/* Program runs that the kernel skipped, see domain: a program interrupted by itself. */
static u64 skipped_runs(const struct blklat *s)
{
	const struct bpf_program *prog = NULL;
	u64 skipped = 0;

	while ((prog = bpf_object__next_program(s->obj, (struct bpf_program *)prog))) {
		struct bpf_prog_info info = { 0 };
		u32 len = sizeof(info);

		if (bpf_program__fd(prog) >= 0 && !bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			skipped += info.recursion_misses;
	}
	return skipped;
}

/*
 * Before and after the bins are read, so that the two say what moved meanwhile: first the starts and
 * then the bios in flight, last the other way round. What had started then and is not in flight now
 * has surely completed; what is in flight now surely had not.
 */
static int read_bios(struct bpf_capture *b, struct snapshot *s, bool after)
{
	struct capture *c = &b->capture;
	int err;

	if (!bpf_any_stage(c, BLKLAT_STAGE_TOTAL))
		return 0;
	for (u32 i = 0; i < c->n_watches; i++)
		b->bios[i].started = region_account(&b->region, i, BLKLAT_STARTED);
	err = bio_counts_read(bpf_map__fd(b->skel->maps.bios), b->bios, c->n_watches);
	if (err)
		return err;
	for (u32 i = 0; i < c->n_watches; i++) {
		struct watch_counts *w = &s->w[i];

		if (c->watches[i].stage != BLKLAT_STAGE_TOTAL)
			continue;
		if (after) {
			w->started_after = region_account(&b->region, i, BLKLAT_STARTED);
			w->in_flight_after = b->bios[i].in_flight;
		} else {
			w->started = b->bios[i].started;
			w->in_flight = b->bios[i].in_flight;
			w->oldest_ns = age_ns(b->bios[i].earliest_ns, s->mono_ns);
		}
	}
	return 0;
}

/* What the next read has to know of this one. */
static void remember(struct snapshot *last, const struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		last->w[i].gone = s->w[i].gone;
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			const struct hist *h = &s->w[i].ops[op].hist;

			memcpy(last->w[i].ops[op].hist.cells, h->cells,
			       BLKLAT_CELLS(h->scale) * sizeof(*h->cells));
		}
	}
}

static int bpf_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct bpf_capture *b = (struct bpf_capture *)c;
	int err;

	region_next_epoch(&b->region);
	s->mono_ns = clock_ns(CLOCK_MONOTONIC);
	s->wall_ns = clock_ns(CLOCK_REALTIME);
	err = read_bios(b, s, false);
	for (u32 i = 0; i < c->n_watches; i++)
		region_read(&b->region, i, &b->last.w[i], s->mono_ns, &s->w[i]);
	if (!err)
		err = read_bios(b, s, true);
	if (err)
		return problem_set(p, err, "could not read the bios in flight: %s", strerror(-err));
	for (u32 i = 0; i < c->n_watches; i++)
		read_kernel(b, i, &s->w[i]);
	s->skipped = skipped_runs(b->skel);
	remember(&b->last, s);
	return 0;
}

/* --- life ---------------------------------------------------------------------------------- */

static void unmap(struct mapping *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
}

static void bpf_close(struct capture *c)
{
	struct bpf_capture *b = (struct bpf_capture *)c;

	if (!b)
		return;
	unmap(&b->series);
	unmap(&b->accounts);
	unmap(&b->slots);
	unmap(&b->target_table);
	blklat__destroy(b->skel);
	targets_free(&b->targets);
	snapshot_uninit(&b->last);
	free(b->bios);
	free(b->kernel_base);
	free(b->capture.watches);
	free(b);
}

static int allocate(struct bpf_capture *b, const struct capture_config *cfg)
{
	u32 n = cfg->n_watches;

	b->capture.watches = malloc(n * sizeof(*cfg->watches));
	b->bios = calloc(n, sizeof(*b->bios));
	b->kernel_base = calloc(n, sizeof(*b->kernel_base));
	if (!b->capture.watches || !b->bios || !b->kernel_base)
		return -ENOMEM;
	memcpy(b->capture.watches, cfg->watches, n * sizeof(*cfg->watches));
	b->capture.n_watches = n;
	return snapshot_init(&b->last, n, b->capture.scale);
}

static int start(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p)
{
	int err = bpf_setup(b, cfg->max_bios, p);

	if (!err)
		err = bpf_attach_ends(b, p);
	if (err)
		return err;
	/* What the kernel counts from here on has a start that we saw, or is counted in BLKLAT_BEFORE. */
	for (u32 i = 0; i < cfg->n_watches; i++)
		device_kernel_ios(b->devices, cfg->watches[i].device, &b->kernel_base[i]);
	return bpf_attach_starts(b, p);
}

static int bpf_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	int cpus = libbpf_num_possible_cpus(), scale, err;
	struct bpf_capture *b;

	if (cpus < 0)
		return problem_set(p, cpus, "could not tell how many CPUs there are: %s", strerror(-cpus));
	scale = capture_choose_scale(cfg, cpus, p);
	if (scale < 0)
		return scale;
	b = calloc(1, sizeof(*b));
	if (!b)
		return problem_set(p, -ENOMEM, "out of memory");
	b->capture = (struct capture){
		.ops = &capture_bpf,
		.scale = scale,
		.cpus = cpus,
		.memory_bytes = capture_memory_bytes(cfg->watches, cfg->n_watches, cpus, scale, cfg->max_bios),
		.live = true,
		.engine = capture_bpf.name,
	};
	b->devices = cfg->devices;
	bpf_quiet();
	err = allocate(b, cfg);
	err = err ? problem_set(p, err, "out of memory") : start(b, cfg, p);
	if (err) {
		bpf_close(&b->capture);
		return err;
	}
	*ret = &b->capture;
	return 0;
}

const struct capture_ops capture_bpf = {
	.name = "bpf",
	.about = "eBPF programs on the block layer's tracepoints",
	.probe = bpf_probe,
	.open = bpf_open,
	.read = bpf_read,
	.close = bpf_close,
};
