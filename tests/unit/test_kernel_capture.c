// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device at rest that does not add up: how often it is read again, since each time costs a wait, and when it counts as a
 * loss. And a device that goes away between two reads.
 */
#include "unit.h"

#include "core/accounting.h"
#include "engine/gone.h"
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

static int count_bios(struct kernel_capture *k)
{
	/* Called once before a reading and once after it. */
	if (++t.reads == 2 * t.mend_at - 1)
		fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	if (t.late && t.reads == 2)
		fake_io(t.f, 1, 0, BLKLAT_OP_READ, some);
	if (t.moves && t.reads % 2 == 0) {
		++*fake_account(t.f, 0, 2, BLKLAT_STARTED);
		t.bios++;
	}
	for (u32 i = 0; i < FAKE_WATCHES; i++) {
		k->bios[i].earliest_ns = UINT64_MAX;
		k->bios[i].in_flight = i == 2 ? t.bios : 0;
		k->bios[i].starts_ns = i == 2 ? t.bios * BIOS_START_NS : 0;
	}
	for (; t.end_amid; t.end_amid--, t.bios--)
		fake_io(t.f, 0, 2, BLKLAT_OP_READ, some);
	return 0;
}

static const struct kernel_hooks hooks = { .count_bios = count_bios };

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
	t.f->r.rested_at = NULL;
	t.k.region.ranges = memcpy(calloc(FAKE_WATCHES, sizeof(*t.f->ranges)), t.f->ranges, sizeof(t.f->ranges));
	t.k.bios = calloc(FAKE_WATCHES, sizeof(*t.k.bios));
	t.k.ios = calloc(FAKE_WATCHES, sizeof(*t.k.ios));
	t.k.gone = calloc(FAKE_WATCHES, sizeof(*t.k.gone));
	t.k.gaps = calloc(FAKE_WATCHES, sizeof(*t.k.gaps));
	for (u32 i = 0; i < FAKE_WATCHES; i++)
		t.k.gone[i].gone = t.k.gone[i].told = true;	/* there is no such device in sysfs */
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
	assert_int_equal(kernel_capture_read(&t.k, &t.f->now, &p), 0);
	gone_reported(&t.k);
	return t.reads / 2;
}

static void a_second_passes(void)
{
	for (u32 i = 0; i < FAKE_WATCHES; i++)
		t.k.gaps[i].since_ns -= NSEC_PER_SEC;
}

/* A start, and an end that freed its slot: all but the bin. */
static void end_without_bin(u32 slot)
{
	t.f->slots[1].started[slot]++;
	t.f->slots[1].ended[slot]++;
	t.f->slots[1].ns[slot] = BLKLAT_SLOT_FREE;
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
	fake_io(t.f, 0, 0, BLKLAT_OP_READ, first);
	readings();
	snapshot_copy(&t.f->before, &t.f->now);
	fake_io(t.f, 1, 0, BLKLAT_OP_READ, longer);
	t.k.gone[0].told = false;
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
	t.k.files = calloc(FAKE_WATCHES, sizeof(*t.k.files));
	t.k.gone[0] = (struct gone_watch){ 0 };
	fake_io(t.f, 0, 0, BLKLAT_OP_READ, some);
	t.late = true;
	readings();
	assert_true(t.f->now.w[0].gone);
	assert_int_equal(hist_count(&t.f->now.w[0].ops[BLKLAT_OP_READ].hist), 2);
	readings();
	assert_true(t.f->now.w[0].gone);
	assert_int_equal(hist_count(&t.f->now.w[0].ops[BLKLAT_OP_READ].hist), 2);
}
