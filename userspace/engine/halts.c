// SPDX-License-Identifier: GPL-2.0-only
#include "engine/halts.h"

#include "util/clock.h"

/* A number that grows with each IO of the whole that ends. */
static u64 progress(const struct kernel_capture *k, u32 whole)
{
	const struct owns *o = &k->region.owns;
	u64 sums = 0;

	for (u32 row = whole * BLKLAT_OPS; row < next_whole(k, whole) * BLKLAT_OPS; row++) {
		sums += region_progress(&k->region, row);
		for (u32 n = owns_first(o, row); n; n = owns_next(o, n))
			sums += region_progress(&k->region, n);
	}
	return sums;
}

static u64 oldest_start_ns(const struct kernel_capture *k, u32 whole)
{
	u64 earliest_ns = UINT64_MAX;

	for (u32 i = whole; i < next_whole(k, whole); i++)
		earliest_ns = min_u64(earliest_ns, k->bios[i].in_flight ? k->bios[i].earliest_ns : UINT64_MAX);
	return earliest_ns;
}

/*
 * Whether an IO that is in flight now already was at @since_ns. @counted: the bios were counted for another whole at
 * this look.
 */
static bool waits_since(struct kernel_capture *k, u32 whole, u64 since_ns, u64 now, bool *counted)
{
	if (!BLKLAT_OF_BIOS(k->capture.watches[whole].stage))
		return region_oldest_ns(&k->region, whole, now) >= now - since_ns;
	if (!*counted && k->hooks->count_bios(k))
		return false;
	*counted = true;
	return oldest_start_ns(k, whole) <= since_ns;
}

/* Nothing is left of one that was over before a read that was no look of its own. */
static void add(struct halts *h, u64 to_ns)
{
	if (h->n < HALTS_MOST && to_ns > h->from_ns)
		h->done[h->n++] = (struct halt){ h->from_ns, to_ns };
}

static void look(struct kernel_capture *k, u32 whole, u64 now, bool *counted)
{
	struct halts *h = &k->state[whole].halts;
	u64 sums = progress(k, whole);
	bool moves = sums != h->sums, halts;

	/* This soon after the last look that none has ended means little. */
	if (!moves && h->before_ns && now - h->looked_ns < (h->looked_ns - h->before_ns) / 2)
		return;
	h->moved |= moves;
	h->used |= moves;
	halts = h->looked_ns && !moves && h->used && waits_since(k, whole, h->looked_ns, now, counted);
	/* The last IO ended, and the next one will have ended, somewhere between two looks. */
	if (halts && !h->from_ns)
		h->from_ns = h->before_ns ? h->before_ns + (h->looked_ns - h->before_ns) / 2 : h->looked_ns;
	if (!halts && h->from_ns) {
		add(h, h->looked_ns + (moves ? (now - h->looked_ns) / 2 : 0));
		h->from_ns = 0;
	}
	h->sums = sums;
	h->before_ns = h->looked_ns;
	h->looked_ns = now;
}

void halts_look(struct kernel_capture *k, u64 now)
{
	bool counted = false;

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		if (!k->state[i].gone)
			look(k, i, now, &counted);
}

void halts_glance(struct capture *c)
{
	halts_look((struct kernel_capture *)c, now_ns());
}

void halts_read(struct kernel_capture *k, struct snapshot *s)
{
	halts_look(k, s->mono_ns);
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		struct halts *h = &k->state[i].halts;

		if (h->from_ns && !k->state[i].gone) {
			add(h, s->mono_ns);
			h->from_ns = s->mono_ns;
		}
		s->w[i].n_halts = h->n;
		memcpy(s->w[i].halts, h->done, h->n * sizeof(*h->done));
		h->n = 0;
		h->used = h->from_ns || h->moved || s->w[i].in_flight;
		h->moved = false;
	}
}
