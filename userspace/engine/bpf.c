// SPDX-License-Identifier: GPL-2.0-only
/* The BPF engine: reads what the programs of bpf/blklat.bpf.c count. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and struct target */
#include "blklat.skel.h"
#include "engine/bpf_engine.h"
#include "engine/gone.h"
#include "engine/halts.h"
#include "engine/room.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/sysfs.h"

static void remove_watch(struct kernel_capture *kernel, u32 whole)
{
	targets_drop(&((struct bpf_capture *)kernel)->targets, whole, kernel->wait);
}

static int move_watches(struct kernel_capture *kernel, u32 at, u32 n, const struct slots *s, u32 first)
{
	if (!kernel->wait)
		return -ENOSPC;
	targets_move(&((struct bpf_capture *)kernel)->targets, at, n, s, first, kernel->wait);
	return 0;
}

static int count_bios(struct kernel_capture *kernel)
{
	struct bpf_capture *b = (struct bpf_capture *)kernel;

	if (!capture_has_stage(&kernel->capture, BLKLAT_STAGE_TOTAL))
		return 0;
	if (!b->bios.at)
		return bios_count_hash(bpf_map__fd(b->skel->maps.bio_hash), kernel->bios, kernel->capture.n_watches,
				       1 + kernel->parts);
	bios_count_cells(b->bios.at, b->bios.bytes / sizeof(struct bio_bucket), kernel->bios, kernel->capture.n_watches,
			 1 + kernel->parts);
	return 0;
}

/* IOs that have started in this capture alone, at every stage. */
static u64 started(const struct bpf_capture *b, const struct snapshot *s)
{
	u64 n = 0;

	for (u32 i = 0; i < b->kernel.capture.n_watches; i = next_whole(&b->kernel, i))
		n += s->w[i].started;
	return n;
}

static int bpf_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct bpf_capture *b = (struct bpf_capture *)c;
	int err = kernel_capture_read(c, s, p);

	if (!err)
		s->skipped = bpf_skipped_runs(b, started(b, s));
	return err;
}

static void bpf_look(struct capture *c)
{
	struct bpf_capture *b = (struct bpf_capture *)c;

	/* Which series are unused is known only after a read. */
	owns_settle(&b->kernel.region, now_ns(), NULL, NULL);
	if (!gone_find(&b->kernel))
		return;
	room_remove_gone(&b->kernel);
	gone_freeze(&b->kernel);
}

/* --- open and close ------------------------------------------------------------------------ */

static void bpf_close(struct capture *c)
{
	struct bpf_capture *b = (struct bpf_capture *)c;

	if (!b)
		return;
	bpf_slow_unmap(b);
	bpf_finder_close(b->finder);
	mapping_unmap(&b->table);
	mapping_unmap(&b->series);
	mapping_unmap(&b->own);
	mapping_unmap(&b->accounts);
	mapping_unmap(&b->slots);
	mapping_unmap(&b->idle);
	mapping_unmap(&b->bios);
	blklat__destroy(b->skel);
	bpf_cgroups_release(b);	/* now its programs have ended: the other capture may free numbers */
	cleanup_close(&b->table_fd);
	targets_free(&b->targets);
	kernel_capture_uninit(&b->kernel);
	free(b);
}

static int add_device(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p)
{
	return bpf_learn_shared_tags((struct bpf_capture *)c, w, n, p) ?: room_add(c, w, n, ret, p);
}

static const struct live_ops live = { .look = bpf_look, .glance = halts_glance, .set_slow = bpf_slow_set, .add = add_device };
static const struct kernel_hooks hooks = {
	.count_bios = count_bios, .add = bpf_add, .remove = remove_watch, .move = move_watches, .read_slow = bpf_slow_read,
	.list_cgroups = bpf_cgroups_list, .let_go = bpf_cgroups_let_go,
};

static int start(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p)
{
	int err;

	b->kernel.capture.sees_held = b->traits.throttle;
	err = bpf_setup(b, cfg, p);
	if (!err)
		err = bpf_attach_ends(b, p);
	if (err)
		return err;
	/* For each IO that the kernel counts from here on we see the start, or count it in BLKLAT_BEFORE. */
	kernel_capture_note_statistics(&b->kernel, 0, b->kernel.capture.n_watches);
	return bpf_attach_starts(b, p);
}

static bool watches_bios(const struct capture_config *cfg)
{
	for (u32 i = 0; i < cfg->n_watches; i++)
		if (cfg->watches[i].stage == BLKLAT_STAGE_TOTAL)
			return true;
	return false;
}

static int bpf_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	const struct capture is = { .ops = &capture_bpf, .live = &live, .cpus = sysfs_cpus("") };
	struct bpf_capture *b;
	int err;

	b = calloc(1, sizeof(*b));
	if (!b)
		return problem_set(p, -ENOMEM, "out of memory");
	b->table_fd = -1;
	b->devices = cfg->devices;
	b->kernel.hooks = &hooks;
	bpf_prepare();
	err = bpf_kernel_traits(watches_bios(cfg), &b->traits, p) ?:
	      bpf_finder_open(&b->finder, b->traits.before_5_11, p) ?:
	      bpf_learn_shared_tags(b, cfg->watches, cfg->n_watches, p);
	if (!err)
		err = kernel_capture_init(&b->kernel, &is, cfg, is.cpus + !b->traits.unguarded, p);
	if (!err)
		err = start(b, cfg, p);
	if (err) {
		bpf_close(&b->kernel.capture);
		return err;
	}
	*ret = &b->kernel.capture;
	return 0;
}

const struct capture_ops capture_bpf = {
	.name = "bpf",
	.about = "eBPF programs on the block layer's tracepoints",
	.probe = bpf_probe,
	.sees_pauses = true,
	.open = bpf_open,
	.read = bpf_read,
	.close = bpf_close,
};
