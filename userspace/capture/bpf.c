// SPDX-License-Identifier: GPL-2.0-only
/* The BPF engine: sets the programs of bpf/blklat.bpf.c up, reads what they count. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "blklat.skel.h"
#include "blklat/bins.h"
#include "capture/bpf_bios.h"
#include "capture/bpf_find.h"
#include "capture/bpf_probe.h"
#include "capture/bpf_targets.h"
#include "capture/geometry.h"
#include "util/cleanup.h"

struct mapping {
	void *at;
	size_t bytes;
};

struct bpf_capture {
	struct capture capture;
	struct blklat *skel;
	struct targets targets;
	struct region region;
	struct mapping series, accounts, slots, target_table;
	const struct device_table *devices;
	struct bio_counts *bios;	/* scratch for stage total, one of each watch */
	u64 *kernel_base;		/* of each watch: the kernel's count when the capture began */
	struct snapshot last;		/* what was read last: tells the interval's bins */
};

static bool any_stage(const struct capture *c, enum blklat_stage stage)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == stage)
			return true;
	return false;
}

static bool any_partition(const struct capture *c)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (device_is_partition(c->watches[i].device))
			return true;
	return false;
}

/* --- setting up ---------------------------------------------------------------------------- */

static void choose_programs(struct bpf_capture *b)
{
	bool device = any_stage(&b->capture, BLKLAT_STAGE_DEVICE);
	bool queue = any_stage(&b->capture, BLKLAT_STAGE_QUEUE);
	bool total = any_stage(&b->capture, BLKLAT_STAGE_TOTAL);
	struct blklat *s = b->skel;

	bpf_program__set_autoload(s->progs.on_rq_issue, device || queue);
	/* Requests end the bios in them. */
	bpf_program__set_autoload(s->progs.on_rq_complete, device || total);
	bpf_program__set_autoload(s->progs.on_rq_requeue, device);
	bpf_program__set_autoload(s->progs.on_rq_insert, queue);
	bpf_program__set_autoload(s->progs.on_rq_merge,
				  queue && bpf_tracepoint_args("block_rq_merge") > 0);
	bpf_program__set_autoload(s->progs.on_bio_queue, total);
	bpf_program__set_autoload(s->progs.on_bio_complete, total);
}

static void configure(struct bpf_capture *b)
{
	struct blklat__rodata *ro = b->skel->rodata;

	ro->cfg_scale = b->capture.scale;
	ro->cfg_cells = BLKLAT_CELLS(b->capture.scale);
	ro->cfg_watches = b->capture.n_watches;
	ro->cfg_hash_factor = b->targets.factor;
	ro->cfg_hash_shift = 32 - b->targets.bits;
	ro->cfg_queue = any_stage(&b->capture, BLKLAT_STAGE_QUEUE);
	ro->cfg_bios = any_stage(&b->capture, BLKLAT_STAGE_TOTAL);
	ro->cfg_partitions = any_partition(&b->capture);
	ro->cfg_insert_arg1 = bpf_tracepoint_args("block_rq_insert") == 2;
	ro->cfg_issue_arg1 = bpf_tracepoint_args("block_rq_issue") == 2;
	ro->cfg_requeue_arg1 = bpf_tracepoint_args("block_rq_requeue") == 2;
	ro->cfg_merge_arg1 = bpf_tracepoint_args("block_rq_merge") == 2;
	ro->cfg_bio_queue_arg1 = bpf_tracepoint_args("block_bio_queue") == 2;
}

static u32 at_least_1(u32 n)
{
	return n ? n : 1;
}

static void size_maps(struct bpf_capture *b, u32 max_bios)
{
	u32 rows = b->capture.cpus * b->capture.n_watches;
	struct blklat *s = b->skel;

	b->region.series_bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(b->capture.scale));
	bpf_map__set_max_entries(s->maps.targets, 1U << b->targets.bits);
	bpf_map__set_max_entries(s->maps.slots, at_least_1(b->targets.n_slots / BLKLAT_SLOTS));
	bpf_map__set_value_size(s->maps.series, b->region.series_bytes);
	bpf_map__set_max_entries(s->maps.series, rows * BLKLAT_OPS);
	bpf_map__set_max_entries(s->maps.accounts, rows);
	bpf_map__set_max_entries(s->maps.bios, any_stage(&b->capture, BLKLAT_STAGE_TOTAL) ? max_bios : 1);
}

/* Element i of a memory-mapped array stands at i * value_size (rounded up to 8). */
static int map_array(const struct bpf_map *map, struct mapping *m)
{
	m->bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (m->at != MAP_FAILED)
		return 0;
	m->at = NULL;
	return -errno;
}

static void unmap(struct mapping *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
}

static int map_region(struct bpf_capture *b)
{
	struct blklat *s = b->skel;
	int err = map_array(s->maps.series, &b->series);

	if (!err)
		err = map_array(s->maps.accounts, &b->accounts);
	if (!err)
		err = map_array(s->maps.slots, &b->slots);
	if (!err)
		err = map_array(s->maps.targets, &b->target_table);
	if (err)
		return err;
	b->region.cpus = b->capture.cpus;
	b->region.watches = b->capture.n_watches;
	b->region.scale = b->capture.scale;
	b->region.series = b->series.at;
	b->region.accounts = b->accounts.at;
	b->region.slots = b->slots.at;
	b->region.ranges = b->targets.slots;
	b->region.epoch = &s->bss->epoch;
	return 0;
}

static void fill_targets(struct bpf_capture *b)
{
	struct target *table = b->target_table.at;

	for (u32 i = 0; i < b->targets.n; i++)
		table[targets_bucket(&b->targets, b->targets.list[i].key)] = b->targets.list[i];
}

/* Ends before starts: an IO seen to start is then seen to end. */
static int attach(struct blklat *s, struct problem *p)
{
	struct {
		struct bpf_program *prog;
		struct bpf_link **link;
	} order[] = {
		{ s->progs.on_rq_complete, &s->links.on_rq_complete },
		{ s->progs.on_rq_requeue, &s->links.on_rq_requeue },
		{ s->progs.on_rq_issue, &s->links.on_rq_issue },
		{ s->progs.on_rq_merge, &s->links.on_rq_merge },
		{ s->progs.on_rq_insert, &s->links.on_rq_insert },
		{ s->progs.on_bio_complete, &s->links.on_bio_complete },
		{ s->progs.on_bio_queue, &s->links.on_bio_queue },
	};

	for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
		if (!bpf_program__autoload(order[i].prog))
			continue;
		*order[i].link = bpf_program__attach(order[i].prog);
		if (!*order[i].link)
			return problem_set(p, -errno, "could not attach %s: %s",
					   bpf_program__name(order[i].prog), strerror(errno));
	}
	return 0;
}

static int load(struct bpf_capture *b, u32 max_bios, struct problem *p)
{
	int err;

	b->skel = blklat__open();
	if (!b->skel)
		return problem_set(p, -errno, "could not open the BPF programs: %s", strerror(errno));
	choose_programs(b);
	configure(b);
	size_maps(b, max_bios);
	err = blklat__load(b->skel);
	if (err)
		return problem_set(p, err, "the kernel refused the BPF programs: %s%s", strerror(-err),
				   err == -EPERM ? " (see 'blklat check')" : "");
	err = map_region(b);
	if (err)
		return problem_set(p, err, "could not map the counters: %s", strerror(-err));
	fill_targets(b);
	return 0;
}

static int find_watched(const struct capture *c, struct targets *t, struct problem *p)
{
	const struct device **devices CLEANUP(cleanup_free) = calloc(c->n_watches, sizeof(*devices));
	struct found_device *found CLEANUP(cleanup_free) = calloc(c->n_watches, sizeof(*found));
	int err;

	if (!devices || !found)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < c->n_watches; i++)
		devices[i] = c->watches[i].device;
	err = bpf_find_devices(devices, c->n_watches, found, p);
	return err ? err : targets_make(t, c->watches, found, c->n_watches, c->cpus, p);
}

/* --- reading ------------------------------------------------------------------------------- */

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

	if (!any_stage(c, BLKLAT_STAGE_TOTAL))
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
	int err = find_watched(&b->capture, &b->targets, p);

	if (!err)
		err = load(b, cfg->max_bios, p);
	if (err)
		return err;
	for (u32 i = 0; i < cfg->n_watches; i++)
		device_kernel_ios(b->devices, cfg->watches[i].device, &b->kernel_base[i]);
	return attach(b->skel, p);
}

static int no_log(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int bpf_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	u32 cpus = libbpf_num_possible_cpus();
	int scale = capture_choose_scale(cfg, cpus, p);
	struct bpf_capture *b;
	int err;

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
	/* The verifier's words fill pages; for whoever works on the programs. */
	if (!getenv("BLKLAT_DEBUG"))
		libbpf_set_print(no_log);
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
