// SPDX-License-Identifier: GPL-2.0-only
#include "engine/geometry.h"

#include <string.h>
#include <unistd.h>

#include "../bpf/capture.h"

#define KIB 1024
#define LEAST_MEMORY_BYTES (64ULL << 20)
#define RING_MOST (8ULL << 20)
#define NOTES_A_BIO 4		/* so that few notes overwrite another one that is still needed */

static bool has_scheduler(const struct device *d)
{
	return d->scheduler[0] && strcmp(d->scheduler, "none");
}

/* One set takes little, so it has room for all that a scheduler may get. */
static bool has_one_set(const struct device *d)
{
	return d->hw_queues == 1 || d->shared_tags;
}

/*
 * A scheduler has tags of its own: twice the smaller of the driver's and 128 (blk_mq_default_nr_requests()), until
 * the user asks for more, up to MAX_SCHED_RQ. They take the place of the driver's (abi.h), whose number nr_requests
 * is without a scheduler.
 */
#define SCHEDULER_TAGS_MOST 2048U
#define SCHEDULER_TAGS_EACH 512U	/* where each hardware queue has a set */

static u32 tags_now(const struct device *d)
{
	return max_u64(d->tags, has_scheduler(d) ? d->nr_requests : 0);
}

struct slots slots_of(const struct device *d)
{
	u32 now = tags_now(d), may_come = SCHEDULER_TAGS_MOST;

	if (!d->hw_queues)
		return (struct slots){ 0 };
	if (!has_one_set(d) && (!has_scheduler(d) || 2 * d->nr_requests < SCHEDULER_TAGS_MOST))
		may_come = max_u64(SCHEDULER_TAGS_EACH, has_scheduler(d) ? 2 * d->nr_requests : 0);
	return (struct slots){
		.queues = d->hw_queues,
		.stride = (max_u64(now, may_come) + BLKLAT_SLOTS - 1) / BLKLAT_SLOTS * BLKLAT_SLOTS,
		.shared_tags = d->shared_tags,
	};
}

bool slots_fit(const struct slots *s, const struct device *d)
{
	return d->hw_queues <= s->queues && tags_now(d) <= s->stride;
}

u32 slots_for(const struct watch *watches, u32 first, u32 n)
{
	struct slots s = slots_of(watches[first].device);

	for (u32 i = first; i < n && watches[i].device == watches[first].device; i++)
		if (!BLKLAT_OF_BIOS(watches[i].stage))
			return slots_count(&s);
	return 0;
}

#define PLACES 32	/* for devices with one watch, as is the default: then they take little */

struct capture_room capture_room(const struct capture_config *cfg)
{
	struct capture_room room = { cfg->n_watches, 0 };
	const struct device small = { .hw_queues = 1 };	/* such as a loop device */
	const struct slots small_slots = slots_of(&small);
	u32 devices = 0, most_watches = 0, most_slots = 0, slots, places;
	const u32 each = 1 + blklat_parts(cfg->by, cfg->cgroups);

	for (u32 i = 0, n; i < cfg->n_watches; i += n) {
		n = watches_of_device(&cfg->watches[i], cfg->n_watches - i);
		devices++;
		most_watches = max_u64(most_watches, n);
		slots = slots_for(cfg->watches, i, cfg->n_watches);
		most_slots = max_u64(most_slots, slots);
		room.slots += slots;
	}
	/* One device may be moved, or one like the largest may come. A single one would double the memory. */
	if (devices > 1 || cfg->follow)
		room.slots += most_slots << cfg->doubled;
	if (!cfg->follow)
		return room;
	places = max_u64(2 + devices / 4, most_watches == 1 && devices < PLACES ? PLACES - devices : 0) << cfg->doubled;
	/* Whole ones, with their parts. */
	room.watches = min_u64(room.watches + (u64)places * most_watches, BLKLAT_MAX_WATCHES / each * each);
	if (most_slots)
		room.slots += places * slots_count(&small_slots);
	return room;
}

/* Memory for pauses: a series for each watch and op, and the time of each watch's last use. */
static u64 idle_bytes(const struct capture_config *cfg, u64 watches, u32 scale)
{
	u64 series = BLKLAT_IDLE_SERIES_BYTES((u64)BLKLAT_CELLS(idle_scale(scale)));

	return cfg->idle_gap_ns ? watches * (series * BLKLAT_OPS + sizeof(u64)) : 0;
}

/* Memory for counting IOs in flight: a cache line for each watch. */
static u64 in_flight_bytes(const struct capture_config *cfg, u64 watches)
{
	return blklat_counts_in_flight(cfg->by) ? watches * sizeof(struct in_flight) : 0;
}

u32 bio_buckets(u32 max_bios)
{
	u64 buckets = 2;

	/* Half of the cells may be in use. */
	while (buckets * BIO_BUCKET < 2ULL * max_bios)
		buckets *= 2;
	return buckets;
}

static u32 power_of_two_from(u64 n)
{
	u32 power = 1;

	while (power < n && power < 1U << 31)
		power <<= 1;
	return power;
}

struct slow_room slow_room(const struct capture_config *cfg)
{
	u64 page = sysconf(_SC_PAGESIZE), each = sizeof(struct blklat_slow) + 8, bytes;
	u32 wholes = cfg->n_watches / (1 + blklat_parts(cfg->by, cfg->cgroups));

	if (!cfg->slow.wanted)
		return (struct slow_room){ .ring_bytes = page, .notes = 2 };
	/*
	 * Room for several times the number of IOs that are kept, since it is not known beforehand
	 * which are the slowest.
	 */
	bytes = max_u64(8 * each * cfg->slow.most * wholes, 64 * page);
	bytes = power_of_two_from(bytes < RING_MOST ? bytes : RING_MOST);
	return (struct slow_room){
		.ring_bytes = bytes,
		.places = power_of_two_from((bytes - BLKLAT_SLOW_RING_BYTES(0)) / sizeof(struct blklat_slow_place) + 1) / 2,
		.notes = power_of_two_from((u64)NOTES_A_BIO * cfg->max_bios),
	};
}

/* @slots: of all watches. */
static u64 slow_bytes(const struct capture_config *cfg, u64 slots)
{
	const struct slow_room room = slow_room(cfg);
	u64 bytes;

	if (!cfg->slow.wanted)
		return 0;
	bytes = room.ring_bytes + (u64)room.notes * sizeof(struct note);
	return blklat_counts_in_flight(cfg->by)
		       ? bytes + slots * sizeof(u32) + (u64)room.notes * sizeof(struct bio_company)
		       : bytes;
}

/* All but the spare series. */
static u64 fixed_bytes(const struct capture_config *cfg, const struct capture_room *room, u32 cpus, u32 rows, u32 scale)
{
	u64 n = room->watches, series = BLKLAT_SERIES_BYTES((u64)BLKLAT_CELLS(scale)), bytes;
	bool total = false;

	for (u32 i = 0; i < cfg->n_watches; i++)
		total |= cfg->watches[i].stage == BLKLAT_STAGE_TOTAL;
	bytes = n * (BLKLAT_OPS * series + cpus * sizeof(struct blklat_own));
	bytes += n / (1 + blklat_parts(cfg->by, cfg->cgroups)) * rows * BLKLAT_ACCOUNTS * sizeof(u64);
	bytes += (u64)room->slots / BLKLAT_SLOTS * sizeof(struct blklat_slots);
	bytes += idle_bytes(cfg, n, scale) + in_flight_bytes(cfg, n) + slow_bytes(cfg, room->slots);
	return bytes + (total ? (u64)bio_buckets(cfg->max_bios) * sizeof(struct bio_bucket) : 0);
}

int capture_memory(const struct capture_config *cfg, u32 cpus, u32 rows, struct capture_memory *ret, struct problem *p)
{
	u32 scale = cfg->scale < 0 ? BLKLAT_SCALE_MAX : cfg->scale;
	const struct capture_room room = capture_room(cfg);
	u64 series = BLKLAT_SERIES_BYTES((u64)BLKLAT_CELLS(scale)), fixed = fixed_bytes(cfg, &room, cpus, rows, scale),
	    spare;
	u64 limit = cfg->max_memory ?: capture_default_memory(fixed);

	spare = min_u64((u64)cpus * room.watches * BLKLAT_OPS, fixed < limit ? (limit - fixed) / series : 0);
	spare = min_u64(spare, BLKLAT_MAX_SPARE);
	*ret = (struct capture_memory){
		.scale = scale, .spare = spare, .limit_bytes = limit, .fixed_bytes = fixed, .bytes = fixed + spare * series,
	};
	if (fixed <= limit)
		return 0;
	return problem_set(p, -E2BIG, "the counters need %lluK of memory at scale %u and may take %lluK: raise "
			   "--max-memory or %s", (fixed + KIB - 1) / KIB, scale, limit / KIB,
			   scale ? "lower --scale" : cfg->slow.wanted ? "lower --max-bios, or leave --slow out" :
			   cfg->by ? "watch fewer devices, or leave --by out" : "watch fewer devices");
}

u64 capture_default_memory(u64 fixed)
{
	u64 ram = (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	return max_u64(max_u64(LEAST_MEMORY_BYTES, ram / 1000), min_u64(2 * fixed, ram / 100));
}
