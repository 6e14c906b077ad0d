// SPDX-License-Identifier: GPL-2.0-only
/* Replays a script; replay_script.h describes the language. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "recording/replay.h"
#include "recording/replay_script.h"
#include "util/cleanup.h"

/* The state of a watch that is not in a snapshot. */
struct played_watch {
	u64 completed;		/* since the previous tick */
	s64 starts;		/* other or missing starts since then */
	u64 in_flight;		/* at the previous tick */
	s64 kernel_more;
	u64 kernel_base;	/* completed since the start */
	const struct replay_event *after;	/* of this tick, or NULL */
};

struct script_player {
	struct replay replay;
	struct replay_script script;
	struct device_table devices;	/* the script's */
	struct watch *divided;	/* the script's watches, with their parts */
	u32 parts;		/* of each */
	struct origin origin;
	u32 next;		/* event */
	bool begun;
	struct snapshot state;
	struct slow_ios slow;
	struct played_watch *watches;
};

static void player_close(struct replay *replay)
{
	struct script_player *r = (struct script_player *)replay;

	snapshot_uninit(&r->state);
	slow_ios_uninit(&r->slow);
	replay_script_free(&r->script);
	origin_uninit(&r->origin);
	free(r->watches);
	free(r->divided);
	free(r);
}

static void cleanup_player(struct script_player **r)
{
	if (*r)
		player_close(&(*r)->replay);
}

static u64 series_bytes(const struct script_player *r)
{
	u64 series = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(r->replay.capture.scale));

	return series * BLKLAT_OPS * r->replay.capture.n_watches * r->replay.capture.cpus;
}

/* Sets the state before the first tick. */
static int player_begin(struct script_player *r)
{
	int err = snapshot_init(&r->state, r->replay.capture.n_watches, r->replay.capture.scale);

	if (err)
		return err;
	snapshot_track(&r->state);
	r->watches = calloc(r->replay.capture.n_watches, sizeof(*r->watches));
	if (!r->watches)
		return -ENOMEM;
	/* Any time but 0, which would hide bugs that take a point in time for a duration. */
	r->state.mono_ns = 1000 * NSEC_PER_SEC;
	r->state.wall_ns = r->script.start_ns;
	r->state.idle_gap_ns = r->script.idle_gap_ns;
	for (u32 i = 0; i < r->state.n; i++)
		r->state.w[i].kernel_known = !r->divided[i].part;
	return 0;
}

/* Fills in what is known of a script's origin. */
static int make_origin(struct script_player *r, const char *file)
{
	struct origin known = {
		.file = (char *)file,
		.start_mono_ns = r->state.mono_ns,
		.start_wall_ns = r->state.wall_ns,
		.idle_gap_ns = r->script.idle_gap_ns,
		.finished = true,
	};

	return origin_copy(&r->origin, &known);
}

static int player_open(const struct capture_config *cfg, struct replay **ret, struct problem *p)
{
	struct script_player *r CLEANUP(cleanup_player) = calloc(1, sizeof(*r));
	const char *file = cfg->replay_file;
	int err, scale;
	u32 n;

	if (!r)
		return problem_set(p, -ENOMEM, "%s: no memory", file);
	err = replay_script_read(&r->script, file, p);
	if (err)
		return err;
	scale = replay_scale(cfg, r->script.scale, p);
	if (scale < 0)
		return scale;
	r->parts = blklat_parts(r->script.by, r->script.n_cgroups);
	n = r->script.n_watches * (1 + r->parts);
	err = replay_fits(cfg, n, scale, p);
	if (err)
		return err;
	if (watches_divide(r->script.watches, r->script.n_watches, r->script.by, r->script.n_cgroups, &r->divided, &n))
		return problem_set(p, -ENOMEM, "%s: no memory", file);
	for (u32 i = 0; i < n; i += 1 + r->parts)
		for (u32 c = 0; c < r->script.n_cgroups; c++)
			r->divided[i + BLKLAT_CGROUP_FIRST + c].part = r->script.cgroups[c];
	r->devices = (struct device_table){ .n = r->script.n_devices, .d = r->script.devices };
	r->replay.capture = (struct capture){
		.watches = r->divided,
		.n_watches = n,
		.scale = scale,
		.cpus = r->script.cpus,
		.engine = r->script.engine,
		.devices = &r->devices,
		.origin = &r->origin,
	};
	r->replay.capture.memory_bytes = r->script.memory_bytes ?: series_bytes(r);
	err = player_begin(r) ?: make_origin(r, file);
	if (!err && r->script.slow_most) {
		r->replay.capture.slow = &r->slow;
		err = slow_ios_init(&r->slow, n, r->script.slow_most);
	}
	if (err)
		return problem_set(p, err, "%s: no memory", file);
	*ret = &TAKE(r)->replay;
	return 0;
}

/* The whole that an event belongs to. */
static u32 whole_of(const struct script_player *r, const struct replay_event *e)
{
	return e->watch * (1 + r->parts);
}

static void count_io(struct op_counts *o, u32 scale, const struct replay_event *e)
{
	o->sum_ns += e->n * e->ns;
	o->bytes += e->n * e->bytes;
	o->errors += e->errors;
	hist_put(&o->hist, blklat_cell(e->ns, scale), e->n);
	if (e->ns < o->min_ns)
		o->min_ns = e->ns;
	if (e->ns > o->max_ns)
		o->max_ns = e->ns;
	if (!e->after_idle)
		return;
	o->after_idle_sum_ns += e->n * e->ns;
	hist_put(&o->after_idle, blklat_cell(e->ns, o->after_idle.scale), e->n);
}

static void play_io(struct script_player *r, const struct replay_event *e)
{
	u32 whole = whole_of(r, e), scale = r->replay.capture.scale;

	if (!e->n)
		return;
	count_io(&r->state.w[whole].ops[e->what], scale, e);
	if (r->parts)
		count_io(&r->state.w[whole + e->part].ops[e->what], scale, e);
	r->watches[whole].completed += e->n;
}

/* Counts the completed part of an IO right away, as engines do; its bin is counted later, with the whole IO. */
static void count_sums(struct op_counts *o, const struct replay_event *e)
{
	o->bytes += e->bytes;
	o->errors += e->errors;
}

static void play_part(struct script_player *r, const struct replay_event *e)
{
	u32 whole = whole_of(r, e);

	count_sums(&r->state.w[whole].ops[e->what], e);
	if (r->parts)
		count_sums(&r->state.w[whole + e->part].ops[e->what], e);
}

static void play_account(struct script_player *r, const struct replay_event *e)
{
	u32 whole = whole_of(r, e);

	r->state.w[whole].accounts[e->what] += e->n;
	if (e->what == BLKLAT_REQUEUED || e->what == BLKLAT_OVERWRITTEN)
		r->watches[whole].starts += e->n;
}

/* A device goes away for all of its stages. */
static void play_gone(struct script_player *r, const struct replay_event *e)
{
	const struct device *d = r->replay.capture.watches[whole_of(r, e)].device;

	for (u32 i = 0; i < r->state.n; i++)
		if (r->replay.capture.watches[i].device == d)
			r->state.w[i].gone = true;
}

/* The time of the interval's end is not known yet. Until then an IO's end is stored as the time before it. */
static int play_slow(struct script_player *r, const struct replay_event *e)
{
	int err = 0;

	for (u64 i = 0; i < e->n && !err; i++) {
		struct slow_io io = *e->slow;

		io.watch = whole_of(r, e);
		io.part = r->parts ? r->divided[io.watch + e->part].part : NULL;
		io.cgroup = io.cgroup ? strdup(io.cgroup) : NULL;
		err = e->slow->cgroup && !io.cgroup ? -ENOMEM : slow_ios_add(&r->slow, &io);
	}
	return err;
}

static void end_slow(struct script_player *r)
{
	for (u32 i = 0; i < r->slow.n; i++)
		r->slow.io[i].end_ns += r->state.wall_ns;
	slow_ios_sort(&r->slow);
}

/* Returns 0 or -ENOMEM. */
static int play(struct script_player *r, const struct replay_event *e)
{
	struct watch_counts *w = &r->state.w[whole_of(r, e)];
	struct played_watch *rw = &r->watches[whole_of(r, e)];

	switch (e->kind) {
	case REPLAY_IO:
		play_io(r, e);
		break;
	case REPLAY_PART:
		play_part(r, e);
		break;
	case REPLAY_SLOW:
		return play_slow(r, e);
	case REPLAY_IN_FLIGHT:
		w->in_flight = e->n;
		w->oldest_ns = e->ns;
		w->waited_ns = e->waited_ns;
		break;
	case REPLAY_ACCOUNT:
		play_account(r, e);
		break;
	case REPLAY_STARTS:
		rw->starts += e->more;
		break;
	case REPLAY_AFTER:
		rw->after = e;
		break;
	case REPLAY_KERNEL:
		rw->kernel_more += e->more;
		break;
	case REPLAY_KERNEL_UNKNOWN:
		w->kernel_known = false;
		break;
	case REPLAY_SKIPPED:
		r->state.skipped += e->n;
		break;
	case REPLAY_GONE:
		play_gone(r, e);
		break;
	case REPLAY_TICK:
		r->state.mono_ns += e->ns;
		r->state.wall_ns = e->more;
		break;
	}
	return 0;
}

/* The starts that an interval implies. IOs that left without completing don't make it negative. */
static s64 implied_starts(const struct played_watch *rw, u64 in_flight)
{
	u64 ended = rw->completed + in_flight;

	return rw->starts + (s64)(ended > rw->in_flight ? ended - rw->in_flight : 0);
}

static void settle_watch(struct watch_counts *w, struct played_watch *rw, enum blklat_stage stage)
{
	s64 started = (s64)w->started + implied_starts(rw, w->in_flight), kernel_ios;
	u64 ended;

	w->started = started > 0 ? started : 0;
	w->started_after = w->started;
	w->in_flight_after = w->in_flight;
	if (rw->after) {
		w->started_after += rw->after->n;
		if (rw->after->what)
			w->in_flight_after = rw->after->in_flight;
	}
	/* Bios have no slots; their starts are counted in an account. */
	if (stage == BLKLAT_STAGE_TOTAL)
		w->accounts[BLKLAT_STARTED] = w->started;
	rw->kernel_base += rw->completed;
	kernel_ios = rw->kernel_base + rw->kernel_more;
	w->kernel_ios = w->kernel_known && kernel_ios > 0 ? kernel_ios : 0;
	/* IOs that only the kernel has counted are no longer in flight there. */
	ended = rw->kernel_more > 0 ? rw->kernel_more : 0;
	w->kernel_in_flight = w->kernel_known && w->in_flight > ended ? w->in_flight - ended : 0;
	rw->in_flight = w->in_flight;
	rw->completed = 0;
	rw->starts = 0;
	rw->after = NULL;
}

static int player_read(struct replay *replay, struct snapshot *s, struct problem *p)
{
	struct script_player *r = (struct script_player *)replay;
	const struct replay_event *e;

	if (r->begun && r->next == r->script.n_events)
		return problem_set(p, -ENODATA, "the replay is at its end");
	replay_begin_interval(&r->state);
	if (replay->capture.slow)
		slow_ios_clear(&r->slow);
	if (r->begun) {
		do {
			e = &r->script.events[r->next++];
			if (play(r, e))
				return problem_set(p, -ENOMEM, "out of memory");
		} while (e->kind != REPLAY_TICK);
		end_slow(r);
		for (u32 i = 0; i < r->state.n; i += 1 + r->parts)
			settle_watch(&r->state.w[i], &r->watches[i], replay->capture.watches[i].stage);
	}
	r->begun = true;
	snapshot_copy(s, &r->state);
	return 0;
}

const struct replay_source replay_script_source = {
	.open = player_open,
	.read = player_read,
	.close = player_close,
};
