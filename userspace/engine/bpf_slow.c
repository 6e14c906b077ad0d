// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_slow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and so is struct target */
#include "blklat.skel.h"
#include "engine/slow.h"
#include "util/clock.h"

struct bpf_slow {
	struct ring_buffer *ring;
	struct mapping from, untold;
	u64 *told;		/* of each watch, the untold ones that were taken already */
	struct bpf_capture *capture;
	s64 wall_less_mono_ns;	/* of the read that is under way */
};

void bpf_slow_size(struct bpf_capture *b, const struct slow_room *room)
{
	struct blklat *s = b->skel;

	bpf_map__set_max_entries(s->maps.slow_ring, room->ring_bytes);
	if (!b->kernel.slow.wanted)
		return;
	s->rodata->cfg_slow = true;
	s->rodata->cfg_owners = !b->kernel.slow.no_owners;
	s->rodata->cfg_notes_shift = 32 - __builtin_ctz(room->notes);
	bpf_map__set_max_entries(s->maps.notes, room->notes);
	bpf_map__set_max_entries(s->maps.slow_from, b->kernel.capture.n_watches * BLKLAT_OPS);
	bpf_map__set_max_entries(s->maps.slow_untold, b->kernel.capture.n_watches);
}

static int take(void *into, void *data, size_t bytes)
{
	struct bpf_slow *slow = into;

	if (bytes < sizeof(struct blklat_slow))
		return -EIO;
	return slow_take(&slow->capture->kernel, data, slow->wall_less_mono_ns);
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
	slow->capture = b;
	slow->told = calloc(k->capture.n_watches, sizeof(*slow->told));
	err = slow->told ? 0 : -ENOMEM;
	err = err ?: mapping_map(&slow->from, b->skel->maps.slow_from);
	err = err ?: mapping_map(&slow->untold, b->skel->maps.slow_untold);
	if (err)
		return err;
	memset(slow->from.at, 0xff, slow->from.bytes);
	k->slow_from = slow->from.at;
	slow->ring = ring_buffer__new(bpf_map__fd(b->skel->maps.slow_ring), take, slow, NULL);
	return slow->ring ? 0 : -errno;
}

void bpf_slow_unmap(struct bpf_capture *b)
{
	if (!b->slow)
		return;
	ring_buffer__free(b->slow->ring);
	mapping_unmap(&b->slow->from);
	mapping_unmap(&b->slow->untold);
	free(b->slow->told);
	free(b->slow);
}

int bpf_slow_read(struct bpf_capture *b, const struct snapshot *s)
{
	struct kernel_capture *k = &b->kernel;
	struct bpf_slow *slow = b->slow;
	const volatile u64 *untold;
	int n;

	if (!slow)
		return 0;
	slow_ios_clear(k->capture.slow);
	slow->wall_less_mono_ns = s->wall_ns - (s64)s->mono_ns;
	k->capture.slow_ns = now_ns();
	n = ring_buffer__consume(slow->ring);
	if (n < 0)
		return n;
	untold = slow->untold.at;
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		u64 now = untold[i];

		k->capture.slow->of[i].found += now - slow->told[i];
		slow->told[i] = now;
	}
	return slow_finish(k);
}
