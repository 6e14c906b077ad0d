// SPDX-License-Identifier: GPL-2.0-only
/*
 * The replay engine: snapshots from a recording instead of a kernel. The first is its start, each later one the end
 * of an interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "core/frame.h"
#include "recording/reader.h"
#include "util/cleanup.h"
#include "util/process.h"

/* an interval's slow IOs get a quarter of the memory limit; any recorder needs less by default */
#define SLOW_SHARE 4

static void replay_close(struct capture *c)
{
	struct recording_reader *r = (struct recording_reader *)c;

	if (!r)
		return;
	if (r->budget)
		r->budget->taken -= r->taken;
	reader_end(r);
	sqlite_reader_close(&r->sqlite);
	hist_uninit(&r->row.hist);
	hist_uninit(&r->row.after_idle);
	snapshot_uninit(&r->state);
	reader_forget_facts(r);
	free(r);
}

static void cleanup_reader(struct recording_reader **r)
{
	if (*r)
		replay_close(&(*r)->capture);
}

/* The scale to replay at: @cfg's, unless it is finer than the recording's. Returns it, or -EINVAL and a sentence. */
static int choose_scale(const struct recording_reader *r, const struct capture_config *cfg, struct problem *p)
{
	if (cfg->scale > (int)r->scale)
		return problem_set(p, -EINVAL, "%s: was captured at scale %u, so a finer one such as %d is not "
				   "possible", r->file, r->scale, cfg->scale);
	return cfg->scale < 0 ? (int)r->scale : cfg->scale;
}

static int make_room(struct recording_reader *r, const struct capture_config *cfg, u32 scale, struct problem *p)
{
	u64 bytes = r->n_watches * replay_watch_bytes();
	int err;

	r->own.most = cfg->max_memory ?: limits_memory();
	r->budget = cfg->budget ?: &r->own;
	if (budget_take(r->budget, bytes))
		return problem_set(p, -E2BIG, "%s: its %u watches need %lluK of memory, and %lluK are left: raise --max-memory", r->file,
				   r->n_watches, (bytes + 1023) / 1024, budget_left(r->budget) / 1024);
	r->taken = bytes;
	err = hist_init(&r->row.hist, r->scale) ?: hist_init(&r->row.after_idle, idle_scale(r->scale)) ?:
	      snapshot_init(&r->state, r->n_watches, scale);
	if (err)
		return problem_set(p, err, "%s: out of memory", r->file);
	r->row.late_min_ns = UINT64_MAX;
	r->slow_bytes_most = r->budget->most / SLOW_SHARE;
	for (u32 i = 0; i < r->n_watches; i++)
		r->state.w[i].gone = r->state.w[i].awaited = true;
	r->state.idle_gap_ns = r->origin.idle_gap_ns;
	r->capture = (struct capture){
		.ops = &capture_replay,
		.watches = r->watches,
		.n_watches = r->n_watches,
		.scale = scale,
		.cpus = r->cpus,
		.memory_bytes = r->memory_bytes,
		.engine = r->engine,
		.devices = &r->devices,
		.origin = &r->origin,
		.slow = r->slow_most ? &r->slow : NULL,
	};
	return 0;
}

static int replay_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	struct recording_reader *r CLEANUP(cleanup_reader) = calloc(1, sizeof(*r));
	int err, scale;

	if (!r)
		return problem_set(p, -ENOMEM, "%s: out of memory", cfg->replay_file);
	r->origin.file = strdup(cfg->replay_file);
	if (!r->origin.file)
		return problem_set(p, -ENOMEM, "%s: out of memory", cfg->replay_file);
	r->file = r->origin.file;
	err = reader_open_database(r, cfg, p) ?: reader_read_facts(r, p);
	if (err)
		return err;
	scale = choose_scale(r, cfg, p);
	if (scale < 0)
		return scale;
	err = make_room(r, cfg, scale, p) ?: reader_begin(r, p);
	if (err)
		return err;
	*ret = &TAKE(r)->capture;
	return 0;
}

static int replay_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct recording_reader *r = (struct recording_reader *)c;
	int err = r->begun ? reader_next(r, p) : 0;

	/* open has already read the start. */
	r->begun = true;
	if (!err)
		snapshot_copy(s, &r->state);
	return err;
}

const struct capture_ops capture_replay = {
	.name = "replay",
	.open = replay_open,
	.read = replay_read,
	.close = replay_close,
};
