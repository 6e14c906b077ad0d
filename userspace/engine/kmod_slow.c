// SPDX-License-Identifier: GPL-2.0-only

#include "engine/geometry.h"
#include "engine/slow.h"

void kmod_slow_size(const struct kernel_capture *k, const struct capture_config *cfg, struct blklat_setup *setup)
{
	const struct slow_room room = slow_room(cfg);

	if (!cfg->slow.wanted)
		return;
	setup->slow_places = room.places;
	setup->notes = slow_wants_notes(k) ? room.notes : 0;
	setup->owners = !cfg->slow.no_owners;
}

void kmod_slow_map(struct kmod_slow *slow, struct kernel_capture *k, const struct capture_config *cfg, struct blklat_header *h)
{
	char *at = (char *)h;

	if (!cfg->slow.wanted)
		return;
	k->slow_from = (void *)(at + h->slow_from_offset);
	k->slow_untold = (void *)(at + h->slow_untold_offset);
	slow->ring = (void *)(at + h->slow_ring_offset);
	slow->places = slow_room(cfg).places;
}

/* The next report if it is complete, else NULL. */
static const struct blklat_slow *told(const struct kmod_slow *slow)
{
	const struct blklat_slow_place *p = &slow->ring->place[slow->next % slow->places];

	return __atomic_load_n(&p->next, __ATOMIC_ACQUIRE) == slow->next + 1 ? &p->io : NULL;
}

int kmod_slow_read(struct kmod_slow *slow, struct kernel_capture *k, const struct snapshot *s)
{
	const struct blklat_slow *io;
	int err = 0;

	if (!slow->ring)
		return 0;
	slow_begin(k, s);
	/*
	 * IOs in the bins have been reported by now. So after as many reports as the ring holds, the rest are of
	 * IOs that ended since.
	 */
	for (u32 n = 0; n < slow->places && !err && (io = told(slow)); n++) {
		err = slow_take(k, io);
		slow->next++;
		/* From here on its place may be reused. */
		__atomic_store_n(&slow->ring->taken, slow->next, __ATOMIC_RELEASE);
	}
	return err ?: slow_finish(k);
}
