// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capture that takes over from one whose watches are divided: each IO stays in its part, and is counted in the whole
 * once.
 */
#include "renew_world.h"

enum { WHOLE_SDB = 1 + BLKLAT_SIZE_PARTS, SMALL = 1, LARGE = 5, SMALL_BYTES = 4096, LARGE_BYTES = 65536 };

/* A disk's IOs of two sizes, this many of each; each in its part and in the whole once, the parts with nothing else. */
static void check_parts(u32 whole, u64 small, u64 large)
{
	const struct watch_counts *c = &w.s.w[whole];

	assert_null(w.c->watches[whole].part);
	assert_string_equal(w.c->watches[whole + SMALL].part->label, "4 KiB");
	assert_string_equal(w.c->watches[whole + LARGE].part->label, "64 KiB");
	assert_int_equal(ios(c), small + large);
	assert_int_equal(c->ops[0].bytes, small * SMALL_BYTES + large * LARGE_BYTES);
	for (u32 p = 1; p <= BLKLAT_SIZE_PARTS; p++) {
		u64 n = p == SMALL ? small : p == LARGE ? large : 0;

		assert_int_equal(ios(c + p), n);
		assert_int_equal(c[p].ops[0].bytes, n * (p == SMALL ? SMALL_BYTES : LARGE_BYTES));
		assert_int_equal(c[p].started, 0);
		assert_int_equal(c[p].gone, c->gone);
		for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
			assert_int_equal(c[p].accounts[cell], 0);
	}
}

static void sized_io(u32 disk, u32 tag, u64 ns, u64 bytes)
{
	w.bytes = bytes;
	io(disk, tag, ns);
}

static void begin_parts(u32 disks)
{
	begin_by(disks, BLKLAT_BY_SIZE);
	for (u32 n = 0; n < 3; n++)
		sized_io(0, n, 1000, SMALL_BYTES);
	sized_io(0, 3, 2000, LARGE_BYTES);
}

TEST(test_parts_at_rest)
{
	begin_parts(1);
	check(read_watch(0), 4, 0, 0);
	check_parts(0, 3, 1);
	put("sda", "queue/nr_requests", "1000\n");
	sized_io(0, BEYOND, 1000, LARGE_BYTES);
	check(read_watch(0), 4, 0, 1);
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.open[1]->k.parts, BLKLAT_SIZE_PARTS);
	check_parts(0, 3, 1);
	sized_io(0, BEYOND, 1000, LARGE_BYTES);
	sized_io(0, 5, 500000, SMALL_BYTES);
	check(read_watch(0), 6, 0, 1);
	check_parts(0, 4, 2);
	/* Extremes of their own, and those of the whole. */
	assert_int_equal(w.s.w[LARGE].ops[0].max_ns, 1000);
	assert_int_equal(w.s.w[0].ops[0].max_ns, 500000);
	/* Then on to a third capture. */
	put("sda", "queue/nr_requests", "2048\n");
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 6, 0, 2);
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 7, 0, 2);
	check_parts(0, 4, 3);
	assert_int_equal(w.renewals, 2);
	assert_int_equal(w.s.w[0].kernel_ios, 9);
}

/* In the part that it started in; what is counted while both captures exist is counted once. */
TEST(test_parts_in_flight)
{
	begin_parts(1);
	w.bytes = LARGE_BYTES;
	start(0, 5);
	put("sda", "queue/nr_requests", "1000\n");
	check(read_watch(0), 4, 1, 0);
	assert_int_equal(w.s.w[LARGE].in_flight, 1);
	for (u32 n = 6; n < 10; n++)
		sized_io(0, n, 1000, SMALL_BYTES);
	w.bytes = SMALL_BYTES;
	start(0, BEYOND);
	start(0, 10);
	check(read_watch(0), 8, 2, 0);
	check_parts(0, 7, 1);
	w.bytes = LARGE_BYTES;
	end(0, 5, 70000);
	check(read_watch(0), 9, 2, 0);
	assert_int_equal(w.renewals, 1);
	check_parts(0, 7, 2);
	assert_int_equal(w.s.w[SMALL].in_flight, 2);
	assert_int_equal(w.s.w[LARGE].in_flight, 0);
	w.bytes = SMALL_BYTES;
	end(0, BEYOND, 80000);
	end(0, 10, 80000);
	check(read_watch(0), 11, 0, 0);
	check_parts(0, 9, 2);
}

/* A disk that is gone keeps its parts, and the larger capture has only those of the other disk. */
TEST(test_parts_beside_a_disk_that_is_gone)
{
	begin_parts(2);
	sized_io(1, 1, 1000, LARGE_BYTES);
	check(read_watch(0), 4, 0, 0);
	remove_disk("sda");
	read_watch(0);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; n < 2; n++)
		check(read_watch(WHOLE_SDB), 1, 0, 0);
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.open[1]->k.capture.n_watches, 1 + BLKLAT_SIZE_PARTS);
	for (u32 n = 0; n < 3; n++)
		sized_io(1, BEYOND, 1000, n ? SMALL_BYTES : LARGE_BYTES);
	check(read_watch(WHOLE_SDB), 4, 0, 0);
	check_parts(0, 3, 1);
	check_parts(WHOLE_SDB, 2, 2);
	assert_true(w.s.w[LARGE].gone);
}

/* It goes away and another one takes its place, after the larger capture was opened and before it takes over. */
TEST(test_parts_of_a_disk_that_goes_in_between)
{
	begin_parts(2);
	w.bytes = SMALL_BYTES;
	start(1, 5);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; w.opened == 1; n++) {
		assert_true(n < 3);
		read_watch(0);
	}
	sized_io(0, 1, 1000, LARGE_BYTES);
	remove_disk("sda");
	w.c->live->look(w.c);
	put_disk("sda", 0);
	for (u32 n = 0; n < 10; n++)
		sized_io(0, 2, 1000, SMALL_BYTES);
	assert_int_equal(w.renewals, 0);
	w.bytes = SMALL_BYTES;
	end(1, 5, 70000);
	check(read_watch(WHOLE_SDB), 1, 0, 0);
	assert_int_equal(w.renewals, 1);
	sized_io(1, BEYOND, 1000, LARGE_BYTES);
	for (u32 n = 0; n < 2; n++) {
		sized_io(0, 2, 1000, SMALL_BYTES);
		check(read_watch(0), 5, 0, 0);
		check_parts(0, 3, 2);
		check_parts(WHOLE_SDB, 1, 1);
		assert_true(w.s.w[0].gone);
	}
}
