// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and struct target */
#include "blklat.skel.h"
#include "blklat/bins.h"
#include "blklat/parts.h"
#include "engine/bpf_engine.h"
#include "engine/geometry.h"
#include "util/cleanup.h"

static bool any_total(const struct capture *c, bool (*is)(const struct device *d))
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == BLKLAT_STAGE_TOTAL && is(c->watches[i].device))
			return true;
	return false;
}

bool bpf_hides_splits(const struct capture *c)
{
	return any_total(c, device_hides_splits);
}

static bool any_partition(const struct capture *c)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (device_is_partition(c->watches[i].device))
			return true;
	return false;
}

static enum mode mode_of(const struct blklat__rodata *ro, const struct capture *c)
{
	if (!ro->cfg_queue && !ro->cfg_bios && !ro->cfg_issue_arg1 && !any_partition(c))
		return ro->cfg_parts || ro->cfg_idle_gap_ns ? MODE_DEVICE_MORE :
		       c->slow ? MODE_DEVICE_SLOW : MODE_DEVICE;
	if (ro->cfg_parts)
		return MODE_PARTS;
	return any_partition(c) ? MODE_PARTITIONS : MODE_DISKS;
}

static void configure(struct bpf_capture *b)
{
	struct blklat__rodata *ro = b->skel->rodata;

	ro->cfg_merged = BLKLAT_SCALE_MAX - b->kernel.capture.scale;
	ro->cfg_cells = BLKLAT_CELLS(b->kernel.capture.scale);
	ro->cfg_idle_gap_ns = b->kernel.idle_gap_ns;
	ro->cfg_idle_merged = BLKLAT_SCALE_MAX - idle_scale(b->kernel.capture.scale);
	ro->cfg_idle_cells = BLKLAT_CELLS(idle_scale(b->kernel.capture.scale));
	ro->cfg_watches = b->kernel.capture.room;
	ro->cfg_wholes = b->kernel.capture.room / (1 + b->kernel.parts);
	ro->cfg_all_own = owns_all(b->kernel.spare, b->kernel.capture.room, b->kernel.capture.cpus);
	ro->cfg_standby_row = b->kernel.region.rows - 1;
	ro->cfg_unguarded = b->traits.unguarded;
	ro->cfg_only_adds = !b->traits.compares_and_exchanges;
	ro->cfg_hash_factor = b->targets.factor[0];
	ro->cfg_hash_factor_2 = b->targets.factor[1];
	ro->cfg_hash_shift = 32 - b->targets.bits;
	ro->cfg_queue = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_QUEUE);
	ro->cfg_bios = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_TOTAL);
	ro->cfg_wait = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_WAIT);
	ro->cfg_remapped = any_total(&b->kernel.capture, device_passes_bios_on);
	ro->cfg_flush_seq = ro->cfg_bios ? b->traits.flush_seq : 0;
	ro->cfg_parts = b->kernel.parts;
	ro->cfg_by = b->kernel.by;
	ro->cfg_cgroups = b->kernel.cgroups;
	ro->cfg_rare_flags = b->traits.rare_flags;
	ro->cfg_insert_arg1 = b->traits.insert_arg1;
	ro->cfg_issue_arg1 = b->traits.issue_arg1;
	ro->cfg_requeue_arg1 = b->traits.requeue_arg1;
	ro->cfg_merge_arg1 = b->traits.merge_arg1;
	ro->cfg_bio_queue_arg1 = b->traits.bio_queue_arg1;
	ro->cfg_getrq_arg1 = b->traits.getrq_arg1;
	ro->cfg_bio_merge_arg2 = b->traits.bio_merge_arg2;
	ro->cfg_bio_split_arg1 = b->traits.bio_split_arg1;
	ro->cfg_bio_remap_arg1 = b->traits.bio_remap_arg1;
	ro->cfg_bio_traced = b->traits.bio_traced;
	ro->cfg_mode = mode_of(ro, &b->kernel.capture);
}

static u32 at_least_1(u32 n)
{
	return n ? n : 1;
}

/* Maps that are not needed keep one element, since the programs refer to them. */
static void size_idle_maps(struct bpf_capture *b)
{
	u32 watches = b->kernel.capture.room;
	struct blklat *s = b->skel;

	bpf_map__set_value_size(s->maps.idle_series, BLKLAT_IDLE_SERIES_BYTES(s->rodata->cfg_idle_cells));
	if (!b->kernel.idle_gap_ns)
		return;
	bpf_map__set_max_entries(s->maps.idle_series, watches * BLKLAT_OPS);
	if (capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_TOTAL))
		bpf_map__set_max_entries(s->maps.bios_seen, watches);
}

static void size_bios(struct bpf_capture *b, u32 max_bios)
{
	u32 buckets = bio_buckets(max_bios);

	if (!capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_TOTAL))
		return;
	if (!b->traits.compares_and_exchanges) {
		bpf_map__set_max_entries(b->skel->maps.bio_hash, max_bios);
		return;
	}
	bpf_map__set_max_entries(b->skel->maps.bio_cells, buckets);
	b->skel->rodata->cfg_buckets_mask = buckets - 1;
}

static void size_maps(struct bpf_capture *b, const struct capture_config *cfg)
{
	u32 watches = b->kernel.capture.room;
	const struct slow_room room = slow_room(cfg);
	struct blklat *s = b->skel;

	b->kernel.region.series_bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(b->kernel.capture.scale));
	bpf_map__set_max_entries(s->maps.slots, at_least_1(b->kernel.region.n_slots / BLKLAT_SLOTS));
	bpf_map__set_value_size(s->maps.series, b->kernel.region.series_bytes);
	bpf_map__set_max_entries(s->maps.series, watches * BLKLAT_OPS + b->kernel.spare);
	bpf_map__set_max_entries(s->maps.own, watches * b->kernel.capture.cpus);
	bpf_map__set_max_entries(s->maps.accounts, s->rodata->cfg_wholes * b->kernel.region.rows);
	size_bios(b, cfg->max_bios);
	size_idle_maps(b);
	bpf_slow_size(b, &room);
	if (blklat_counts_in_flight(b->kernel.by))
		bpf_map__set_max_entries(s->maps.in_flight, watches);
}

static int make_array(const char *name, u32 value_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(u32), value_bytes, 1, &opts);
}

/* Loading would map the whole table at the place of the section, and so over what lies behind it. */
static void do_not_map(const struct bpf_capture *b, const struct bpf_map *map)
{
	struct bpf_object_skeleton *s = b->skel->skeleton;

	for (int i = 0; i < s->map_cnt; i++)
		if (*s->maps[i].map == map)
			s->maps[i].mmaped = NULL;
}

/*
 * libbpf before 1.3 can't enlarge a section, but accepts a larger map, whose single value is the table. However, it has
 * mapped the section at its compiled size, and would unmap as much as the map is large when the skeleton is destroyed.
 * So the map is only lent to libbpf while the programs are loaded. After that, the programs hold it themselves.
 */
static int load_with_lent_table(struct bpf_capture *b, u32 bytes)
{
	struct bpf_map *section = b->skel->maps.data_targets;
	int own CLEANUP(cleanup_close) = make_array("section", bpf_map__value_size(section));
	int err;

	b->table_fd = make_array("targets", bytes);
	if (own < 0 || b->table_fd < 0)
		return own < 0 ? own : b->table_fd;
	err = bpf_map__reuse_fd(section, b->table_fd);
	if (err)
		return err;
	do_not_map(b, section);
	err = blklat__load(b->skel);
	if (!bpf_map__reuse_fd(section, own))
		return err;
	/*
	 * There was no descriptor left to give the section its own map back. The skeleton can't be
	 * destroyed safely, so it is leaked.
	 */
	b->skel = NULL;
	return err ? err : -EMFILE;
}

static int load_programs(struct bpf_capture *b)
{
	u32 bytes = sizeof(struct target) << b->targets.bits;
	int err;

	if (libbpf_major_version() == 1 && libbpf_minor_version() < 3)
		return load_with_lent_table(b, bytes);
	err = bpf_map__set_value_size(b->skel->maps.data_targets, bytes);
	if (!err)
		err = blklat__load(b->skel);
	if (err)
		return err;
	b->table_fd = fcntl(bpf_map__fd(b->skel->maps.data_targets), F_DUPFD_CLOEXEC, 3);
	return b->table_fd < 0 ? -errno : 0;
}

static int map_fd(struct mapping *m, int fd, size_t bytes)
{
	m->bytes = bytes;
	m->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->at != MAP_FAILED)
		return 0;
	m->at = NULL;
	return -errno;
}

int mapping_map(struct mapping *m, const struct bpf_map *map)
{
	return map_fd(m, bpf_map__fd(map), (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map));
}

void mapping_unmap(struct mapping *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
}

static int map_region(struct bpf_capture *b)
{
	struct blklat *s = b->skel;
	int err = map_fd(&b->table, b->table_fd, sizeof(struct target) << b->targets.bits);

	if (!err)
		err = mapping_map(&b->series, s->maps.series);
	if (!err)
		err = mapping_map(&b->own, s->maps.own);
	if (!err)
		err = mapping_map(&b->accounts, s->maps.accounts);
	if (!err)
		err = mapping_map(&b->slots, s->maps.slots);
	if (!err && b->kernel.idle_gap_ns)
		err = mapping_map(&b->idle, s->maps.idle_series);
	if (!err && b->skel->rodata->cfg_bios && b->traits.compares_and_exchanges)
		err = mapping_map(&b->bios, s->maps.bio_cells);
	if (err)
		return err;
	b->kernel.region.series = b->series.at;
	b->kernel.region.own = b->own.at;
	b->kernel.region.accounts = b->accounts.at;
	b->kernel.region.slots = b->slots.at;
	b->kernel.region.idle = b->idle.at;
	b->kernel.region.epoch = &s->bss->epoch;
	b->kernel.wait = bpf_can_wait() ? bpf_wait_for_programs : NULL;
	b->targets.table = b->table.at;
	return region_init(&b->kernel.region, b->kernel.spare);
}

int bpf_learn_shared_tags(struct bpf_capture *b, const struct watch *w, u32 n, struct problem *p)
{
	struct found_device found;
	int err = 0;

	for (u32 i = 0; !err && i < n; i++) {
		struct device *d = &b->devices->d[w[i].device - b->devices->d];

		if (d->hw_queues < 2 || d->shared_tags || (i && d == w[i - 1].device))
			continue;
		err = bpf_find_devices(b->finder, &w[i].device, 1, &found, p);
		if (!err && found.shared_tags)
			d->shared_tags = true;
	}
	return err;
}

/* A device is looked up once for watches that are next to each other. */
static int find_watched(struct bpf_capture *b, struct problem *p)
{
	const struct capture *c = &b->kernel.capture;
	const struct targets_of of = { c->watches, b->kernel.slots, b->kernel.region.ranges };
	const struct device **devices CLEANUP(cleanup_free) = calloc(c->n_watches, sizeof(*devices));
	struct found_device *found CLEANUP(cleanup_free) = calloc(c->n_watches, sizeof(*found));
	u32 n = 0, last;
	int err;

	if (!devices || !found)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < c->n_watches; i++)
		if (!i || c->watches[i].device != c->watches[i - 1].device)
			devices[n++] = c->watches[i].device;
	err = bpf_find_devices(b->finder, devices, n, found, p);
	/*
	 * Spread the results from the devices to the watches, from the last one on, so that nothing is
	 * overwritten that is still needed.
	 */
	last = n;
	for (u32 i = c->n_watches; !err && i--;) {
		found[i] = found[last - 1];
		if (i && c->watches[i].device != c->watches[i - 1].device)
			last--;
	}
	return err ? err : targets_make(&b->targets, &of, found, c->n_watches, c->room, p);
}

/* Has the programs of this capture what @w needs? */
static bool has_programs(const struct bpf_capture *b, const struct watch *w)
{
	const struct blklat__rodata *ro = b->skel->rodata;
	const struct device *d = w->device;

	if (device_is_partition(d) && ro->cfg_mode != MODE_PARTITIONS && ro->cfg_mode != MODE_PARTS)
		return false;
	if (w->stage == BLKLAT_STAGE_QUEUE)
		return ro->cfg_queue;
	if (w->stage == BLKLAT_STAGE_WAIT)
		return ro->cfg_wait;
	if (w->stage != BLKLAT_STAGE_TOTAL)
		return true;
	return ro->cfg_bios && (ro->cfg_remapped || !device_passes_bios_on(d)) &&
	       (b->hides_splits || !device_hides_splits(d));
}

/* Makes the counts of watch @i 0 that are not in the region. Returns 0 or a negative errno. */
static int clear_counts(const struct bpf_capture *b, u32 i)
{
	const struct blklat__rodata *ro = b->skel->rodata;
	const struct in_flight none = { 0 };
	const u64 never = 0;
	int err = 0;

	if (blklat_counts_in_flight(b->kernel.by))
		err = bpf_map_update_elem(bpf_map__fd(b->skel->maps.in_flight), &i, &none, BPF_ANY);
	if (!err && b->kernel.idle_gap_ns && ro->cfg_bios)
		err = bpf_map_update_elem(bpf_map__fd(b->skel->maps.bios_seen), &i, &never, BPF_ANY);
	return err;
}

int bpf_add(struct kernel_capture *k, u32 at, u32 n, struct problem *p)
{
	struct bpf_capture *b = (struct bpf_capture *)k;
	const struct targets_of of = { k->capture.watches, k->slots, k->region.ranges };
	const struct device *d = k->capture.watches[at].device;
	struct found_device found;
	int err;

	for (u32 i = at; i < at + n; i++) {
		if (!has_programs(b, &k->capture.watches[i]))
			return problem_set(p, -ENOSPC, "%s needs programs that were not loaded for the devices before it", d->name);
		err = clear_counts(b, i);
		if (err)
			return problem_set(p, err, "could not begin to watch %s: %s", d->name, strerror(-err));
	}
	err = bpf_find_devices(b->finder, &d, 1, &found, p);
	if (!err && targets_add(&b->targets, &of, &found, at, n))
		err = problem_set(p, -ENOSPC, "there is no place for %s in the table of devices", d->name);
	return err;
}

static int load(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = bpf_kernel_types());
	int err;

	b->skel = blklat__open_opts(&open);
	if (!b->skel)
		return problem_set(p, -errno, "could not open the BPF programs: %s", strerror(errno));
	bpf_choose_programs(b);
	configure(b);
	size_maps(b, cfg);
	err = bpf_fit_programs(b) ?: bpf_cgroups_share(b) ?: load_programs(b) ?: bpf_cgroups_hold(b);
	if (err == -ENOMEM)
		return kernel_capture_no_memory(&b->kernel.capture, p);
	if (err)
		return problem_set(p, err, "the kernel refused the BPF programs: %s%s", strerror(-err),
				   err == -EPERM ? " (see 'blklat check')" : "");
	err = map_region(b) ?: bpf_slow_map(b);
	if (err)
		return problem_set(p, err, "could not map the counters: %s", strerror(-err));
	if (b->traits.unguarded)
		region_use_all_octaves(&b->kernel.region);
	targets_fill(&b->targets);
	return 0;
}

/* Before 5.12 a bio is remapped to the whole device before it is queued, so it no longer knows its partition. */
static int check_partitions(const struct bpf_capture *b, struct problem *p)
{
	const struct capture *c = &b->kernel.capture;

	for (u32 i = 0; i < c->n_watches; i++) {
		const struct watch *w = &c->watches[i];

		if (w->stage == BLKLAT_STAGE_TOTAL && device_is_partition(w->device) && !b->traits.bios_know_partition)
			return problem_set(p, -EINVAL, "stage total of the partition '%s' needs Linux 5.12 or later: "
					   "watch its disk", w->device->name);
	}
	return 0;
}

static int check_slow(const struct bpf_capture *b, struct problem *p)
{
	if (!b->kernel.slow.wanted || !b->traits.ring_sleeps)
		return 0;
	return problem_set(p, -EOPNOTSUPP, "slow IOs cannot be shown by engine bpf on this real-time kernel, where reporting one may "
			   "sleep: use 6.1.115 or later, 6.12 or later, or --engine kmod");
}

int bpf_setup(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p)
{
	int err = check_partitions(b, p) ?: check_slow(b, p);

	b->hides_splits = bpf_hides_splits(&b->kernel.capture);
	err = err ?: find_watched(b, p) ?: load(b, cfg, p);
	if (!cfg->follow) {
		bpf_finder_close(b->finder);
		b->finder = NULL;
	}
	return err;
}
