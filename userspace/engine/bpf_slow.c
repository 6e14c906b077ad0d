// SPDX-License-Identifier: GPL-2.0-only

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and struct target */
#include "blklat.skel.h"
#include "blklat/parts.h"
#include "engine/bpf_engine.h"
#include "engine/slow.h"

#define ENOUGH (-ECANCELED)	/* returned by no function that take() calls */

struct bpf_slow {
	struct kernel_capture *k;
	struct ring_buffer *ring;
	u32 places;		/* reports for which the ring has room */
	u32 taken;		/* in this read */
	struct mapping from, untold;
};

void bpf_slow_size(struct bpf_capture *b, const struct slow_room *room)
{
	struct blklat *s = b->skel;

	bpf_map__set_max_entries(s->maps.slow_ring, room->ring_bytes);
	s->rodata->cfg_one_kind = b->kernel.by == BLKLAT_BY_DEPTH && !b->kernel.slow.wanted;
	if (!b->kernel.slow.wanted)
		return;
	s->rodata->cfg_slow = true;
	s->rodata->cfg_owners = !b->kernel.slow.no_owners;
	s->rodata->cfg_notes_shift = 32 - __builtin_ctz(room->notes);
	bpf_map__set_max_entries(s->maps.notes, room->notes);
	bpf_map__set_max_entries(s->maps.slow_from, b->kernel.capture.room * BLKLAT_OPS);
	bpf_map__set_max_entries(s->maps.slow_untold, b->kernel.capture.room);
	if (!blklat_counts_in_flight(b->kernel.by))
		return;
	s->rodata->cfg_company = true;
	if (b->kernel.region.n_slots)
		bpf_map__set_max_entries(s->maps.request_company, b->kernel.region.n_slots);
	if (capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_TOTAL))
		bpf_map__set_max_entries(s->maps.bio_company, room->notes);
}

/* libbpf goes on while reports arrive, but not if this returns an error; the report is consumed in any case. */
static int take(void *into, void *data, size_t bytes)
{
	struct bpf_slow *slow = into;
	int err = bytes < sizeof(struct blklat_slow) ? -EIO : slow_take(slow->k, data);

	return err ?: ++slow->taken < slow->places ? 0 : ENOUGH;
}

int bpf_slow_map(struct bpf_capture *b)
{
	struct kernel_capture *k = &b->kernel;
	struct bpf_slow *slow;
	int err;

	if (!k->slow.wanted)
		return 0;
	slow = b->slow = calloc(1, sizeof(*slow));
	if (!slow)
		return -ENOMEM;
	slow->k = k;
	slow->places =
		bpf_map__max_entries(b->skel->maps.slow_ring) / (BPF_RINGBUF_HDR_SZ + sizeof(struct blklat_slow));
	err = mapping_map(&slow->from, b->skel->maps.slow_from);
	err = err ?: mapping_map(&slow->untold, b->skel->maps.slow_untold);
	if (err)
		return err;
	memset(slow->from.at, 0xff, slow->from.bytes);
	memset(b->skel->bss->slow_least, 0xff, sizeof(b->skel->bss->slow_least));
	k->slow_from = slow->from.at;
	k->slow_untold = slow->untold.at;
	slow->ring = ring_buffer__new(bpf_map__fd(b->skel->maps.slow_ring), take, slow, NULL);
	return slow->ring ? 0 : -errno;
}

/* For each stage and op the least limit of any whole. */
static void find_least(const struct kernel_capture *k, const u64 *from_ns, u64 least[BLKLAT_STAGES][BLKLAT_OPS])
{
	memset(least, 0xff, BLKLAT_STAGES * sizeof(*least));
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			u64 *l = &least[k->capture.watches[i].stage][op];

			*l = min_u64(*l, from_ns[i * BLKLAT_OPS + op]);
		}
}

void bpf_slow_set(struct capture *c, const u64 *from_ns)
{
	struct bpf_capture *b = (struct bpf_capture *)c;
	u64 least[BLKLAT_STAGES][BLKLAT_OPS];

	find_least(&b->kernel, from_ns, least);
	kernel_capture_set_slow(c, from_ns);
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			__atomic_store_n(&b->skel->bss->slow_least[stage][op], least[stage][op], __ATOMIC_RELAXED);
}

void bpf_slow_unmap(struct bpf_capture *b)
{
	if (!b->slow)
		return;
	ring_buffer__free(b->slow->ring);
	mapping_unmap(&b->slow->from);
	mapping_unmap(&b->slow->untold);
	free(b->slow);
}

int bpf_slow_read(struct kernel_capture *k, const struct snapshot *s)
{
	struct bpf_slow *slow = ((struct bpf_capture *)k)->slow;
	int n;

	slow_begin(k, s);
	/*
	 * IOs in the bins have been reported by now. So after as many reports as the ring holds, the rest are of
	 * IOs that ended since.
	 */
	slow->taken = 0;
	n = ring_buffer__consume(slow->ring);
	return n < 0 && n != ENOUGH ? n : 0;
}
