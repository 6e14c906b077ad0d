// SPDX-License-Identifier: GPL-2.0-only
#include "engine/room.h"

#include <errno.h>
#include <string.h>

#include "blklat/parts.h"
#include "engine/halts.h"
#include "util/cleanup.h"

/* The number of watches, from @first on, of the same device. */
static u32 same_device(const struct kernel_capture *k, u32 first)
{
	return watches_of_device(&k->capture.watches[first], k->capture.n_watches - first);
}

/* --- slots ----------------------------------------------------------------------------------- */

static bool is_free(const struct kernel_capture *k, u32 first, u32 n, u32 *ret_behind)
{
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		const struct region_slots *s = &k->region.ranges[i];

		if (s->n && first < s->first + s->n && s->first < first + n) {
			*ret_behind = s->first + s->n;
			return false;
		}
	}
	return true;
}

/* Finds @n slots that no watch has. Returns 0 or -ENOSPC. */
static int find_slots(const struct kernel_capture *k, u32 n, u32 *ret)
{
	u32 first = 0;

	while (n <= k->region.n_slots && first <= k->region.n_slots - n)
		if (is_free(k, first, n, &first)) {
			*ret = first;
			return 0;
		}
	return -ENOSPC;
}

/* The range of watch @i, if its device has the slots from @first on. */
static struct region_slots range_of(const struct kernel_capture *k, u32 i, const struct slots *s, u32 first)
{
	enum blklat_stage stage = k->capture.watches[i].stage;

	if (k->capture.watches[i].part || BLKLAT_OF_BIOS(stage))
		return (struct region_slots){ 0 };
	return (struct region_slots){ .first = first, .n = slots_count(s), .queue = stage == BLKLAT_STAGE_QUEUE };
}

/* The @n watches from @at on are those of a device. */
static void place(struct kernel_capture *k, u32 at, u32 n, u32 first)
{
	struct slots s = slots_of(k->capture.watches[at].device);

	for (u32 i = at; i < at + n; i++) {
		k->slots[i] = s;
		k->region.ranges[i] = range_of(k, i, &s, first);
	}
}

u32 room_place(struct kernel_capture *k)
{
	u32 first = 0;

	for (u32 i = 0, n; i < k->capture.n_watches; i += n) {
		n = same_device(k, i);
		place(k, i, n, first);
		first += slots_for(k->capture.watches, i, i + n);
	}
	return first;
}

/* --- devices that come ----------------------------------------------------------------------- */

/* Whether the watches of another device may take the place of @i and the next ones of its whole. */
static bool is_left(const struct kernel_capture *k, u32 i)
{
	const struct watch_state *g = &k->state[i];

	if (!g->gone || !g->told || !g->left)
		return false;
	/* Bios that still refer to a watch would be counted there when they end. */
	for (u32 part = i; part < next_whole(k, i); part++)
		if (k->bios[part].in_flight)
			return false;
	return true;
}

/* Finds a place for @n watches. Returns 0 or -ENOSPC. */
static int find_place(const struct kernel_capture *k, u32 n, u32 *ret)
{
	u32 free = 0, i = 0;

	for (; i < k->capture.n_watches; i = next_whole(k, i)) {
		free = is_left(k, i) ? free + 1 + k->parts : 0;
		if (free == n) {
			*ret = next_whole(k, i) - n;
			return 0;
		}
	}
	*ret = k->capture.n_watches;
	return n <= k->capture.room - k->capture.n_watches ? 0 : -ENOSPC;
}

/* What is known of the watches begins anew. */
static void forget(struct kernel_capture *k, u32 at, u32 n)
{
	for (u32 i = at; i < at + n; i++) {
		region_clear(&k->region, i);
		snapshot_uninit(&k->state[i].frozen);
		device_files_close(&k->state[i].files);
		k->state[i] = (struct watch_state){
			.files = DEVICE_FILES_NONE, .slow_counted = k->slow_untold ? k->slow_untold[i] : 0,
		};
		k->bios[i] = (struct bio_counts){ 0 };
		for (u32 op = i * BLKLAT_OPS; k->slow_from && op < (i + 1) * BLKLAT_OPS; op++)
			k->slow_from[op] = UINT64_MAX;
	}
}

/* The watches at @at are not used: others may take their place. */
static void leave(struct kernel_capture *k, u32 at, u32 n)
{
	for (u32 i = at; i < at + n; i++) {
		k->state[i].gone = k->state[i].told = k->state[i].left = true;
		device_files_close(&k->state[i].files);
		k->region.ranges[i].n = 0;
	}
}

/* What the watches at @at were, for frames that still tell of them. */
struct left {
	struct watch watch;
	struct watch_state state;
};

int room_add(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p)
{
	struct kernel_capture *k = (struct kernel_capture *)c;
	u32 slots = slots_for(w, 0, n), at, first = 0, had = c->n_watches;
	struct left *was CLEANUP(cleanup_free) = calloc(n, sizeof(*was));
	int err = find_place(k, n, &at);

	if (!was)
		return problem_set(p, -ENOMEM, "out of memory");
	if (!err && slots)
		err = find_slots(k, slots, &first);
	if (err)
		return problem_set(p, err, "there is no room for %s beside the devices that are watched", w->device->name);
	for (u32 i = 0; i < n; i++) {
		was[i] = (struct left){ c->watches[at + i], k->state[at + i] };
		k->state[at + i].frozen = (struct snapshot){ 0 };
	}
	forget(k, at, n);
	region_clear_slots(&k->region, first, slots);
	memcpy(&c->watches[at], w, n * sizeof(*w));
	if (at + n > c->n_watches)
		c->n_watches = at + n;
	place(k, at, n, first);
	kernel_capture_note_statistics(k, at, n);
	err = k->hooks->add(k, at, n, p);
	for (u32 i = 0; i < n; i++) {
		if (!err || at + i >= had) {
			snapshot_uninit(&was[i].state.frozen);
			continue;
		}
		c->watches[at + i] = was[i].watch;
		was[i].state.files = k->state[at + i].files;
		was[i].state.slow_counted = k->state[at + i].slow_counted;
		k->state[at + i] = was[i].state;
	}
	if (err) {
		leave(k, at, n);
		c->n_watches = had;
		return err;
	}
	kernel_capture_check_statistics(k, at, n);
	*ret = at;
	return 0;
}

/* --- devices that go ------------------------------------------------------------------------- */

void room_remove_gone(struct kernel_capture *k)
{
	bool any = false;

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		if (k->state[i].gone && !k->state[i].removed) {
			k->hooks->remove(k, i);
			k->state[i].removed = any = true;
		}
	/*
	 * Without that, nobody knows when the last IO has been counted there, so nothing takes its place. Bios that
	 * began since they were last counted must not be overlooked either.
	 */
	if (any && k->wait) {
		k->wait(k);
		k->hooks->count_bios(k);
	}
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		k->state[i].left |= k->state[i].removed && k->wait;
		/* Its last figures have been read. */
		if (k->state[i].left && k->state[i].told)
			k->region.ranges[i].n = 0;
	}
}

/* --- devices that get more tags -------------------------------------------------------------- */

/*
 * Looks at the devices that lost IOs for that reason, and at one more each time. Returns the first watch of one that
 * has outgrown its slots, and that device as it is now; or -1.
 */
static int find_outgrown(struct kernel_capture *k, const struct snapshot *s, struct device *now)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		const struct watch *w = &k->capture.watches[i];
		bool lost = s->w[i].accounts[BLKLAT_TAG_RANGE] != k->state[i].told_tag_range;

		k->state[i].told_tag_range = s->w[i].accounts[BLKLAT_TAG_RANGE];
		if (k->state[i].gone || !k->region.ranges[i].n || !(lost || i == k->turn))
			continue;
		*now = *w->device;
		if (device_read_queue(k->capture.devices, now) || slots_fit(&k->slots[i], now))
			continue;
		while (i && k->capture.watches[i - 1].device == w->device)
			i--;
		return i;
	}
	k->turn = k->turn < s->n ? next_whole(k, k->turn) : 0;
	return -1;
}

static int move(struct kernel_capture *k, u32 at, const struct device *now)
{
	struct slots s = slots_of(now);
	u32 n = same_device(k, at), slots = slots_count(&s), first;
	int err;

	/* IOs in flight are counted by kind, and those whose end is not seen could not be taken off again. */
	if (blklat_counts_in_flight(k->by))
		return -ENOSPC;
	err = find_slots(k, slots, &first);
	if (err)
		return err;
	region_clear_slots(&k->region, first, slots);
	err = k->hooks->move(k, at, n, &s, first);
	for (u32 i = at; !err && i < at + n; i++) {
		struct region_slots range = range_of(k, i, &s, first);

		k->slots[i] = s;
		if (range.n)
			region_move(&k->region, i, range.first, range.n);
	}
	return err;
}

void room_move_outgrown(struct kernel_capture *k, const struct snapshot *s)
{
	struct device now;
	int at = find_outgrown(k, s, &now);

	k->capture.outgrown = at < 0 ? NULL : k->capture.watches[at].device;
	k->capture.outgrown_err = at < 0 ? 0 : move(k, at, &now);
}
