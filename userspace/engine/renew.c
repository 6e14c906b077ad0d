// SPDX-License-Identifier: GPL-2.0-only
/* A capture that gets more room when a device has outgrown it; see capture_open(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/carry.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define PATIENCE 10			/* for how many reads an IO in flight can hold up a new capture */
#define RETRY_NS (60 * NSEC_PER_SEC)	/* after it could not be opened */

/* One of the captures that do the counting, the first one or a later one. */
struct generation {
	struct capture *capture;
	struct device_table devices;	/* as they were when it was opened */
	struct snapshot read;		/* in the first generation empty until there is a next one */
	u32 *ours;			/* for each of its watches, the number that the user knows */
	u64 opened_ns;
};

struct renewing {
	struct capture capture;		/* what the user sees */
	struct capture_ops ops;		/* the engine's, except for read and close */
	const struct capture_ops *engine;
	struct capture_config cfg;
	void (*renewed)(const struct capture_renewal *r);
	struct generation *now;
	struct generation *next;	/* larger, and about to take over; NULL: none */
	struct capture_renewal renewal;	/* the one under way */
	u32 waited;			/* reads spent waiting for IOs that were in flight when the next one was opened */
	u64 retry_ns;			/* do not try again before */
	struct snapshot carry;		/* to be added to each read; all the counts of watches that are gone; or empty */
	struct slow_ios slow;		/* reported by any of the captures, with our numbers */
	u64 *slow_from;			/* see live_ops.set_slow */
	u64 *tag_range;			/* of each watch, as last reported */
	u32 turn;			/* the next watch to be checked without a reason */
};

static struct kernel_capture *kernel_of(const struct generation *g)
{
	return (struct kernel_capture *)g->capture;
}

static void free_generation(struct generation *g)
{
	if (!g)
		return;
	if (g->capture)
		g->capture->ops->close(g->capture);
	snapshot_uninit(&g->read);
	device_table_free(&g->devices);
	free(g->ours);
	free(g);
}

static void cleanup_generation(struct generation **g)
{
	free_generation(*g);
}

/* --- opening a larger capture -------------------------------------------------------------- */

/*
 * Checks the watches that lost IOs for it, and one more watch each time. Returns a watch that has
 * outgrown its slots, or -1.
 */
static int find_outgrown(struct renewing *r)
{
	struct generation *g = r->now;

	for (u32 i = 0; i < g->capture->n_watches; i++) {
		u32 ours = g->ours[i];
		u64 told = r->tag_range[ours] - (r->carry.n ? r->carry.w[ours].accounts[BLKLAT_TAG_RANGE] : 0);

		if (g->capture->watches[i].part)
			continue;
		if ((region_account(&kernel_of(g)->region, i, BLKLAT_TAG_RANGE) != told || i == r->turn) &&
		    !capture_fits(g->capture, i))
			return i;
	}
	r->turn = next_whole(kernel_of(g), r->turn) % g->capture->n_watches;
	return -1;
}

/* Lists the watches that are not gone, with their devices as they are now. */
static u32 choose_watches(const struct renewing *r, struct generation *g, struct watch *watches)
{
	const struct capture *now = r->now->capture;
	u32 n = 0;

	for (u32 i = 0; i < now->n_watches; i++) {
		const struct watch *w = &r->capture.watches[r->now->ours[i]];
		struct device *d = &g->devices.d[w->device - r->cfg.devices->d];

		if (kernel_of(r->now)->gone[whole_of(kernel_of(r->now), i)].gone)
			continue;
		if (!w->part)
			device_read_queue(&g->devices, d);
		g->ours[n] = r->now->ours[i];
		watches[n] = *w;
		watches[n++].device = d;
	}
	return n;
}

/* The kernel's count of IOs has to begin with the first capture. */
static void keep_kernel_base(const struct generation *from, struct generation *to)
{
	for (u32 i = 0, j = 0; j < to->capture->n_watches; i++)
		if (from->ours[i] == to->ours[j])
			kernel_of(to)->ios[j++].base = kernel_of(from)->ios[i].base;
}

/*
 * Until there is a second capture, the user gets the first one's reads directly. Most captures never need more memory.
 */
static int make_room(struct renewing *r)
{
	int err = 0;

	if (!r->now->read.n)
		err = snapshot_init(&r->now->read, r->now->capture->n_watches, r->capture.scale);
	if (!err && !r->carry.n)
		err = snapshot_init(&r->carry, r->capture.n_watches, r->capture.scale);
	return err;
}

static void set_slow(const struct renewing *r, struct generation *g)
{
	u64 *from_ns CLEANUP(cleanup_free) = calloc((size_t)g->capture->n_watches * BLKLAT_OPS, sizeof(*from_ns));

	/* If there is no memory, its limits stay as they are. */
	for (u32 i = 0; from_ns && i < g->capture->n_watches; i++)
		memcpy(&from_ns[i * BLKLAT_OPS], &r->slow_from[g->ours[i] * BLKLAT_OPS], BLKLAT_OPS * sizeof(*from_ns));
	if (from_ns)
		g->capture->live->set_slow(g->capture, from_ns);
}

static int take_slow(struct renewing *r, struct generation *g, struct slow_span span)
{
	return g->capture->slow ? slow_ios_move(&r->slow, g->capture->slow, g->ours, span) : 0;
}

static int open_next(struct renewing *r, struct problem *p)
{
	struct generation *g CLEANUP(cleanup_generation) = calloc(1, sizeof(*g));
	struct watch *watches CLEANUP(cleanup_free) = calloc(r->capture.n_watches, sizeof(*watches));
	struct capture_config cfg = r->cfg;
	int err = -ENOMEM;

	if (g && watches)
		g->ours = calloc(r->capture.n_watches, sizeof(*g->ours));
	if (!g || !g->ours || make_room(r) || device_table_copy(&g->devices, r->cfg.devices))
		return problem_set(p, err, "out of memory");
	cfg.devices = &g->devices;
	cfg.watches = watches;
	cfg.n_watches = choose_watches(r, g, watches);
	cfg.scale = r->capture.scale;
	err = r->engine->open(&cfg, &g->capture, p);
	if (err)
		return err;
	g->opened_ns = now_ns();
	keep_kernel_base(r->now, g);
	if (r->slow_from)
		set_slow(r, g);
	err = snapshot_init(&g->read, cfg.n_watches, cfg.scale);
	if (err)
		return problem_set(p, err, "out of memory");
	r->next = TAKE(g);
	r->waited = 0;
	return 0;
}

static void look_for_more(struct renewing *r)
{
	struct capture_renewal *n = &r->renewal;
	int i;

	if (r->next || now_ns() < r->retry_ns)
		return;
	i = find_outgrown(r);
	if (i < 0)
		return;
	*n = (struct capture_renewal){ .device = r->capture.watches[r->now->ours[i]].device };
	n->err = open_next(r, &n->problem);
	if (!n->err)
		return;
	r->retry_ns = now_ns() + RETRY_NS;
	r->renewed(n);
}

/* --- taking over --------------------------------------------------------------------------- */

/* Has the next capture seen the starts of all IOs in flight? */
static bool settled(const struct renewing *r)
{
	const struct snapshot *s = &r->now->read;

	for (u32 i = 0; i < s->n; i++)
		if (!s->w[i].gone && s->w[i].in_flight && s->w[i].oldest_ns > s->mono_ns - r->next->opened_ns)
			return false;
	return true;
}

/* Watches that are not in the next capture stay as they were last read. */
static void finish_gone(struct renewing *r, struct carried *list)
{
	const struct generation *from = r->now, *to = r->next;
	u32 j = 0;

	for (u32 i = 0; i < from->capture->n_watches; i++) {
		struct watch_counts *carry = &r->carry.w[from->ours[i]];

		if (j < to->capture->n_watches && to->ours[j] == from->ours[i]) {
			list[j] = (struct carried){
				.of = kernel_of(from), .from = i, .to = j, .carry = carry,
				.read_from = &from->read.w[i], .read_to = &to->read.w[j],
			};
			j++;
			continue;
		}
		carry_add(carry, &from->read.w[i]);
		carry->started_after = carry->started;
		carry->in_flight = carry->in_flight_after = from->read.w[i].in_flight;
		carry->oldest_ns = from->read.w[i].oldest_ns;
		carry->kernel_known = false;
		carry->gone = true;
		carry->replaced = from->read.w[i].replaced;
	}
}

/*
 * The next capture is read first, so that each IO is in the extremes of one of the two, and once more
 * when it has taken over.
 */
static int take_over(struct renewing *r, struct problem *p)
{
	u32 n = r->next->capture->n_watches;
	struct carried *list CLEANUP(cleanup_free) = calloc(n, sizeof(*list));
	struct generation *next = r->next, *old = r->now;
	int err = list ? 0 : -ENOMEM;
	u64 until_ns;

	if (!err)
		finish_gone(r, list);
	err = err ?: carry_over(kernel_of(next), list, n, &r->renewal.gap_ns);
	if (err)
		return problem_set(p, err, "out of memory");
	/*
	 * Slow IOs that ended up to this moment come from the old capture, later ones from the next.
	 * The moment lies a little in the past, as the report of an IO may come a while after its end.
	 */
	until_ns = old->capture->slow_ns - CAPTURE_SLOW_TOLD_NS;
	err = take_slow(r, old, (struct slow_span){ 0, until_ns, true }) ?: take_slow(r, next, (struct slow_span){ until_ns, UINT64_MAX, false });
	if (err)
		return problem_set(p, err, "out of memory");
	err = next->capture->ops->read(next->capture, &next->read, p);
	if (err)
		return err;
	for (u32 j = 0; j < n; j++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			op_counts_add_extremes(&next->read.w[j].ops[op], &old->read.w[list[j].from].ops[op]);
		carry_keep_told(r->tag_range[next->ours[j]], next->read.w[j].accounts[BLKLAT_TAG_RANGE], list[j].carry);
	}
	r->carry.skipped += old->read.skipped - next->read.skipped;
	r->capture.memory_bytes = next->capture->memory_bytes;
	r->now = TAKE(r->next);
	err = take_slow(r, r->now, (struct slow_span){ until_ns, UINT64_MAX, true });
	free_generation(old);
	r->renewed(&r->renewal);
	return err ? problem_set(p, err, "out of memory") : 0;
}

/* --- the capture --------------------------------------------------------------------------- */

/* IOs that the next capture may still count are not reported as lost. */
static void spare_waiting(const struct renewing *r, struct snapshot *s)
{
	const struct generation *now = r->now, *next = r->next;

	for (u32 i = 0, j = 0; next && j < next->capture->n_watches; i++) {
		u64 *told = &s->w[now->ours[i]].accounts[BLKLAT_TAG_RANGE], before = r->tag_range[now->ours[i]];

		if (now->ours[i] != next->ours[j])
			continue;
		*told -= carry_waiting(kernel_of(now), i, kernel_of(next), j++);
		if ((s64)(*told - before) < 0)
			*told = before;
	}
}

static void compose(struct renewing *r, struct snapshot *s)
{
	const struct generation *g = r->now;

	/* Watches that are gone consist of carry only. */
	snapshot_copy(s, &r->carry);
	s->mono_ns = g->read.mono_ns;
	s->wall_ns = g->read.wall_ns;
	s->idle_gap_ns = g->read.idle_gap_ns;
	s->skipped += g->read.skipped;
	for (u32 i = 0; i < g->read.n; i++) {
		struct watch_counts *w = &s->w[g->ours[i]];

		watch_counts_copy(w, &g->read.w[i]);
		carry_add(w, &r->carry.w[g->ours[i]]);
	}
	spare_waiting(r, s);
}

static int read_with_carry(struct renewing *r, struct snapshot *s, struct problem *p)
{
	struct capture *now = r->now->capture;
	int err = 0;

	if (r->next)
		err = r->next->capture->ops->read(r->next->capture, &r->next->read, p);
	err = err ?: now->ops->read(now, &r->now->read, p);
	if (!err && r->next && (settled(r) || ++r->waited > PATIENCE))
		err = take_over(r, p);
	if (!err)
		compose(r, s);
	return err;
}

static int renewing_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct renewing *r = (struct renewing *)c;
	int err;

	look_for_more(r);
	if (r->capture.slow)
		slow_ios_clear(&r->slow);
	err = r->carry.n ? read_with_carry(r, s, p) : r->now->capture->ops->read(r->now->capture, s, p);
	if (!err && take_slow(r, r->now, SLOW_ALL))
		err = problem_set(p, -ENOMEM, "out of memory");
	slow_ios_sort(&r->slow);
	for (u32 i = 0; !err && i < s->n; i++)
		r->tag_range[i] = s->w[i].accounts[BLKLAT_TAG_RANGE];
	/* A read may have named parts by cgroup. */
	for (u32 i = 0; i < r->now->capture->n_watches; i++)
		r->capture.watches[r->now->ours[i]].part = r->now->capture->watches[i].part;
	return err;
}

static void renewing_look(struct capture *c)
{
	struct renewing *r = (struct renewing *)c;

	r->now->capture->live->look(r->now->capture);
	if (r->next)
		r->next->capture->live->look(r->next->capture);
}

static void renewing_set_slow(struct capture *c, const u64 *from_ns)
{
	struct renewing *r = (struct renewing *)c;

	memcpy(r->slow_from, from_ns, (size_t)c->n_watches * BLKLAT_OPS * sizeof(*from_ns));
	set_slow(r, r->now);
	if (r->next)
		set_slow(r, r->next);
}

static const struct live_ops renewing_live = { .look = renewing_look, .set_slow = renewing_set_slow };

static void renewing_close(struct capture *c)
{
	struct renewing *r = (struct renewing *)c;

	if (!r)
		return;
	free_generation(r->next);
	free_generation(r->now);
	snapshot_uninit(&r->carry);
	free(r->tag_range);
	free(r->slow_from);
	slow_ios_uninit(&r->slow);
	free(r->capture.watches);
	free(r);
}

static int take_first(struct renewing *r, const struct capture_config *cfg, struct capture *c)
{
	struct generation *g = r->now = calloc(1, sizeof(*g));
	u32 n = c->n_watches;

	if (!g) {
		c->ops->close(c);
		return -ENOMEM;
	}
	g->capture = c;
	g->ours = calloc(n, sizeof(*g->ours));
	r->tag_range = calloc(n, sizeof(*r->tag_range));
	r->capture = *c;
	r->capture.ops = &r->ops;
	r->capture.live = &renewing_live;
	r->capture.watches = calloc(n, sizeof(*c->watches));
	if (!g->ours || !r->tag_range || !r->capture.watches)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		g->ours[i] = i;
	memcpy(r->capture.watches, c->watches, n * sizeof(*c->watches));
	if (c->slow) {
		r->capture.slow = &r->slow;
		r->slow_from = malloc((size_t)n * BLKLAT_OPS * sizeof(*r->slow_from));
		if (!r->slow_from || slow_ios_init(&r->slow, n, cfg->slow.most))
			return -ENOMEM;
		memset(r->slow_from, 0xff, (size_t)n * BLKLAT_OPS * sizeof(*r->slow_from));
	}
	r->cfg = *cfg;
	r->cfg.watches = NULL;		/* only borrowed while opening */
	return 0;
}

int capture_open(const struct capture_ops *engine, struct capture_config *cfg,
		 void (*renewed)(const struct capture_renewal *r), struct capture **ret, struct problem *p)
{
	struct capture *c;
	struct renewing *r;
	int err = capture_open_present(engine, cfg, &c, p);

	if (err)
		return err;
	*ret = c;
	if (!c->live)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r) {
		c->ops->close(c);
		return problem_set(p, -ENOMEM, "out of memory");
	}
	r->engine = engine;
	r->renewed = renewed;
	r->ops = *engine;
	r->ops.read = renewing_read;
	r->ops.close = renewing_close;
	err = take_first(r, cfg, c);
	if (err) {
		renewing_close(&r->capture);
		return problem_set(p, err, "out of memory");
	}
	*ret = &r->capture;
	return 0;
}
