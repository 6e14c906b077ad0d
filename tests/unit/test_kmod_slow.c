// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's ring of slow IOs, as its reader sees it while the kernel writes: what is reported, in order, each
 * IO once.
 */
#include "unit.h"

#include "blklat/parts.h"
#include "engine/slow.h"

enum { WATCHES = 4, PARTS = 1, PLACES = 8 };

static struct {
	struct kernel_capture k;
	struct kmod_slow slow;
	struct watch watches[WATCHES];
	struct watch_state state[WATCHES];
	u64 untold[WATCHES];
	u32 written;			/* number of the next slow IO that the kernel writes */
} t;

void set_up(void)
{
	static struct device_table devices = { .root = "" };

	memset(&t, 0, sizeof(t));
	t.slow.places = PLACES;
	t.slow.ring = calloc(1, BLKLAT_SLOW_RING_BYTES(PLACES));
	t.k.parts = PARTS;
	t.k.capture.watches = t.watches;
	t.k.capture.n_watches = WATCHES;
	t.k.capture.devices = &devices;
	t.k.capture.slow = &t.k.slow_ios;
	t.k.slow_untold = t.untold;
	t.k.state = t.state;
	assert_int_equal(slow_ios_init(&t.k.slow_ios, WATCHES, 100), 0);
}

void tear_down(void)
{
	slow_ios_uninit(&t.k.slow_ios);
	free(t.slow.ring);
}

/* Reports number @number, of @watch; its latency identifies it. */
static void tell_as(u32 number, u32 watch)
{
	struct blklat_slow_place *p = &t.slow.ring->place[number % PLACES];

	p->io = (struct blklat_slow){ .latency_ns = 1000 + number, .watch = watch, .op = BLKLAT_OP_WRITE };
	p->next = number + 1;
}

static void tell(u32 n, u32 watch)
{
	while (n--)
		tell_as(t.written++, watch);
}

/* A read finds so many slow IOs of the two wholes and lists this many. All that is ready is taken. */
static void expect(u32 first_found, u32 second_found, u32 listed)
{
	const struct snapshot s = { .mono_ns = 5000, .wall_ns = 7000 };

	assert_int_equal(kmod_slow_read(&t.slow, &t.k, &s), 0);
	assert_int_equal(slow_finish(&t.k), 0);
	assert_int_equal(t.k.slow_ios.of[0].found, first_found);
	assert_int_equal(t.k.slow_ios.of[2].found, second_found);
	assert_int_equal(t.k.slow_ios.n, listed);
	assert_int_equal(t.slow.ring->taken, t.slow.next);
}

TEST(each_is_taken_once)
{
	expect(0, 0, 0);
	tell(3, 0);
	tell(2, 3);
	expect(3, 2, 5);
	assert_int_equal(t.k.slow_ios.io[0].told.latency_ns, 1002);
	assert_int_equal(t.k.slow_ios.io[3].watch, 2);
	expect(0, 0, 0);
	for (u32 i = 0; i < 5; i++) {
		tell(PLACES, 2);
		expect(0, PLACES, PLACES);
	}
	assert_int_equal(t.slow.next, t.written);
}

/* After the largest number they go on from 0. */
TEST(numbers_wrap_around)
{
	t.written = t.slow.next = t.slow.ring->taken = -5;
	for (u32 i = 0; i < 4; i++) {
		tell(3, 0);
		expect(3, 0, 3);
	}
	assert_int_equal(t.slow.next, 7);
}

/* One that is still being written holds back those behind it until the next read. */
TEST(what_is_not_written_yet_comes_later)
{
	tell(1, 0);
	tell_as(2, 0);
	expect(1, 0, 1);
	tell_as(1, 0);
	expect(2, 0, 2);
	assert_int_equal(t.slow.next, 3);
}

TEST(what_found_no_place_is_counted)
{
	tell(PLACES, 0);
	t.untold[0] = 4;
	t.untold[2] = 9;
	expect(PLACES + 4, 9, PLACES);
	t.untold[2] = 10;
	expect(0, 1, 0);
}

/* What can't be of this capture is skipped. */
TEST(nonsense_is_left_out)
{
	tell(1, WATCHES);
	tell(1, UINT32_MAX);
	tell(1, 1);
	t.slow.ring->place[2].io.op = BLKLAT_OPS;
	tell(1, 1);
	t.slow.ring->place[3].io.beside = BLKLAT_BESIDE_PARTS + 1;
	tell(1, 1);
	t.slow.ring->place[4].io.flags = BLKLAT_FLAGS_PARTS + 1;
	tell(1, 1);
	expect(1, 0, 1);
	assert_int_equal(t.slow.next, 6);
}
