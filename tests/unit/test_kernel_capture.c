// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device at rest that does not add up: how often it is read again, since each time costs a wait, and when it counts as a
 * loss. And a device that goes away between two reads.
 */
#include "unit.h"

#include "core/accounting.h"
#include "engine/gone.h"
#include "engine/halts.h"
#include "engine/kernel_capture.h"
#include "fake_region.h"
#include "util/clock.h"

static struct world {
	struct kernel_capture k;	/* first, as engines have it */
	struct fake *f;
	struct device_table devices;
	struct device device;
	u32 reads;
	u32 mend_at;			/* the reading at which the missing bin appears; 0: never */
	bool moves;			/* a bio of watch 2 starts in the middle of each reading */
	u32 bios;			/* of watch 2, in flight */
	bool late;			/* an IO of watch 0 comes after the first reading */
	u32 end_amid;			/* bios of watch 2 that end between counting the bios and reading the bins */
} t;

static const struct latency some = { 1048576, 0 };

#define BIOS_START_NS 1000	/* by CLOCK_MONOTONIC: they are as old as the machine's boot */

/* A start, and an end that freed its slot: all but the bin. */
static void end_without_bin(u32 slot)
{
	t.f->slots[1].started[slot]++;
	t.f->slots[1].ended[slot]++;
	t.f->slots[1].ns[slot] = BLKLAT_SLOT_FREE;
}

static int count_bios(struct kernel_capture *k)
{
	/* Called once before a reading and once after it. */
	if (++t.reads == 2 * t.mend_at - 1)
		fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	if (t.late && t.reads == 2) {
		end_without_bin(1);
		fake_io(t.f, 1, 0, BLKLAT_OP_READ, some);
	}
	if (t.moves && t.reads % 2 == 0) {
		++*fake_account(t.f, 0, 2, BLKLAT_STARTED);
		t.bios++;
	}
	for (u32 i = 0; i < FAKE_WATCHES; i++) {
		k->bios[i].earliest_ns = i == 2 && t.bios ? BIOS_START_NS : UINT64_MAX;
		k->bios[i].in_flight = i == 2 ? t.bios : 0;
		k->bios[i].starts_ns = i == 2 ? t.bios * BIOS_START_NS : 0;
	}
	for (; t.end_amid; t.end_amid--, t.bios--)
		fake_io(t.f, 0, 2, BLKLAT_OP_READ, some);
	return 0;
}

static void remove_watch(struct kernel_capture *k, u32 whole)
{
	(void)k, (void)whole;
}

static const struct kernel_hooks hooks = { .count_bios = count_bios, .remove = remove_watch };

void set_up(void)
{
	t = (struct world){ .f = fake_new(3), .device = { .kind = "loop" } };
	t.k.hooks = &hooks;
	t.k.capture.devices = &t.devices;
	t.k.capture.room = FAKE_WATCHES;
	t.k.capture.n_watches = FAKE_WATCHES;
	t.k.capture.watches = calloc(FAKE_WATCHES, sizeof(struct watch));
	for (u32 i = 0; i < FAKE_WATCHES; i++)
		t.k.capture.watches[i] = (struct watch){ .device = &t.device, .stage = BLKLAT_STAGE_DEVICE };
	t.k.capture.watches[2].stage = BLKLAT_STAGE_TOTAL;
	t.k.region = t.f->r;
	t.f->r.owns = (struct owns){ 0 };
	t.f->r.starts = NULL;
	t.k.region.ranges = memcpy(calloc(FAKE_WATCHES, sizeof(*t.f->ranges)), t.f->ranges, sizeof(t.f->ranges));
	t.k.bios = calloc(FAKE_WATCHES, sizeof(*t.k.bios));
	t.k.state = calloc(FAKE_WATCHES, sizeof(*t.k.state));
	for (u32 i = 0; i < FAKE_WATCHES; i++)	/* there is no such device in sysfs */
		t.k.state[i] = (struct watch_state){ .gone = true, .told = true, .files = DEVICE_FILES_NONE };
}

void tear_down(void)
{
	kernel_capture_uninit(&t.k);
}

/* Returns how many readings one read took. */
static u32 readings(void)
{
	struct problem p;

	t.reads = 0;
	assert_int_equal(kernel_capture_read(&t.k.capture, &t.f->now, &p), 0);
	gone_reported(&t.k);
	return t.reads / 2;
}

static void a_second_passes(void)
{
	for (u32 i = 0; i < FAKE_WATCHES; i++)
		t.k.state[i].gap.since_ns -= NSEC_PER_SEC;
}

TEST(test_adds_up)
{
	assert_int_equal(readings(), 1);
	end_without_bin(0);
	fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	assert_int_equal(readings(), 1);
	/* No bio is in flight, so none is old. */
	assert_int_equal(t.f->now.w[2].oldest_ns, 0);
}

TEST(test_a_bin_that_comes_a_moment_later)
{
	end_without_bin(0);
	t.mend_at = 3;
	assert_int_equal(readings(), 3);
	assert_int_equal(hist_count(&t.f->now.w[0].ops[BLKLAT_OP_READ].hist), 1);
	t.mend_at = 0;
	assert_int_equal(readings(), 1);
}

/* Each read waits for a possible loss, for a second, then no more. Another one is waited for again. */
TEST(test_a_loss_is_waited_for)
{
	for (u32 n = 0; n < 2; n++) {
		end_without_bin(n);
		assert_int_equal(readings(), 4);
		assert_int_equal(readings(), 4);
		a_second_passes();
		assert_int_equal(readings(), 4);
		assert_int_equal(readings(), 1);
	}
}

/* A loss is remembered while moving IOs hide it, and when IOs go on. */
TEST(test_a_loss_is_remembered_while_something_moves)
{
	++*fake_account(t.f, 1, 2, BLKLAT_STARTED);
	assert_int_equal(readings(), 4);
	a_second_passes();
	assert_int_equal(readings(), 4);
	t.moves = true;
	assert_int_equal(readings(), 1);
	t.moves = false;
	assert_int_equal(readings(), 1);
	fake_io(t.f, 0, 2, BLKLAT_OP_READ, some);
	t.bios = 0;
	assert_int_equal(readings(), 1);
}

/* Returns the losses of a watch after a read, and how many IOs may have been moving. */
static u64 lost(u32 watch, u64 *ret_moved)
{
	struct accounting a;
	u64 skipped = 0;

	readings();
	accounting_make(&t.f->now, watch, FAKE_CPUS, &skipped, &a);
	assert_int_equal(a.lost, a.lost_by[LOST_UNEXPLAINED]);
	*ret_moved = a.moved;
	return a.lost;
}

/*
 * An IO whose bin comes some intervals later, because its CPU was away for so long, was never lost; nor is the next such
 * IO.
 */
TEST(test_a_bin_that_comes_an_interval_later)
{
	u64 moved;

	for (u32 n = 0; n < 2; n++) {
		end_without_bin(n);
		for (u32 reads = 0; reads < 3; reads++) {
			assert_int_equal(lost(0, &moved), 0);
			assert_int_equal(moved, FAKE_CPUS);
		}
		fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
		assert_int_equal(lost(0, &moved), 0);
		assert_int_equal(moved, 0);
	}
}

/* An IO whose bin never comes is lost after a second, at a stage with slots as with bios. */
TEST(test_a_bin_that_never_comes)
{
	u64 moved;

	for (u32 watch = 0; watch < FAKE_WATCHES; watch += 2) {
		tear_down();
		set_up();
		if (watch == 2)
			++*fake_account(t.f, 1, 2, BLKLAT_STARTED);
		else
			end_without_bin(0);
		assert_int_equal(lost(watch, &moved), 0);
		a_second_passes();
		for (u32 n = 0; n < 3; n++) {
			assert_int_equal(lost(watch, &moved), 1);
			assert_int_equal(moved, 0);
		}
	}
}

/* What bios that hung had waited for is in their latencies once they end, and no longer in the ages. */
TEST(test_bios_that_end_while_they_are_read)
{
	const struct watch_counts *w;
	u64 all;

	w = &t.f->now.w[2];
	t.bios = 14;
	*fake_account(t.f, 0, 2, BLKLAT_STARTED) = 14;
	readings();
	all = 14 * (t.f->now.mono_ns - BIOS_START_NS);
	assert_int_equal(w->waited_ns, all);
	t.end_amid = 13;
	readings();
	assert_int_equal(hist_count(&w->ops[BLKLAT_OP_READ].hist), 13);
	assert_int_equal(w->started_after - w->in_flight_after - w->started + w->in_flight, 13);
	assert_int_equal(w->waited_ns, t.f->now.mono_ns - BIOS_START_NS);
}

/* A reading that did not settle is repeated, some 20 ms later: what the last one found is of its own time. */
TEST(test_the_time_is_of_the_last_reading)
{
	u64 begin_ns;

	end_without_bin(0);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(readings(), 4);
	assert_true(t.f->now.mono_ns >= begin_ns + (1 + 4 + 16) * 1000000);
}

/* A device that goes away during an interval has that interval's extremes, though older ones are in the same bin. */
TEST(test_extremes_of_a_device_that_goes)
{
	const struct latency first = latency_of(1000), longer = { first.ns + 50, 1000 };
	struct op_counts *o;

	t.k.capture.scale = 3;
	end_without_bin(0);
	fake_io(t.f, 0, 0, BLKLAT_OP_READ, first);
	readings();
	snapshot_copy(&t.f->before, &t.f->now);
	end_without_bin(0);
	fake_io(t.f, 1, 0, BLKLAT_OP_READ, longer);
	t.k.state[0].told = false;
	gone_freeze(&t.k);
	readings();
	o = &t.f->now.w[0].ops[BLKLAT_OP_READ];
	assert_int_equal(hist_count(&o->hist), 2);
	assert_int_equal(fake_extremes(t.f, 0, BLKLAT_OP_READ).min_ns, longer.ns);
	assert_int_equal(fake_extremes(t.f, 0, BLKLAT_OP_READ).max_ns, longer.ns);
}

/*
 * A device goes away after the region was read, but before its statistics: its IOs in between must not be left to the next
 * interval, which no longer has the device.
 */
TEST(test_one_that_goes_while_it_is_read)
{
	t.k.capture.scale = 3;
	t.k.state[0] = (struct watch_state){ .files = DEVICE_FILES_NONE };
	end_without_bin(0);
	fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	t.late = true;
	readings();
	assert_true(t.f->now.w[0].gone);
	assert_int_equal(hist_count(&t.f->now.w[0].ops[BLKLAT_OP_READ].hist), 2);
	readings();
	assert_true(t.f->now.w[0].gone);
	assert_int_equal(hist_count(&t.f->now.w[0].ops[BLKLAT_OP_READ].hist), 2);
}

/* --- halts: looks at 1.0, 1.1 ... s, in which watch 0 is seen as told, and a read at 2 s -------- */

#define MS 1000000ULL

/* An IO is in flight in slot 0 since @start_ns; 0: none is. */
static void in_flight_since(u64 start_ns)
{
	t.f->slots[1].started[0]++;
	t.f->slots[1].ended[0] += !start_ns;
	t.f->slots[1].ns[0] = start_ns ?: BLKLAT_SLOT_FREE;
}

static void looks(u64 from_ms, u64 to_ms, bool ends)
{
	for (u64 ms = from_ms; ms <= to_ms; ms += 100) {
		if (ends)
			fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
		halts_look(&t.k, ms * MS);
	}
}

/* @ends: also since the last look. */
static const struct watch_counts *halts_at(u64 ms, bool ends)
{
	if (ends)
		fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	t.f->now.mono_ns = ms * MS;
	t.f->now.w[0].in_flight = t.f->slots[1].ns[0] > BLKLAT_SLOT_VACANT;
	t.f->now.w[2].in_flight = t.bios;
	halts_read(&t.k, &t.f->now);
	return &t.f->now.w[0];
}

static void begin_halts(void)
{
	t.k.state[0] = (struct watch_state){ .files = DEVICE_FILES_NONE };
}

static void assert_halt(const struct watch_counts *w, u64 from_ms, u64 to_ms)
{
	assert_int_equal(w->n_halts, 1);
	assert_int_equal(w->halts[0].from_ns, from_ms * MS);
	assert_int_equal(w->halts[0].to_ns, to_ms * MS);
}

/* The last IO before it ends between 1.2 and 1.3 s, the next one between 1.7 and 1.8 s. */
TEST(test_a_halt_within_an_interval)
{
	begin_halts();
	looks(1000, 1300, true);
	in_flight_since(1250 * MS);
	looks(1400, 1700, false);
	looks(1800, 1900, true);
	assert_halt(halts_at(2000, true), 1250, 1750);
	assert_int_equal(halts_at(3000, false)->n_halts, 1);	/* the IO still is in flight, and none ends */
}

/* It is told in both intervals, without a gap. */
TEST(test_a_halt_goes_on)
{
	begin_halts();
	looks(1000, 1500, true);
	in_flight_since(1450 * MS);
	looks(1600, 1900, false);
	assert_halt(halts_at(2000, false), 1450, 2000);
	looks(2100, 2200, false);
	looks(2300, 2900, true);
	assert_halt(halts_at(3000, true), 2000, 2250);
}

/* The last look comes late, so the read soon after it is none: until when the halt lasted is told by then, and not taken back. */
TEST(test_a_halt_that_ends_before_a_read)
{
	begin_halts();
	looks(1000, 1300, true);
	in_flight_since(1250 * MS);
	looks(1400, 1500, false);
	halts_look(&t.k, 1900 * MS);
	assert_halt(halts_at(2000, false), 1250, 2000);
	looks(2050, 2950, true);	/* halfway from 1.9 to 2.05 s */
	assert_int_equal(halts_at(3000, true)->n_halts, 0);
}

/* No IO is in flight at the read, and the first one after it waits. */
TEST(test_a_halt_from_a_read_on)
{
	begin_halts();
	looks(1000, 1900, true);
	assert_int_equal(halts_at(2000, true)->n_halts, 0);
	in_flight_since(2010 * MS);
	looks(2100, 2700, false);
	looks(2800, 2900, true);
	assert_halt(halts_at(3000, true), 2050, 2750);
}

/* A load that rests; and IOs that began only after the last look. */
TEST(test_no_halt)
{
	begin_halts();
	looks(1000, 1300, true);
	looks(1400, 1900, false);
	assert_int_equal(halts_at(2000, false)->n_halts, 0);
	looks(2100, 2100, true);
	for (u64 ms = 2200; ms <= 3000; ms += 100) {
		in_flight_since((ms - 50) * MS);
		halts_look(&t.k, ms * MS);
	}
	assert_int_equal(halts_at(3000, false)->n_halts, 0);
}

/* Bios have no slots, but are counted; watch 2 is at stage total. */
TEST(test_a_halt_of_bios)
{
	begin_halts();
	t.k.state[2] = (struct watch_state){ .files = DEVICE_FILES_NONE };
	looks(1000, 1000, true);
	fake_io(t.f, 0, 2, BLKLAT_OP_READ, some);
	t.bios = 3;
	looks(1100, 1900, false);
	halts_at(2000, false);
	assert_halt(&t.f->now.w[2], 1050, 2000);
	assert_int_equal(t.f->now.w[0].n_halts, 0);
	/* Its device goes: what is in flight does not wait for it. */
	t.k.state[2].gone = true;
	halts_at(3000, false);
	assert_int_equal(t.f->now.w[2].n_halts, 0);
}
