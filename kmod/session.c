// SPDX-License-Identifier: GPL-2.0-only
#include "session.h"

#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "bios.h"
#include "blklat/bins.h"
#include "cgroups.h"
#include "kernel.h"
#include "parts.h"
#include "slow.h"
#include "targets.h"

#define MAX_QUEUES 65536
#define MAX_STRIDE (1 << 20)

static bool can_be_places(u32 n)
{
	return !n || (n >= 2 && is_power_of_2(n));
}

static int check_slow(const struct blklat_setup *setup)
{
	if (!can_be_places(setup->slow_places) || !can_be_places(setup->notes) || setup->owners > 1)
		return -EINVAL;
	if ((setup->notes && !setup->slow_places) || (setup->owners && !setup->notes))
		return -EINVAL;
	return setup->slow_places > BLKLAT_MAX_SLOW_PLACES || setup->notes > BLKLAT_MAX_NOTES ? -E2BIG : 0;
}

int blklat_setup_check(const struct blklat_setup *setup)
{
	if (setup->version != BLKLAT_ABI_VERSION)
		return -EPROTO;
	if (!setup->watches || setup->scale > BLKLAT_SCALE_MAX || setup->by >= BLKLAT_BYS ||
	    setup->idle_gap_ns & BLKLAT_SLOT_AFTER_IDLE || setup->slots % BLKLAT_SLOTS)
		return -EINVAL;
	if (blklat_has_owners(setup->by) ? !setup->cgroups || setup->cgroups > BLKLAT_CGROUPS_MAX : setup->cgroups)
		return -EINVAL;
	if ((u64)setup->watches + setup->room > BLKLAT_MAX_WATCHES / (1 + blklat_parts(setup->by, setup->cgroups)))
		return -E2BIG;
	if (setup->max_bios > BLKLAT_MAX_BIOS || setup->spare > BLKLAT_MAX_SPARE || setup->slots > BLKLAT_MAX_SLOTS)
		return -E2BIG;
	return check_slow(setup);
}

int blklat_watch_check(const struct blklat_watch *watch, u32 slots)
{
	if (watch->stage >= BLKLAT_STAGES || watch->first_slot % BLKLAT_SLOTS || watch->shared_tags > 1)
		return -EINVAL;
	if (BLKLAT_OF_BIOS(watch->stage))
		return watch->queues || watch->stride || watch->first_slot || watch->shared_tags ? -EINVAL : 0;
	if (!watch->queues || !watch->stride || watch->stride % BLKLAT_SLOTS)
		return -EINVAL;
	if (watch->queues > MAX_QUEUES || watch->stride > MAX_STRIDE)
		return -E2BIG;
	return watch->first_slot + (watch->shared_tags ? 1ULL : watch->queues) * watch->stride > slots ? -EINVAL : 0;
}

/* --- targets ------------------------------------------------------------------------------- */

/* @n: how many are watched from the beginning. */
static int make_targets(struct blklat_session *s, const struct blklat_watch *watch, const struct blklat_device *device,
			u32 n)
{
	int err = blklat_targets_new(s, s->wholes);
	u32 i;

	for (i = 0; i < n && !err; i++) {
		struct blklat_entry e;

		err = watch[i].number == i ? blklat_entry_add(s, &watch[i], &device[i], &e) : -EINVAL;
		if (!err)
			blklat_entry_show(s, &e);
	}
	s->requests_only = !s->stages[BLKLAT_STAGE_QUEUE] && !s->stages[BLKLAT_STAGE_TOTAL] && !s->partitions;
	if (s->requests_only && !s->marks)
		for (i = 0; i < s->buckets && !err; i++)
			s->targets[i].plain_key = s->targets[i].key;
	return err;
}

/* --- the region ---------------------------------------------------------------------------- */

static u64 place(u64 *end, u64 bytes)
{
	u64 at = *end;

	*end = PAGE_ALIGN(at + bytes);
	return at;
}

static void lay_out(struct blklat_session *s, struct blklat_header *h)
{
	u64 end = 0;

	place(&end, sizeof(*h));
	*h = (struct blklat_header){
		.magic = BLKLAT_MAGIC,
		.version = BLKLAT_ABI_VERSION,
		.cpus = s->cpus,
		.watches = s->watches,
		.scale = s->scale,
		.series_bytes = s->series_bytes,
		.series = s->n_series,
		.series_offset = place(&end, (u64)s->n_series * s->series_bytes),
		.own_offset = place(&end, (u64)s->cpus * s->watches * sizeof(struct blklat_own)),
		.accounts_offset = place(&end, (u64)s->cpus * s->wholes * BLKLAT_ACCOUNTS * sizeof(u64)),
		.slots_offset = place(&end, s->n_slots / BLKLAT_SLOTS * sizeof(struct blklat_slots)),
	};
	if (s->idle_gap_ns)
		h->idle_offset = place(&end, (u64)s->watches * BLKLAT_OPS * s->idle_bytes);
	if (s->slow) {
		h->slow_from_offset = place(&end, (u64)s->watches * BLKLAT_OPS * sizeof(u64));
		h->slow_untold_offset = place(&end, s->watches * sizeof(u64));
		h->slow_ring_offset = place(&end, BLKLAT_SLOW_RING_BYTES((u64)s->slow->places));
	}
	h->bytes = end;
}

static int make_region(struct blklat_session *s)
{
	struct blklat_header h;

	lay_out(s, &h);
	if (h.bytes / PAGE_SIZE > si_mem_available() / 2)
		return -ENOMEM;
	s->header = __vmalloc(h.bytes, BLKLAT_GFP_MAPPED | __GFP_ZERO);
	if (!s->header)
		return -ENOMEM;
	*s->header = h;
	s->series = (void *)s->header + h.series_offset;
	s->own = (void *)s->header + h.own_offset;
	s->accounts = (void *)s->header + h.accounts_offset;
	s->slots = (void *)s->header + h.slots_offset;
	s->idle = (void *)s->header + h.idle_offset;
	if (s->slow) {
		s->slow_from = (void *)s->header + h.slow_from_offset;
		blklat_teller_begin(s->slow, s->header);
	}
	s->bytes = h.bytes;
	return 0;
}

static int make_bios(struct blklat_session *s, u32 max_bios)
{
	if (!s->stages[BLKLAT_STAGE_TOTAL])
		return 0;
	if (s->idle_gap_ns) {
		s->bios_seen_ns = kvcalloc(s->watches, sizeof(*s->bios_seen_ns), BLKLAT_GFP);
		if (!s->bios_seen_ns)
			return -ENOMEM;
	}
	return blklat_bio_table_new(max_bios, s->parts, &s->bios);
}

static int make_in_flight(struct blklat_session *s)
{
	if (!blklat_counts_in_flight(s->by))
		return 0;
	s->in_flight = kvcalloc(s->watches, sizeof(*s->in_flight), BLKLAT_GFP);
	if (!s->in_flight)
		return -ENOMEM;
	s->keeps_company = s->slow;
	if (!s->keeps_company || !s->n_slots)
		return 0;
	s->company = kvcalloc(s->n_slots, sizeof(*s->company), BLKLAT_GFP);
	return s->company ? 0 : -ENOMEM;
}

int blklat_session_new(const struct blklat_setup *setup, const struct blklat_watch *watch,
		       const struct blklat_device *device, struct blklat_session **ret)
{
	struct blklat_session *s = kzalloc(sizeof(*s), BLKLAT_GFP);
	int err;

	if (!s)
		return -ENOMEM;
	INIT_LIST_HEAD(&s->list);
	s->cpus = nr_cpu_ids;
	s->by = setup->by;
	s->cgroups = setup->cgroups;
	s->parts = blklat_parts(setup->by, setup->cgroups);
	if (s->cgroups)
		blklat_cgroups_get(s->by, s->cgroups);
	s->wholes = setup->watches + setup->room;
	s->watches = s->wholes * (1 + s->parts);
	s->n_slots = setup->slots;
	s->scale = setup->scale;
	s->series_bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(s->scale));
	s->merged = BLKLAT_SCALE_MAX - s->scale;
	s->idle_gap_ns = setup->idle_gap_ns;
	s->marks = s->idle_gap_ns || s->parts;
	s->idle_bytes = BLKLAT_IDLE_SERIES_BYTES(BLKLAT_CELLS(BLKLAT_IDLE_SCALE(s->scale)));
	s->n_series = s->watches * BLKLAT_OPS + setup->spare;
	err = blklat_teller_new(setup, &s->slow);
	if (err)
		goto err_free;
	err = make_targets(s, watch, device, setup->watches);
	if (err)
		goto err_free;
	err = make_region(s);
	if (err)
		goto err_free;
	err = make_bios(s, setup->max_bios);
	if (err)
		goto err_free;
	err = make_in_flight(s);
	if (err)
		goto err_free;
	*ret = s;
	return 0;

err_free:
	blklat_session_free(s);
	return err;
}

void blklat_session_free(struct blklat_session *s)
{
	if (!s)
		return;
	blklat_bio_table_free(s->bios);
	kvfree(s->bios_seen_ns);
	kvfree(s->in_flight);
	kvfree(s->company);
	blklat_teller_free(s->slow);
	if (s->cgroups)
		blklat_cgroups_put(s->by, &s->cgroups_user, s->cgroups);
	vfree(s->header);
	kvfree(s->targets);
	kvfree(s->numbers);
	kfree(s);
}
