// SPDX-License-Identifier: GPL-2.0-only
/* The BPF engine: reads what the programs of bpf/blklat.bpf.c count. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and so is struct target */
#include "blklat.skel.h"
#include "capture/bpf_bios.h"
#include "capture/bpf_engine.h"
#include "capture/bpf_probe.h"

/* Forgets devices that went away: their addresses may come to stand for other ones. */
static void drop_gone(struct bpf_capture *b, const struct snapshot *s)
{
	bool any = false;

	for (u32 i = 0; i < s->n; i++)
		if (s->w[i].gone && !b->live.last.w[i].gone)
			any |= targets_drop(&b->targets, i);
	/* What is written is there already but for those, so nothing can go wrong by halves. */
	if (any)
		bpf_write_targets(b);
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

static int count_bios(struct live_capture *l)
{
	struct bpf_capture *b = (struct bpf_capture *)l;

	if (!live_any_stage(&l->capture, BLKLAT_STAGE_TOTAL))
		return 0;
	return bio_counts_read(bpf_map__fd(b->skel->maps.bios), l->bios, l->capture.n_watches);
}

static int bpf_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct bpf_capture *b = (struct bpf_capture *)c;
	int err = live_read(&b->live, s, count_bios, p);

	if (err)
		return err;
	drop_gone(b, s);
	s->skipped = skipped_runs(b->skel);
	live_end(&b->live, s);
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
	unmap(&b->idle);
	blklat__destroy(b->skel);
	targets_free(&b->targets);
	live_uninit(&b->live);
	free(b);
}

static int start(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p)
{
	int err = bpf_setup(b, cfg->max_bios, p);

	if (!err)
		err = bpf_attach_ends(b, p);
	if (err)
		return err;
	/* What the kernel counts from here on has a start that we saw, or is counted in BLKLAT_BEFORE. */
	live_note_kernel(&b->live);
	return bpf_attach_starts(b, p);
}

static int bpf_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct bpf_capture *b;

	if (cpus < 0)
		return problem_set(p, cpus, "could not tell how many CPUs there are: %s", strerror(-cpus));
	b = calloc(1, sizeof(*b));
	if (!b)
		return problem_set(p, -ENOMEM, "out of memory");
	bpf_quiet();
	err = live_init(&b->live, &capture_bpf, cfg, cpus, p);
	if (!err)
		err = start(b, cfg, p);
	if (err) {
		bpf_close(&b->live.capture);
		return err;
	}
	*ret = &b->live.capture;
	return 0;
}

const struct capture_ops capture_bpf = {
	.name = "bpf",
	.about = "eBPF programs on the block layer's tracepoints",
	.sees_pauses = true,
	.probe = bpf_probe,
	.open = bpf_open,
	.read = bpf_read,
	.close = bpf_close,
};
