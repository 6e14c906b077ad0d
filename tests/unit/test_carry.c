// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one capture takes over from another while IOs end: everything must be counted exactly once. Two CPUs go on counting,
 * a store at a time, between any two loads of the reader, which is carry_over() itself. take_over() lets it join the two
 * captures and compares the sum with all that was done.
 */
#include "unit.h"

#include <stdatomic.h>
#include <time.h>

static void at_load(void);
static void at_pause(void);

/* The reader. */
#define __atomic_load_n(at, order) (at_load(), *(volatile typeof(+*(at)) *)(at))
#define nanosleep(time, rest) ((void)(time), at_pause())
#define load load_of_region
#include "engine/region.c"
#undef load
#include "engine/carry.c"
#undef __atomic_load_n
#undef nanosleep

#include "blklat/parts.h"

enum { CPUS = 2, SCALE = 2, IOS = 40, SLOTS_OF_FIRST = 528, SLOTS_OF_SECOND = 1024, STEPS = 32 };
enum { FIRST, SECOND, CAPTURES };
/* On each CPU, before the second capture existed. */
enum { EARLIER = 5, EARLIER_NS = 12345, EARLIER_BYTES = 512 };
enum { MOST_WATCHES = 1 + BLKLAT_SIZE_PARTS };

/* The stores of an IO, one after the other. */
struct step {
	u64 *at, add, set, mark;	/* @set applies if it is not 0; @mark: bits to be set */
	bool with_next;		/* no load comes between this store and the next */
};

struct cpu {
	struct step steps[STEPS];
	u32 n, done;
	u64 due;		/* when it stores next, counted in loads */
	bool held;		/* by a hypervisor */
	u32 io;			/* the IO that it deals with next */
};

struct schedule {
	u32 between_stores, between_ios;	/* loads, at most */
	u32 hold_at, hold_for;	/* the first CPU stops at this store of an end, for so many pauses (0: not at all) */
	u32 hold_after;		/* pauses before it may stop */
	bool beyond;		/* every other IO has a slot in the second capture only */
	bool fewer;		/* the first has slots that the second lacks: those of a scheduler that is gone */
	bool again;		/* all have ended before the captures are read, and are done once more from then on */
	u32 own[CAPTURES];	/* so many CPUs have series of their own; the others share */
	bool hides;		/* and some twice, with the first end missed */
	bool endless;		/* with @again: over and over, until the captures are joined */
	enum blklat_by by;
};

static struct world {
	struct kernel_capture k[CAPTURES];
	struct region_slots ranges[CAPTURES][MOST_WATCHES];
	struct device device[CAPTURES];
	struct watch watch[CAPTURES];
	u32 epoch;
	struct snapshot read[CAPTURES], carry;
	struct cpu cpu[CPUS];
	struct schedule schedule;
	u64 loads, pauses, random;
	bool running, again;
	u32 parts;
	u64 ended, hidden, bytes, errors, sum_ns;
	u64 ended_of[MOST_WATCHES], bytes_of[MOST_WATCHES];	/* per part: shares of ended and bytes */
} w;

static u32 any(u32 n)
{
	w.random = w.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (w.random >> 33) % n;
}

/* --- IOs ----------------------------------------------------------------------------------- */

static u32 tag_of(u32 io)
{
	return w.schedule.beyond && io % 2 ? SLOTS_OF_FIRST + io : 16 + io;
}

static u64 latency_of(u32 io, u32 capture)
{
	return 20000 + 7000 * (io % 11) + capture * (io % 3);	/* one reads the clock after the other */
}

static u64 bytes_of(u32 io)
{
	return w.schedule.beyond ? 4096 : 4096ULL << io % 5;
}

/* The watch whose rows the IO is counted in. */
static u32 watch_of(u64 bytes)
{
	return w.parts ? blklat_size_part(bytes) : 0;
}

static struct blklat_series *series_of(u32 capture, u32 cpu, u32 watch)
{
	const struct region *r = &w.k[capture].region;

	return region_series(r, r->own[cpu * r->watches + watch].series[0] ?: watch * BLKLAT_OPS);
}

static struct blklat_slot *slot_of(u32 capture, u32 io)
{
	u32 n = tag_of(io);

	if (n >= w.ranges[capture][0].n)
		return NULL;
	return BLKLAT_SLOT_IN((struct blklat_slots *)w.k[capture].region.slots + n / BLKLAT_SLOTS, n % BLKLAT_SLOTS);
}

static void add(struct cpu *c, u64 *at, u64 add)
{
	c->steps[c->n++] = (struct step){ .at = at, .add = add };
}

static void set(struct cpu *c, u64 *at, u64 to)
{
	c->steps[c->n++] = (struct step){ .at = at, .set = to };
}

static void plan_start(struct cpu *c, u32 io)
{
	for (u32 capture = 0; capture < CAPTURES; capture++) {
		struct blklat_slot *slot = slot_of(capture, io);

		if (slot) {
			set(c, &slot->ns, blklat_parted_start(1000, watch_of(bytes_of(io)), 0));
			add(c, &slot->started, 1);
		} else {
			add(c, (u64 *)w.k[capture].region.accounts + BLKLAT_TAG_RANGE, 1);
		}
	}
}

static void plan_end(struct cpu *c, u32 io)
{
	for (u32 capture = 0; capture < CAPTURES; capture++) {
		struct blklat_slot *slot = slot_of(capture, io);
		struct blklat_series *s = series_of(capture, c - w.cpu, watch_of(bytes_of(io)));
		u32 octave, cell = blklat_place(latency_of(io, capture), BLKLAT_SCALE_MAX - SCALE, &octave);

		if (!slot)
			continue;
		add(c, &s->bytes, bytes_of(io));
		if (io % 7 == 0)
			add(c, &s->errors, 1);
		add(c, &s->sum_ns, latency_of(io, capture));
		c->steps[c->n++] = (struct step){ .at = &s->octaves, .mark = 1ULL << octave };
		add(c, &slot->ended, 1);
		c->steps[c->n - 1].with_next = w.schedule.hides;	/* see carry.h */
		set(c, &slot->ns, BLKLAT_SLOT_FREE);
		add(c, &s->bins[cell], 1);
	}
}

/* --- CPUs ---------------------------------------------------------------------------------- */

static void store(struct cpu *c)
{
	const struct step *s;

	do {
		s = &c->steps[c->done++];
		*s->at = s->set ?: (*s->at + s->add) | s->mark;
	} while (s->with_next);
}

static void note_end(u32 ios, u64 bytes, u64 ns)
{
	w.ended += ios;
	w.bytes += ios * bytes;
	w.sum_ns += ios * ns;
	w.ended_of[watch_of(bytes)] += ios;
	w.bytes_of[watch_of(bytes)] += ios * bytes;
}

static void plan_starts(struct cpu *c, u32 io)
{
	plan_start(c, io);
	if (!w.schedule.hides || io % 3)
		return;
	plan_start(c, io);
	w.hidden++;
}

/* The next end. Its IO began long ago, unless all IOs are done again. */
static void next_io(struct cpu *c)
{
	c->n = c->done = 0;
	if (c->io >= IOS && w.schedule.endless && w.running)
		c->io -= IOS;
	if (c->io >= IOS)
		return;
	if (w.again)
		plan_starts(c, c->io);
	plan_end(c, c->io);
	note_end(1, bytes_of(c->io), latency_of(c->io, FIRST));
	w.errors += c->io % 7 == 0;
	c->io += CPUS;
	c->due = w.loads + 1 + any(w.schedule.between_ios);
}

static bool is_held(struct cpu *c)
{
	const struct schedule *s = &w.schedule;

	if (c == w.cpu && s->hold_for && c->done == s->hold_at && w.pauses >= s->hold_after)
		c->held = w.pauses - s->hold_after < s->hold_for;
	return c->held;
}

static void at_load(void)
{
	w.loads++;
	for (struct cpu *c = w.cpu; w.running && c < w.cpu + CPUS; c++) {
		if (w.loads < c->due || c->io >= IOS + CPUS || is_held(c))
			continue;
		if (c->done == c->n) {
			next_io(c);
			continue;
		}
		store(c);
		c->due = w.loads + 1 + any(w.schedule.between_stores);
	}
}

static void at_pause(void)
{
	w.pauses++;
}

static void run_out(struct cpu *c)
{
	while (c->done < c->n || c->io < IOS) {
		while (c->done < c->n)
			store(c);
		next_io(c);
	}
}

/* --- a take-over --------------------------------------------------------------------------- */

static void open_one(u32 capture)
{
	u32 bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(SCALE)), large = w.schedule.fewer ? FIRST : SECOND;
	u32 queues = w.schedule.fewer && capture ? 2 : 1, stride = capture == large ? SLOTS_OF_SECOND : SLOTS_OF_FIRST;
	u32 slots = queues * stride;
	u32 watches = 1 + w.parts, shared = watches * BLKLAT_OPS;
	struct kernel_capture *k = &w.k[capture];
	struct region *r = &k->region;

	w.device[capture] = (struct device){ .hw_queues = queues, .tags = 16, .nr_requests = capture == large ? 504 : 32 };
	strcpy(w.device[capture].scheduler, "mq-deadline");
	w.watch[capture] = (struct watch){ .device = &w.device[capture] };
	w.ranges[capture][0].n = slots;
	k->parts = w.parts;
	k->capture = (struct capture){ .watches = &w.watch[capture], .n_watches = watches, .cpus = 1, .scale = SCALE };
	k->region = (struct region){
		.cpus = CPUS, .rows = CPUS, .watches = watches, .parts = w.parts, .scale = SCALE, .series_bytes = bytes,
		.series = calloc((1 + CPUS) * shared, bytes),
		.own = calloc(CPUS * watches, sizeof(struct blklat_own)),
		.accounts = calloc(CPUS * watches * BLKLAT_ACCOUNTS, sizeof(u64)),
		.slots = calloc(slots / BLKLAT_SLOTS, sizeof(struct blklat_slots)), .ranges = w.ranges[capture], .epoch = &w.epoch,
	};
	assert_int_equal(region_init(r, w.schedule.own[capture] * shared), 0);
	for (u32 watch = 0; watch < watches; watch++)
		for (u32 cpu = 0; cpu < w.schedule.own[capture]; cpu++)
			r->own[cpu * watches + watch].shared[0] = 1000;
	owns_settle(r, 0, NULL, NULL);
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(r->own[cpu * watches + watches - 1].series[0] != 0, cpu < w.schedule.own[capture]);
	assert_int_equal(slots_of(&w.device[capture], 1).stride, stride);
	assert_int_equal(snapshot_init(&w.read[capture], watches, SCALE), 0);
}

static void close_one(u32 capture)
{
	region_uninit(&w.k[capture].region);
	free(w.k[capture].region.series);
	free(w.k[capture].region.own);
	free((void *)w.k[capture].region.accounts);
	free((void *)w.k[capture].region.slots);
	snapshot_uninit(&w.read[capture]);
}

static void begin(const struct schedule *s, u64 seed)
{
	memset(&w, 0, sizeof(w));
	w.schedule = *s;
	w.random = seed;
	w.parts = blklat_parts(s->by, 0);
	for (u32 capture = 0; capture < CAPTURES; capture++)
		open_one(capture);
	assert_int_equal(snapshot_init(&w.carry, 1 + w.parts, SCALE), 0);
	/* All IOs start at once, and some have ended that only the first capture has seen. */
	for (u32 io = 0; io < IOS; io++) {
		struct cpu *c = &w.cpu[io % CPUS];

		c->n = c->done = 0;
		plan_start(c, io);
		while (c->done < c->n)
			store(c);
	}
	for (u32 i = 0; i < CPUS; i++) {
		struct blklat_slots *slots = (struct blklat_slots *)w.k[FIRST].region.slots + (s->fewer ? SLOTS_OF_SECOND / BLKLAT_SLOTS - 1 : 0);
		struct blklat_series *series = series_of(FIRST, i, watch_of(EARLIER_BYTES));
		u32 octave, cell = blklat_place(EARLIER_NS, BLKLAT_SCALE_MAX - SCALE, &octave);

		w.cpu[i] = (struct cpu){ .io = i, .due = any(30000) };
		series->bytes += EARLIER * EARLIER_BYTES;
		series->sum_ns += EARLIER * EARLIER_NS;
		series->octaves |= 1ULL << octave;
		series->bins[cell] += EARLIER;
		slots->started[i] = slots->ended[i] = EARLIER;
		slots->ns[i] = BLKLAT_SLOT_FREE;
		note_end(EARLIER, EARLIER_BYTES, EARLIER_NS);
	}
}

static void read_one(u32 capture)
{
	region_read(&w.k[capture].region, 0, 2000, &w.read[capture].w[0]);
}

static void end(void)
{
	for (u32 capture = 0; capture < CAPTURES; capture++)
		close_one(capture);
	snapshot_uninit(&w.carry);
}

/* All IOs are done once more, while the captures are read. */
static void begin_again(void)
{
	for (u32 i = 0; i < CPUS; i++) {
		run_out(&w.cpu[i]);
		w.cpu[i] = (struct cpu){ .io = i, .due = w.schedule.endless ? 0 : w.loads + any(60000) };
	}
	w.again = w.running = true;
}

/* The counts of the first capture and those of the second make one run. Returns the gap. */
static u64 take_over(struct accounting *ret)
{
	struct carried list[MOST_WATCHES];
	u64 gap_ns, skipped = 0;

	for (u32 i = 0; i <= w.parts; i++)
		list[i] = (struct carried){
			.of = &w.k[FIRST], .from = i, .to = i, .carry = &w.carry.w[i], .read_from = &w.read[FIRST].w[i], .read_to = &w.read[SECOND].w[i],
		};
	if (w.schedule.again)
		begin_again();
	read_one(SECOND);
	read_one(FIRST);
	w.running = true;
	assert_int_equal(carry_over(&w.k[SECOND], list, 1 + w.parts, &gap_ns), 0);
	w.running = false;
	for (u32 i = 0; i < CPUS; i++)
		run_out(&w.cpu[i]);
	read_one(SECOND);
	for (u32 i = 0; i <= w.parts; i++)
		carry_add(&w.read[SECOND].w[i], &w.carry.w[i]);
	accounting_make(&w.read[SECOND], 0, CPUS, &skipped, ret);
	assert_int_equal(ret->started, w.ended + w.hidden);
	assert_int_equal(ret->in_flight, 0);
	assert_int_equal(ret->completed + ret->lost, w.ended + w.hidden);
	if (!w.schedule.endless)
		assert_int_equal(ret->lost, ret->lost_by[LOST_TAG_RANGE] + ret->lost_by[LOST_OVERWRITTEN]);
	return gap_ns;
}

/* A part has ops of its own, and nothing else. */
static void assert_part(u32 p)
{
	const struct watch_counts *part = &w.read[SECOND].w[p];

	assert_int_equal(hist_count(&part->ops[0].hist), w.ended_of[p]);
	assert_int_equal(part->ops[0].bytes, w.bytes_of[p]);
	assert_int_equal(part->started, 0);
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		assert_int_equal(part->accounts[cell], 0);
}

/* For IOs that both captures see. */
static void assert_exact(const struct schedule *s, u64 seed)
{
	const struct op_counts *op;
	struct accounting a;

	begin(s, seed);
	assert_int_equal(take_over(&a), 0);
	op = &w.read[SECOND].w[0].ops[0];
	assert_int_equal(a.completed, w.ended);
	assert_int_equal(op->bytes, w.bytes);
	assert_int_equal(op->errors, w.errors);
	assert_in_range(op->sum_ns, w.sum_ns, w.sum_ns + 2 * IOS);
	for (u32 p = 1; p <= w.parts; p++)
		assert_part(p);
	end();
}

/* --- the tests ------------------------------------------------------------------------------ */

static const struct schedule paces[] = {
	{ .between_stores = 1, .between_ios = 2000, .own = { CPUS, CPUS } },
	{ .between_stores = 5, .between_ios = 2000, .own = { CPUS, CPUS } },
	{ .between_stores = 40, .between_ios = 3000, .own = { CPUS, CPUS } },
	{ .between_stores = 200, .between_ios = 20000, .own = { CPUS, CPUS } },
	{ .between_stores = 500, .between_ios = 60000, .own = { CPUS, CPUS } },
	{ .between_stores = 3, .between_ios = 60000, .own = { CPUS, CPUS } },
	/* A moment at which all CPUs that share rest is rarer. */
	{ .between_stores = 5, .between_ios = 20000 },
	{ .between_stores = 5, .between_ios = 20000, .own = { 1, 0 } },
	{ .between_stores = 40, .between_ios = 30000, .own = { 0, CPUS } },
	{ .between_stores = 3, .between_ios = 60000, .own = { CPUS, 1 } },
};

TEST(test_ends_meanwhile)
{
	for (u64 seed = 0; seed < 120; seed++)
		assert_exact(&paces[seed % ARRAY_SIZE(paces)], seed);
}

/* A CPU is held up between two stores, for a few pauses of the reader or until all is over. */
TEST(test_held_up)
{
	for (u64 seed = 0; seed < 210; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.hold_at = 1 + seed % 13;
		s.hold_after = seed % 2 ? 1 + seed % 7 : 0;
		s.hold_for = !s.hold_after ? 20 : seed % 3 ? 5 : UINT32_MAX;
		assert_exact(&s, seed);
	}
}

/* What only the second capture has slots for is either an IO or reported as lost; its bytes go the same way. */
TEST(test_beyond_the_first)
{
	struct accounting a;

	for (u64 seed = 0; seed < 120; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.beyond = true;
		begin(&s, seed);
		assert_int_equal(take_over(&a), 0);
		assert_int_equal(a.lost, a.lost_by[LOST_TAG_RANGE]);
		assert_int_equal(w.read[SECOND].w[0].ops[0].bytes,
				 CPUS * EARLIER * EARLIER_BYTES + (a.completed - CPUS * EARLIER) * 4096);
		end();
	}
}

/* IOs that were started with tags that no longer exist stay counted. */
TEST(test_fewer_in_one_dimension)
{
	for (u64 seed = 0; seed < 100; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.fewer = true;
		assert_exact(&s, seed);
	}
}

/* Nothing was in flight a moment ago. An IO that starts just now, in any slot, is not mistaken for one left over. */
TEST(test_begins_meanwhile)
{
	struct accounting a;

	for (u64 seed = 0; seed < 420; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.again = true;
		s.beyond = seed % 2;
		s.hides = seed % 3;
		s.hold_at = seed % 7;
		s.hold_for = seed % 7 ? seed % 5 : 0;
		begin(&s, seed);
		assert_int_equal(take_over(&a), 0);
		if (!s.beyond) {
			assert_int_equal(a.completed, w.ended);
			assert_int_equal(a.lost_by[LOST_OVERWRITTEN], w.hidden);
		}
		end();
	}
}

/*
 * IOs for which the first capture has no slots keep starting, several while all slots are looked at: each is lost
 * or an IO, once.
 */
TEST(test_begin_beyond_without_a_pause)
{
	struct accounting a;
	u64 gap_ns;

	for (u64 seed = 0; seed < 100; seed++) {
		const struct schedule s = {
			.between_stores = 1 + seed % 5, .between_ios = 800, .beyond = true, .again = true, .endless = true,
		};

		begin(&s, seed);
		gap_ns = take_over(&a);
		assert_true(gap_ns || !a.lost_by[LOST_UNEXPLAINED]);
		assert_true(w.ended > 10 * IOS);
		assert_int_equal(a.lost_by[LOST_OVERWRITTEN], 0);
		assert_int_equal(a.lost, a.lost_by[LOST_TAG_RANGE] + a.lost_by[LOST_UNEXPLAINED]);
		end();
	}
}

/* Where IOs are divided, what was in a part stays there, and is in the whole once. */
TEST(test_parts)
{
	for (u64 seed = 0; seed < 126; seed++) {
		struct schedule s = paces[seed % ARRAY_SIZE(paces)];

		s.by = BLKLAT_BY_SIZE;
		s.hold_at = seed % 14;
		s.hold_after = 1 + seed % 7;
		s.hold_for = seed % 5;
		assert_exact(&s, seed);
	}
}

/* Where nothing is in flight one look is enough. */
TEST(test_at_rest)
{
	const struct schedule s = { .between_stores = 1, .between_ios = 1 };
	struct accounting a;

	begin(&s, 1);
	for (u32 i = 0; i < CPUS; i++)
		run_out(&w.cpu[i]);
	assert_int_equal(take_over(&a), 0);
	assert_int_equal(a.completed, w.ended);
	assert_int_equal(w.pauses, 0);
	end();
}
