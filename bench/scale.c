// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long one drain takes on a machine that exists only as a recorded tree, where all CPUs have read from all devices. The counters
 * are made in memory, with series for the CPUs as far as POOL_BYTES go. Prints one line of JSON: the CPU time while IOs are in
 * flight, and when all devices are at rest.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/watches.h"
#include "core/capture.h"
#include "engine/geometry.h"
#include "engine/region.h"
#include "times.h"
#include "util/cleanup.h"
#include "util/sysfs.h"

#define POOL_BYTES (1ULL << 30)
#define CACHES_BYTES (256ULL << 20)	/* written between two drains, as the machine's work would */
#define DRAINS 5
#define IN_FLIGHT BLKLAT_SLOTS
#define FIRST_OCTAVE 10
#define OCTAVES 8

struct made {
	struct device_table devices;
	struct watches watches;
	struct region r;
	struct region_slots *ranges;
	struct blklat_slots *slots;
	struct snapshot s;
	char *caches;
	u64 *bios;			/* [watch] at stage total */
	u32 epoch;
};

/* Zeros that were written, so that there is memory behind all of it, as with maps of BPF. */
static void *array(size_t n, size_t size)
{
	void *a = malloc(n * size + 1);

	if (!a) {
		fprintf(stderr, "scale: out of memory\n");
		exit(1);
	}
	return memset(a, 0, n * size + 1);
}

/* Without a scheduler no request waits in the queue. Where there are parts, IOs are in them. */
static bool is_busy(const struct made *m, u32 i)
{
	const struct watch *w = &m->watches.w[i];

	return !m->r.parts == !w->part && (w->stage != BLKLAT_STAGE_QUEUE || strcmp(w->device->scheduler, "none"));
}

/* --- a busy device --------------------------------------------------------------------------- */

static u32 reads_of(const struct made *m, u32 cpu, u32 i)
{
	return m->r.own[(size_t)cpu * m->r.watches + i].series[BLKLAT_OP_READ] ?: i * BLKLAT_OPS + BLKLAT_OP_READ;
}

/* Counts @ios of each CPU in each bin of some octaves. Returns how many that are. */
static u64 count_reads(const struct made *m, u32 i, u64 ios)
{
	u32 first, n = OCTAVES * hist_octave(m->r.scale, FIRST_OCTAVE, &first);

	for (u32 cpu = 0; cpu < m->r.cpus; cpu++) {
		struct blklat_series *s = region_series(&m->r, reads_of(m, cpu, i));

		s->octaves |= ((1ULL << OCTAVES) - 1) << FIRST_OCTAVE;
		s->sum_ns += n * ios * 100000;
		for (u32 cell = first; cell < first + n; cell++)
			s->bins[cell] += ios;
	}
	return n * ios * m->r.cpus;
}

static u32 tags_of(const struct device *d)
{
	return d->tags * (d->shared_tags ? 1 : slots_of(d).queues);
}

/* Starts and ends @ios in the slots, about the same number in each. */
static void use_slots(const struct made *m, u32 i, u64 ios)
{
	const struct device *d = m->watches.w[i].device;
	u32 used = m->ranges[i].n ? tags_of(d) : 0, stride = slots_of(d).stride;

	for (u32 n = 0; n < used; n++) {
		u32 slot = m->ranges[i].first + n / d->tags * stride + n % d->tags, at = slot % BLKLAT_SLOTS;
		struct blklat_slots *in = &m->slots[slot / BLKLAT_SLOTS];

		in->started[at] = in->ended[at] = ios / used + (n < ios % used);
		in->ns[at] = BLKLAT_SLOT_FREE;
	}
}

/* Starts IOs in some of the slots, or ends them. */
static void move(const struct made *m, bool start)
{
	for (u32 i = 0; i < m->r.watches; i++)
		for (u32 n = 0; n < IN_FLIGHT && n < m->ranges[i].n && is_busy(m, i + !!m->r.parts); n++) {
			struct blklat_slots *in = &m->slots[m->ranges[i].first / BLKLAT_SLOTS];

			in->started[n] += start;
			in->ended[n] += !start;
			in->ns[n] = start ? clock_ns(CLOCK_MONOTONIC) : BLKLAT_SLOT_FREE;
			region_series(&m->r, reads_of(m, 0, i + !!m->r.parts))->bins[1 + (FIRST_OCTAVE << m->r.scale)] += !start;
		}
}

/* --- the region ------------------------------------------------------------------------------ */

static int make(struct made *m, const char *tree, u32 stages, u32 by, struct problem *p)
{
	const struct wanted wanted = { .n = 1, .devices = &(const char *){ "all" }, .stages = stages, .by = by };
	int err = device_table_read(&m->devices, tree, p) ?: watches_make(&m->devices, &wanted, &m->watches, p);
	u32 n = m->watches.n, parts = blklat_parts(by, wanted_cgroups(&wanted)), cpus = sysfs_cpus(tree), slots = 0;
	u32 bytes = BLKLAT_SERIES_BYTES((u64)BLKLAT_CELLS_MAX);
	u64 spare = min_u64((u64)cpus * n * BLKLAT_OPS, POOL_BYTES / bytes);

	if (err)
		return err;
	m->ranges = array(n, sizeof(*m->ranges));
	for (u32 i = 0; i < n; i++) {
		const struct slots of = slots_of(m->watches.w[i].device);

		m->ranges[i].first = slots;
		if (m->watches.w[i].stage != BLKLAT_STAGE_TOTAL && !m->watches.w[i].part)
			m->ranges[i].n = slots_count(&of);
		slots += m->ranges[i].n;
	}
	m->slots = array(slots / BLKLAT_SLOTS, sizeof(*m->slots));
	m->caches = array(CACHES_BYTES, 1);
	m->bios = array(n, sizeof(*m->bios));
	m->r = (struct region){
		.cpus = cpus, .rows = cpus, .watches = n, .parts = parts, .by = by, .scale = BLKLAT_SCALE_MAX, .series_bytes = bytes,
		.series = array(n * BLKLAT_OPS + spare, bytes), .own = array((size_t)cpus * n, sizeof(struct blklat_own)),
		.accounts = array((size_t)cpus * n / (1 + parts) * BLKLAT_ACCOUNTS, sizeof(u64)), .slots = m->slots, .n_slots = slots, .ranges = m->ranges,
		.epoch = &m->epoch,
	};
	return snapshot_init(&m->s, n, m->r.scale) ?: region_init(&m->r, spare);
}

/* As after some reads of a machine where every CPU reads from every device. */
static void make_busy(struct made *m)
{
	for (u32 cpu = 0; cpu < m->r.cpus; cpu++)
		for (u32 i = 0; i < m->r.watches; i++)
			m->r.own[(size_t)cpu * m->r.watches + i].shared[BLKLAT_OP_READ] = is_busy(m, i) ? 1000 : 0;
	owns_settle(&m->r, 0, NULL, NULL);
	for (u32 i = 0; i < m->r.watches; i += 1 + m->r.parts) {
		/* So many that each tag was used. */
		u64 in_each_bin = 1 + tags_of(m->watches.w[i].device) / (m->r.cpus * (OCTAVES << m->r.scale)), ios = 0;

		for (u32 part = i; part <= i + m->r.parts; part++)
			ios += is_busy(m, part) ? count_reads(m, part, in_each_bin) : 0;
		use_slots(m, i, ios);
		m->bios[i] = ios;
	}
	move(m, true);
}

/* As kernel_capture_read() does; the median of their CPU times. */
static double drain_ms(struct made *m)
{
	u64 ns[DRAINS];

	/* The first one allocates the snapshot's memory, and finds out what is at rest. */
	for (u32 n = 0; n <= DRAINS; n++) {
		u64 began, now = clock_ns(CLOCK_MONOTONIC);

		memset(m->caches, n, CACHES_BYTES);
		/* As counted from the table of bios; none is in flight. */
		for (u32 i = 0; i < m->r.watches; i++)
			m->s.w[i].started = m->watches.w[i].stage == BLKLAT_STAGE_TOTAL ? m->bios[i] : 0;
		began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		region_next_epoch(&m->r);
		for (u32 i = 0; i < m->r.watches; i += 1 + m->r.parts)
			region_read(&m->r, i, now, &m->s.w[i]);
		owns_settle(&m->r, now, NULL, NULL);
		if (n)
			ns[n - 1] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	}
	times_sort(ns, DRAINS);
	return ns[DRAINS / 2] / 1e6;
}

int main(int argc, char **argv)
{
	struct made m = { 0 };
	struct problem p = { "out of memory" };
	double busy_ms;

	if (argc != 4) {
		fprintf(stderr, "usage: scale TREE STAGES (the sum of 1: device, 2: queue, 4: total) BY (enum blklat_by)\n");
		return 2;
	}
	if (make(&m, argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), &p)) {
		fprintf(stderr, "scale: %s\n", p.text);
		return 1;
	}
	make_busy(&m);
	busy_ms = drain_ms(&m);
	move(&m, false);
	printf("{\"busy_ms\":%.3f,\"idle_ms\":%.3f}\n", busy_ms, drain_ms(&m));
	return 0;
}
