// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and so is struct target */
#include "blklat.skel.h"
#include "blklat/bins.h"
#include "capture/bpf_engine.h"
#include "capture/bpf_find.h"
#include "capture/bpf_probe.h"
#include "util/cleanup.h"

/* Stage total of a device that has no requests of its own. */
static bool any_remapped(const struct capture *c)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == BLKLAT_STAGE_TOTAL && !c->watches[i].device->hw_queues)
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

static void choose_programs(struct bpf_capture *b)
{
	bool device = live_any_stage(&b->live.capture, BLKLAT_STAGE_DEVICE);
	bool queue = live_any_stage(&b->live.capture, BLKLAT_STAGE_QUEUE);
	bool total = live_any_stage(&b->live.capture, BLKLAT_STAGE_TOTAL);
	struct blklat *s = b->skel;

	bpf_program__set_autoload(s->progs.on_rq_issue, device || queue);
	/* Requests end the bios in them; some end without having left the queue. */
	bpf_program__set_autoload(s->progs.on_rq_complete, device || queue || total);
	bpf_program__set_autoload(s->progs.on_rq_requeue, device);
	bpf_program__set_autoload(s->progs.on_rq_insert, queue);
	bpf_program__set_autoload(s->progs.on_rq_merge,
				  queue && bpf_tracepoint_args("block_rq_merge") > 0);
	bpf_program__set_autoload(s->progs.on_bio_queue, total);
	bpf_program__set_autoload(s->progs.on_bio_complete, total);
}

static enum mode mode_of(const struct blklat__rodata *ro)
{
	if (ro->cfg_queue || ro->cfg_bios || ro->cfg_partitions || ro->cfg_issue_arg1)
		return MODE_ANY;
	return ro->cfg_idle_gap_ns ? MODE_DEVICE_PAUSES : MODE_DEVICE;
}

static void configure(struct bpf_capture *b)
{
	struct blklat__rodata *ro = b->skel->rodata;

	ro->cfg_merged = BLKLAT_SCALE_MAX - b->live.capture.scale;
	ro->cfg_cells = BLKLAT_CELLS(b->live.capture.scale);
	ro->cfg_idle_gap_ns = b->live.idle_gap_ns;
	ro->cfg_idle_merged = BLKLAT_SCALE_MAX - idle_scale(b->live.capture.scale);
	ro->cfg_idle_cells = BLKLAT_CELLS(idle_scale(b->live.capture.scale));
	ro->cfg_watches = b->live.capture.n_watches;
	ro->cfg_hash_factor = b->targets.factor;
	ro->cfg_hash_shift = 32 - b->targets.bits;
	ro->cfg_queue = live_any_stage(&b->live.capture, BLKLAT_STAGE_QUEUE);
	ro->cfg_bios = live_any_stage(&b->live.capture, BLKLAT_STAGE_TOTAL);
	ro->cfg_remapped = any_remapped(&b->live.capture);
	/* A bit's number since 6.10 (5f89154e8e9e, in an enum without a name), a macro before: 1 << 4. */
	ro->cfg_flush_seq = ro->cfg_bios ? 1U << bpf_enum_value("__RQF_FLUSH_SEQ", 4) : 0;
	ro->cfg_partitions = any_partition(&b->live.capture);
	ro->cfg_insert_arg1 = bpf_tracepoint_args("block_rq_insert") == 2;
	ro->cfg_issue_arg1 = bpf_tracepoint_args("block_rq_issue") == 2;
	ro->cfg_requeue_arg1 = bpf_tracepoint_args("block_rq_requeue") == 2;
	ro->cfg_merge_arg1 = bpf_tracepoint_args("block_rq_merge") == 2;
	ro->cfg_bio_queue_arg1 = bpf_tracepoint_args("block_bio_queue") == 2;
	ro->cfg_mode = mode_of(ro);
}

static u32 at_least_1(u32 n)
{
	return n ? n : 1;
}

/* Maps that are not needed keep one element, since the programs name them. */
static void size_idle_maps(struct bpf_capture *b)
{
	u32 watches = b->live.capture.n_watches;
	struct blklat *s = b->skel;

	bpf_map__set_value_size(s->maps.idle_series, IDLE_SERIES_BYTES(s->rodata->cfg_idle_cells));
	if (!b->live.idle_gap_ns)
		return;
	bpf_map__set_max_entries(s->maps.idle_series, watches * BLKLAT_OPS);
	if (live_any_stage(&b->live.capture, BLKLAT_STAGE_TOTAL))
		bpf_map__set_max_entries(s->maps.bios_seen, watches);
}

static void size_maps(struct bpf_capture *b, u32 max_bios)
{
	u32 rows = b->live.capture.cpus * b->live.capture.n_watches;
	struct blklat *s = b->skel;

	b->live.region.series_bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(b->live.capture.scale));
	bpf_map__set_max_entries(s->maps.slots, at_least_1(b->targets.n_slots / BLKLAT_SLOTS));
	bpf_map__set_value_size(s->maps.series, b->live.region.series_bytes);
	bpf_map__set_max_entries(s->maps.series, rows * BLKLAT_OPS);
	bpf_map__set_max_entries(s->maps.accounts, rows);
	bpf_map__set_max_entries(s->maps.bios, live_any_stage(&b->live.capture, BLKLAT_STAGE_TOTAL) ? max_bios : 1);
	size_idle_maps(b);
}

/* libbpf before 1.3 can't make a section larger, but takes a map that is; its one value is the table. */
static int make_target_table(struct bpf_capture *b)
{
	size_t bytes = sizeof(struct target) << b->targets.bits;
	int fd CLEANUP(cleanup_close) = bpf_map_create(BPF_MAP_TYPE_ARRAY, "targets", sizeof(u32), bytes, 1, NULL);

	return fd < 0 ? fd : bpf_map__reuse_fd(b->skel->maps.data_targets, fd);
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

static int map_region(struct bpf_capture *b)
{
	struct blklat *s = b->skel;
	int err = map_array(s->maps.series, &b->series);

	if (!err)
		err = map_array(s->maps.accounts, &b->accounts);
	if (!err)
		err = map_array(s->maps.slots, &b->slots);
	if (!err && b->live.idle_gap_ns)
		err = map_array(s->maps.idle_series, &b->idle);
	if (err)
		return err;
	b->live.region.cpus = b->live.capture.cpus;
	b->live.region.watches = b->live.capture.n_watches;
	b->live.region.scale = b->live.capture.scale;
	b->live.region.series = b->series.at;
	b->live.region.accounts = b->accounts.at;
	b->live.region.slots = b->slots.at;
	b->live.region.ranges = b->targets.slots;
	b->live.region.idle = b->idle.at;
	b->live.region.epoch = &s->bss->epoch;
	return 0;
}

int bpf_write_targets(struct bpf_capture *b)
{
	struct target *table CLEANUP(cleanup_free) = calloc(1U << b->targets.bits, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (u32 i = 0; i < b->targets.n; i++)
		if (b->targets.list[i].key)
			table[targets_bucket(&b->targets, b->targets.list[i].key)] = b->targets.list[i];
	return bpf_map_update_elem(bpf_map__fd(b->skel->maps.data_targets), &(u32){ 0 }, table, BPF_ANY);
}

struct attachment {
	struct bpf_program *prog;
	struct bpf_link **link;
};

static int attach(const struct attachment *list, u32 n, struct problem *p)
{
	for (u32 i = 0; i < n; i++) {
		if (!bpf_program__autoload(list[i].prog))
			continue;
		*list[i].link = bpf_program__attach(list[i].prog);
		if (!*list[i].link)
			return problem_set(p, -errno, "could not attach %s: %s",
					   bpf_program__name(list[i].prog), strerror(errno));
	}
	return 0;
}

int bpf_attach_ends(struct bpf_capture *b, struct problem *p)
{
	struct blklat *s = b->skel;
	const struct attachment ends[] = {
		{ s->progs.on_rq_complete, &s->links.on_rq_complete },
		{ s->progs.on_rq_requeue, &s->links.on_rq_requeue },
		{ s->progs.on_bio_complete, &s->links.on_bio_complete },
	};

	return attach(ends, ARRAY_SIZE(ends), p);
}

int bpf_attach_starts(struct bpf_capture *b, struct problem *p)
{
	struct blklat *s = b->skel;
	/* Issue and merge end the stage queue, which insert starts. */
	const struct attachment starts[] = {
		{ s->progs.on_rq_issue, &s->links.on_rq_issue },
		{ s->progs.on_rq_merge, &s->links.on_rq_merge },
		{ s->progs.on_rq_insert, &s->links.on_rq_insert },
		{ s->progs.on_bio_queue, &s->links.on_bio_queue },
	};

	return attach(starts, ARRAY_SIZE(starts), p);
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

static int load(struct bpf_capture *b, u32 max_bios, struct problem *p)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = bpf_kernel_types());
	int err;

	b->skel = blklat__open_opts(&open);
	if (!b->skel)
		return problem_set(p, -errno, "could not open the BPF programs: %s", strerror(errno));
	choose_programs(b);
	configure(b);
	size_maps(b, max_bios);
	err = make_target_table(b);
	if (err)
		return problem_set(p, err, "could not make the table of devices: %s", strerror(-err));
	err = blklat__load(b->skel);
	if (err)
		return problem_set(p, err, "the kernel refused the BPF programs: %s%s", strerror(-err),
				   err == -EPERM ? " (see 'blklat check')" : "");
	err = map_region(b);
	if (err)
		return problem_set(p, err, "could not map the counters: %s", strerror(-err));
	err = bpf_write_targets(b);
	return err ? problem_set(p, err, "could not fill the table of devices: %s", strerror(-err)) : 0;
}

/* Before 5.12 a bio is remapped to the whole device, and no longer knows its partition, when it is queued. */
static int check_partitions(const struct capture *c, struct problem *p)
{
	for (u32 i = 0; i < c->n_watches; i++) {
		const struct watch *w = &c->watches[i];

		if (w->stage == BLKLAT_STAGE_TOTAL && device_is_partition(w->device) &&
		    !bpf_struct_has("bio", "bi_bdev"))
			return problem_set(p, -EINVAL, "stage total of the partition '%s' needs Linux 5.12 or later: "
					   "watch its disk", w->device->name);
	}
	return 0;
}

int bpf_setup(struct bpf_capture *b, u32 max_bios, struct problem *p)
{
	int err = check_partitions(&b->live.capture, p);

	if (!err)
		err = find_watched(&b->live.capture, &b->targets, p);
	return err ? err : load(b, max_bios, p);
}
