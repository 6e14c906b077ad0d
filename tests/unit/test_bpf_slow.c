// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits that the BPF programs compare with first: no IO may be passed over that is slow on its own watch. And a ring
 * that is filled while it is read.
 */
#include "unit.h"

#include <bpf/libbpf.h>

#include "../bpf/capture.h"
#include "blklat.skel.h"
#include "engine/bpf_engine.h"
#include "engine/slow.h"

enum { PARTS = 2, WHOLES = 4, WATCHES = WHOLES * (1 + PARTS) };

static const enum blklat_stage stages[WHOLES] = {
	BLKLAT_STAGE_DEVICE, BLKLAT_STAGE_DEVICE, BLKLAT_STAGE_TOTAL, BLKLAT_STAGE_DEVICE,
};

static struct {
	struct bpf_capture b;
	struct blklat skel;
	typeof(*((struct blklat *)0)->bss) bss;
	struct watch watches[WATCHES];
	u64 slow_from[WATCHES * BLKLAT_OPS];	/* the programs' */
	u64 from_ns[WATCHES * BLKLAT_OPS];	/* as given */
} w;

void set_up(void)
{
	memset(&w, 0, sizeof(w));
	w.skel.bss = &w.bss;
	w.b.skel = &w.skel;
	w.b.kernel.parts = PARTS;
	w.b.kernel.slow_from = w.slow_from;
	w.b.kernel.capture.watches = w.watches;
	w.b.kernel.capture.n_watches = WATCHES;
	for (u32 i = 0; i < WATCHES; i++)
		w.watches[i].stage = stages[i / (1 + PARTS)];
	/* Parts have no limits, whatever stands there. */
	for (u32 i = 0; i < WATCHES * BLKLAT_OPS; i++)
		w.from_ns[i] = i / BLKLAT_OPS % (1 + PARTS) ? 1 : UINT64_MAX;
}

static void limit(u32 whole, u32 op, u64 ns)
{
	w.from_ns[whole * (1 + PARTS) * BLKLAT_OPS + op] = ns;
}

static void expect(u32 stage, u32 op, u64 ns)
{
	assert_int_equal(w.bss.slow_least[stage][op], ns);
}

TEST(test_least_of_a_stage_and_op)
{
	bpf_slow_set(&w.b.kernel.capture, w.from_ns);
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			expect(stage, op, UINT64_MAX);
	limit(0, BLKLAT_OP_READ, 500);
	limit(1, BLKLAT_OP_READ, 300);
	limit(3, BLKLAT_OP_READ, 400);
	limit(2, BLKLAT_OP_READ, 200);
	limit(3, BLKLAT_OP_WRITE, 9000);
	bpf_slow_set(&w.b.kernel.capture, w.from_ns);
	expect(BLKLAT_STAGE_DEVICE, BLKLAT_OP_READ, 300);
	expect(BLKLAT_STAGE_DEVICE, BLKLAT_OP_WRITE, 9000);
	expect(BLKLAT_STAGE_DEVICE, BLKLAT_OP_FLUSH, UINT64_MAX);
	expect(BLKLAT_STAGE_TOTAL, BLKLAT_OP_READ, 200);
	expect(BLKLAT_STAGE_TOTAL, BLKLAT_OP_WRITE, UINT64_MAX);
	expect(BLKLAT_STAGE_QUEUE, BLKLAT_OP_READ, UINT64_MAX);
	for (u32 i = 0; i < WATCHES * BLKLAT_OPS; i++)
		assert_int_equal(w.slow_from[i], i / BLKLAT_OPS % (1 + PARTS) ? 0 : w.from_ns[i]);
}

/* A limit that follows a percentile goes up as well as down. */
TEST(test_follows)
{
	static const u64 to[] = { 500, 700, 100, UINT64_MAX };

	limit(0, BLKLAT_OP_WRITE, 600);
	for (u32 i = 0; i < ARRAY_SIZE(to); i++) {
		limit(1, BLKLAT_OP_WRITE, to[i]);
		bpf_slow_set(&w.b.kernel.capture, w.from_ns);
		expect(BLKLAT_STAGE_DEVICE, BLKLAT_OP_WRITE, to[i] < 600 ? to[i] : 600);
	}
}

/* In the place of libbpf's ring and of the maps. */
enum { RING_BYTES = 4096, RING_PLACES = RING_BYTES / (8 + 240) };

static struct {
	ring_buffer_sample_fn take;
	void *into;
	u32 arrived, coming;	/* one more comes while one is taken */
} ring;

int mapping_map(struct mapping *m, const struct bpf_map *map)
{
	(void)map;
	*m = (struct mapping){ .at = calloc(1, RING_BYTES), .bytes = RING_BYTES };
	return 0;
}

void mapping_unmap(struct mapping *m)
{
	free(m->at);
}

__u32 bpf_map__max_entries(const struct bpf_map *map)
{
	(void)map;
	return RING_BYTES;
}

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn take, void *into, const struct ring_buffer_opts *opts)
{
	(void)fd, (void)opts;
	ring.take = take;
	ring.into = into;
	return (void *)&ring;
}

void ring_buffer__free(struct ring_buffer *r)
{
	(void)r;
}

/* As libbpf's does, this consumes what a failing callback was given, and otherwise ends when there is nothing more. */
int ring_buffer__consume(struct ring_buffer *r)
{
	struct blklat_slow io = { .latency_ns = 1000 };
	int n = 0, err = 0;

	(void)r;
	for (; ring.arrived && err >= 0; n++) {
		u32 more = ring.coming ? 1 : 0;

		ring.coming -= more;
		ring.arrived += more - 1;
		err = ring.take(ring.into, &io, sizeof(io));
	}
	return err < 0 ? err : n;
}

static void read_ring(u32 found)
{
	static const struct snapshot s = { .mono_ns = 5000, .wall_ns = 7000 };

	assert_int_equal(bpf_slow_read(&w.b.kernel, &s), 0);
	assert_int_equal(slow_finish(&w.b.kernel), 0);
	assert_int_equal(w.b.kernel.slow_ios.of[0].found, found);
}

/* A read takes what the ring can hold at its beginning. What comes meanwhile is for the next reads, and nothing is lost. */
TEST(test_read_ends)
{
	static struct device_table devices = { .root = "" };
	u64 untold[WATCHES] = { 0 };
	struct watch_state of[WATCHES] = { 0 };

	w.b.kernel.slow.wanted = true;
	w.b.kernel.capture.devices = &devices;
	w.b.kernel.capture.slow = &w.b.kernel.slow_ios;
	assert_int_equal(slow_ios_init(&w.b.kernel.slow_ios, WATCHES, 100), 0);
	assert_int_equal(bpf_slow_map(&w.b), 0);
	w.b.kernel.slow_untold = untold;
	w.b.kernel.state = of;
	ring.arrived = RING_PLACES;
	ring.coming = 2 * RING_PLACES + 5;
	for (u32 i = 0; i < 3; i++)
		read_ring(RING_PLACES);
	read_ring(5);
	read_ring(0);
	bpf_slow_unmap(&w.b);
	slow_ios_uninit(&w.b.kernel.slow_ios);
}
