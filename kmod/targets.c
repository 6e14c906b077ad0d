// SPDX-License-Identifier: GPL-2.0-only
#include "targets.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "kernel.h"
#include "parts.h"
#include "probe.h"
#include "slow.h"

int blklat_targets_new(struct blklat_session *s, u32 wholes)
{
	u32 i;

	/* A watch has up to two keys; twice as many buckets keep searches short. */
	s->buckets = roundup_pow_of_two(4 * wholes);
	s->shift = 64 - ilog2(s->buckets);
	s->targets = kvcalloc(s->buckets, sizeof(*s->targets), BLKLAT_GFP);
	s->numbers = kvcalloc(s->buckets, sizeof(*s->numbers), BLKLAT_GFP);
	if (!s->targets || !s->numbers)
		return -ENOMEM;
	for (i = 0; i < s->buckets; i++)
		s->targets[i].key = s->targets[i].plain_key = BLKLAT_NO_KEY;
	return 0;
}

struct blklat_target *blklat_find_target(const struct blklat_session *s, const void *key)
{
	u32 i = blklat_bucket_of(s, key), n;

	for (n = 0; n <= READ_ONCE(s->reach); n++) {
		const void *found = READ_ONCE(s->targets[i].key);

		if (found == key)
			return &s->targets[i];
		if (found == BLKLAT_NO_KEY)
			break;
		i = blklat_next_bucket(s, i);
	}
	return NULL;
}

/* Whether a watch has it; @but: which is not at this stage. */
static bool is_used(const struct blklat_target *t, u32 but)
{
	u32 stage;

	for (stage = 0; stage < BLKLAT_STAGES; stage++)
		if (stage != but && t->watch[stage])
			return true;
	return false;
}

/* There is one, as there are twice as many buckets as targets. */
static struct blklat_target *free_target(struct blklat_session *s, const void *key)
{
	u32 i = blklat_bucket_of(s, key), n;

	for (n = 0; is_used(&s->targets[i], BLKLAT_STAGES); n++)
		i = blklat_next_bucket(s, i);
	WRITE_ONCE(s->reach, max(s->reach, n));
	return &s->targets[i];
}

/* --- a watch comes ------------------------------------------------------------------------- */

int blklat_entry_check(struct blklat_session *s, const struct blklat_watch *watch, const struct blklat_device *d)
{
	struct blklat_entry other;
	int err = blklat_watch_check(watch, s->n_slots);

	if (err)
		return err;
	if (watch->number >= s->watches / (1 + s->parts))
		return -EINVAL;
	if (!blklat_entry_find(s, watch->number, &other))
		return -EEXIST;
	if (!s->stages[watch->stage] || (s->requests_only && d->partition))
		return -ENOSPC;
	return watch->stage == BLKLAT_STAGE_TOTAL && d->hides_splits && !s->hides_splits ? -ENOSPC : 0;
}

/*
 * The keys by which IO at @stage is found: requests by queue, bios by disk, both by partition. Ends first, then
 * starts.
 */
static int keys_of(const struct blklat_session *s, const struct blklat_device *d, u32 stage, const void *ret[2])
{
	int n = 0;

	if (!BLKLAT_OF_BIOS(stage) && !d->queue)
		return -EOPNOTSUPP;
	if (d->partition) {
		if (BLKLAT_OF_BIOS(stage) && !BLKLAT_BIO_HAS_BDEV)
			return -EOPNOTSUPP;
		ret[n++] = d->part;
		return n;
	}
	/* What ends with a request of the queue is a bio of stage total. */
	if (d->queue && stage != BLKLAT_STAGE_WAIT)
		ret[n++] = d->queue;
	/* Notes on senders need the disk of each bio, at any stage. */
	if (BLKLAT_OF_BIOS(stage) || (s->slow && s->slow->notes))
		ret[n++] = d->disk;
	return n;
}

static u32 distance_of(const struct blklat_watch *w)
{
	return w->shared_tags ? 0 : w->stride;
}

/* The stages of one device that have slots share them. */
static bool fits(const struct blklat_target *t, const struct blklat_watch *w)
{
	return BLKLAT_OF_BIOS(w->stage) || !t->queues ||
	       (t->queues == w->queues && t->stride == w->stride && t->distance == distance_of(w) &&
		t->first_slot == w->first_slot);
}

/* NULL: it gets a new one, also if there is one that another device had, which was removed. */
static int existing_target(const struct blklat_session *s, const void *key, const struct blklat_watch *w,
			   struct blklat_target **ret)
{
	*ret = blklat_find_target(s, key);
	if (*ret && !blklat_is_open(*ret, BLKLAT_ALL_STARTS))
		*ret = NULL;
	if (*ret && (*ret)->watch[w->stage])
		return -EEXIST;
	return *ret && !fits(*ret, w) ? -EINVAL : 0;
}

/* Whether the watch before it is that of stage total. */
static bool follows_total(const struct blklat_session *s, const struct blklat_entry *e)
{
	const struct blklat_target *t = e->target[e->n - 1];

	return t && t->watch[BLKLAT_STAGE_TOTAL] && e->watch == t->watch[BLKLAT_STAGE_TOTAL] + 1 + s->parts;
}

static void fill(struct blklat_target *t, const struct blklat_watch *w, u32 watch)
{
	t->watch[w->stage] = watch;
	if (BLKLAT_OF_BIOS(w->stage))
		return;
	t->first_slot = w->first_slot;
	t->stride = w->stride;
	t->distance = distance_of(w);
	t->queues = w->queues;
}

/* Prepares the session for a watch of @d, and forgets what it knows of an earlier one with this number. */
static void prepare(struct blklat_session *s, u32 watch, u32 stage, const struct blklat_device *d)
{
	s->stages[stage] = true;
	s->partitions |= d->partition;
	if (s->in_flight)
		s->in_flight[watch - 1] = (struct blklat_in_flight){};
	if (s->bios_seen_ns)
		s->bios_seen_ns[watch - 1] = 0;
	/* A device without requests may pass its bios on unchanged (nvme multipath, md raid0). */
	s->bios_anywhere |= stage == BLKLAT_STAGE_TOTAL && d->passes_bios_on;
	s->hides_splits |= stage == BLKLAT_STAGE_TOTAL && d->hides_splits;
}

int blklat_entry_add(struct blklat_session *s, const struct blklat_watch *watch, const struct blklat_device *d,
		     struct blklat_entry *ret)
{
	int err = blklat_watch_check(watch, s->n_slots), n, i;

	if (err)
		return err;
	n = keys_of(s, d, watch->stage, ret->key);
	if (n < 0)
		return n;
	ret->watch = watch->number * (1 + s->parts) + 1;
	ret->stage = watch->stage;
	ret->n = n;
	for (i = 0; i < n && !err; i++)
		err = existing_target(s, ret->key[i], watch, &ret->target[i]);
	if (!err && watch->stage == BLKLAT_STAGE_WAIT && !follows_total(s, ret))
		err = -EINVAL;
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		if (!ret->target[i]) {
			ret->target[i] = free_target(s, ret->key[i]);
			WRITE_ONCE(s->numbers[ret->target[i] - s->targets], d->number);
		}
		fill(ret->target[i], watch, ret->watch);
	}
	prepare(s, ret->watch, watch->stage, d);
	return 0;
}

void blklat_entry_show(struct blklat_session *s, const struct blklat_entry *e)
{
	u32 i;

	for (i = 0; i < e->n; i++) {
		struct blklat_target *t = e->target[i], *old = blklat_find_target(s, e->key[i]);

		if (old && old != t)
			WRITE_ONCE(old->key, BLKLAT_OLD_KEY);
		smp_mb__before_atomic();	/* the end of a bio whose start is seen is seen as well */
		atomic_or(BLKLAT_STARTS(e->stage) | BLKLAT_ENDS(e->stage), &t->open);
		smp_store_release(&t->key, e->key[i]);
		if (s->requests_only && !s->marks)
			WRITE_ONCE(t->plain_key, e->key[i]);
	}
}

/* --- a watch goes -------------------------------------------------------------------------- */

int blklat_entry_find(struct blklat_session *s, u32 whole, struct blklat_entry *ret)
{
	u32 i, stage;

	*ret = (struct blklat_entry){ .watch = whole * (1 + s->parts) + 1 };
	for (i = 0; whole < s->watches && i < s->buckets; i++)
		for (stage = 0; stage < BLKLAT_STAGES; stage++)
			if (s->targets[i].watch[stage] == ret->watch) {
				ret->stage = stage;
				ret->target[ret->n++] = &s->targets[i];
			}
	return ret->n ? 0 : -EINVAL;
}

static void hide(struct blklat_session *s, const struct blklat_entry *e)
{
	u32 i;

	/*
	 * Bios in flight will end with requests of a queue that is not found. A probe that does not find it has to
	 * know.
	 */
	if (e->stage == BLKLAT_STAGE_TOTAL && !s->bios_anywhere) {
		WRITE_ONCE(s->bios_anywhere, true);
		blklat_probe_wait_now();
	}
	for (i = 0; i < e->n; i++) {
		struct blklat_target *t = e->target[i];

		if (!is_used(t, e->stage)) {
			WRITE_ONCE(t->key, BLKLAT_OLD_KEY);
			WRITE_ONCE(t->plain_key, BLKLAT_NO_KEY);
			WRITE_ONCE(s->numbers[t - s->targets], 0);
		}
		atomic_andnot(BLKLAT_STARTS(e->stage) | BLKLAT_ENDS(e->stage), &t->open);
	}
}

void blklat_entry_remove(struct blklat_session *s, const struct blklat_entry *e)
{
	u32 i;

	hide(s, e);
	blklat_probe_wait_now();
	for (i = 0; i < e->n; i++) {
		struct blklat_target *t = e->target[i];

		t->watch[e->stage] = 0;
		if (!is_used(t, BLKLAT_STAGE_TOTAL))
			t->queues = 0;
		if (!is_used(t, BLKLAT_STAGES))
			t->seen_ns = 0;
	}
}

/* --- a watch gets other slots -------------------------------------------------------------- */

int blklat_entry_move(struct blklat_session *s, const struct blklat_entry *e, const struct blklat_move *move)
{
	const struct blklat_watch w = {
		.stage = e->stage, .queues = move->queues, .stride = move->stride, .first_slot = move->first_slot,
		.shared_tags = move->shared_tags,
	};
	/* What is counted of IOs in flight can't be taken off, as their ends are not seen. */
	int err = BLKLAT_OF_BIOS(e->stage) || s->in_flight ? -EINVAL : blklat_watch_check(&w, s->n_slots);
	u32 i;

	if (err)
		return err;
	/* No probe may see the old number of queues with new slots, or the new one with old slots. */
	for (i = 0; i < e->n; i++)
		WRITE_ONCE(e->target[i]->queues, 0);
	blklat_probe_wait_now();
	for (i = 0; i < e->n; i++) {
		e->target[i]->stride = move->stride;
		e->target[i]->distance = distance_of(&w);
		e->target[i]->first_slot = move->first_slot;
	}
	blklat_probe_wait_now();
	for (i = 0; i < e->n; i++)
		WRITE_ONCE(e->target[i]->queues, move->queues);
	return 0;
}
