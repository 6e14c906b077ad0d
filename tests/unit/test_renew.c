// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capture that is opened anew with more room: all that is read is compared with what was done. And devices that go
 * away between two reads.
 */
#include "renew_world.h"

TEST(test_stays_while_it_fits)
{
	begin(1);
	for (u32 n = 1; n <= 5; n++) {
		io(0, n, 1000);
		check(read_disk(0), n, 0, 0);
		put("sda", "queue/nr_requests", n % 2 ? "500\n" : "16\n");
	}
	assert_int_equal(w.opened, 1);
	assert_int_equal(w.renewals, 0);
}

/* Noticed before it causes a loss. */
TEST(test_nothing_is_lost_at_rest)
{
	begin(2);
	io(1, 3, 1000);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; n < 2; n++)
		read_disk(1);
	assert_int_equal(w.renewals, 1);
	assert_string_equal(w.last.device->name, "sdb");
	io(1, BEYOND, 1000);
	check(read_disk(1), 2, 0, 0);
}

/* An IO that was lost before the larger capture existed stays lost; that one has not seen its start either. */
TEST(test_lost_in_flight)
{
	struct accounting a;

	begin(1);
	put("sda", "queue/nr_requests", "1000\n");
	start(0, BEYOND);
	check(read_disk(0), 0, 0, 1);
	assert_int_equal(w.renewals, 1);
	end(0, BEYOND, 90000);
	a = read_disk(0);
	check(a, 0, 0, 1);
	assert_int_equal(a.before, 1);
}

/* An IO that hangs does not hold it up for ever: it is then reported as lost. */
TEST(test_one_that_hangs)
{
	struct accounting a;

	begin(1);
	start(0, 5);
	put("sda", "queue/nr_requests", "1000\n");
	for (u32 n = 0; !w.renewals; n++) {
		assert_true(n < 20);
		read_disk(0);
	}
	a = read_disk(0);
	assert_int_equal(a.lost_by[LOST_UNEXPLAINED], 1);
	end(0, 5, 1000);
	a = read_disk(0);
	assert_int_equal(a.lost, 1);
	assert_int_equal(a.before, 1);
	assert_int_equal(a.completed, 0);
}

/* It goes on as before, and says so once, not at each read. */
TEST(test_cannot_be_opened)
{
	begin(1);
	put("sda", "queue/nr_requests", "1000\n");
	w.refuse = -E2BIG;
	for (u32 n = 1; n < 5; n++) {
		io(0, 3, 1000);
		io(0, BEYOND, 1000);
		check(read_disk(0), n, 0, n);
	}
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.last.err, -E2BIG);
	assert_string_equal(w.last.problem.text, "not now");
	assert_int_equal(w.opened, 1);
}

/* A device that is gone keeps its counts, and is not part of the larger capture. */
TEST(test_beside_one_that_is_gone)
{
	struct accounting a;

	begin(2);
	io(0, 1, 1000);
	io(1, 1, 1000);
	check(read_disk(0), 1, 0, 0);
	remove_disk("sda");
	read_disk(0);
	assert_true(w.s.w[0].gone);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; n < 2; n++)
		check(read_disk(0), 1, 0, 0);
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.open[1]->k.capture.n_watches, 1);
	for (u32 n = 0; n < 3; n++)
		io(1, BEYOND, 1000);
	a = read_disk(1);
	check(a, 4, 0, 0);
	assert_int_equal(a.kernel_ios, 4);
	assert_true(w.s.w[0].gone);
	assert_false(w.s.w[1].gone);
	assert_int_equal(ios(&w.s.w[0]), 1);
}

/* The kernel reports that it went away: what is counted at its address later belongs to another device. */
TEST(test_gone_between_reads)
{
	begin(2);
	read_disk(0);
	io(0, 1, 1000);
	remove_disk("sda");
	w.c->live->look(w.c);
	put_disk("sda", 0);
	for (u32 n = 0; n < 10; n++) {
		io(0, 2, 1000);
		io(1, 2, 1000);
	}
	for (u32 n = 0; n < 2; n++) {
		w.c->live->look(w.c);
		check(read_disk(0), 1, 0, 0);
		check(read_disk(1), 10, 0, 0);
		assert_true(w.s.w[0].gone);
		assert_false(w.s.w[0].replaced);
		assert_false(w.s.w[1].gone);
	}
}

/* Another device was there by the time of the check: some of the counts up to then may be its. */
TEST(test_replaced_between_reads)
{
	begin(1);
	io(0, 1, 1000);
	read_disk(0);
	assert_false(w.s.w[0].gone);
	put("sda", "diskseq", "8\n");
	io(0, 2, 1000);
	w.c->live->look(w.c);
	io(0, 2, 1000);
	for (u32 n = 0; n < 2; n++) {
		check(read_disk(0), 2, 0, 0);
		assert_true(w.s.w[0].gone);
		assert_true(w.s.w[0].replaced);
	}
}

/* Its IOs in flight are waited for, and one that never ends stays in flight. */
TEST(test_gone_with_an_io_in_flight)
{
	begin(1);
	start(0, 1);
	remove_disk("sda");
	w.c->live->look(w.c);
	check(read_disk(0), 0, 1, 0);
	assert_true(w.s.w[0].gone);
}

/* Once the devices are found, one goes away, or both. Only those that a pattern matched are left out. */
TEST(test_gone_before_it_opens)
{
	static const struct { bool matched[DISKS]; u32 stay; int err; } cases[] = {
		{ { false, true }, 1, 0 }, { { true, false }, 1, -ENODEV }, { { true, true }, 0, -ESTALE },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct watch watches[DISKS];
		struct capture_config cfg = { .devices = &w.t, .watches = watches, .n_watches = DISKS, .scale = 6 };
		struct capture *c = NULL;
		struct problem p = { 0 };

		begin(DISKS);
		for (u32 d = 0; d < DISKS; d++) {
			watches[d] = (struct watch){ .device = &w.t.d[d], .matched = cases[i].matched[d] };
			if (d >= cases[i].stay)
				remove_disk(w.t.d[d].name);
		}
		assert_int_equal(capture_open_present(&engine, &cfg, &c, &p), cases[i].err);
		assert_true(cases[i].err != -ENODEV || !strcmp(p.text, "sdb went away before it could be watched"));
		assert_true(!c || (c->n_watches == 1 && c->watches[0].device == &w.t.d[0]));
		if (c)
			c->ops->close(c);
		tear_down();
	}
}

/* --- watches that are divided: each IO stays in its part, and is counted in the whole once --------------------- */

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

/* Losses stay reported, everything later is counted, and the kernel's count goes on. */
TEST(test_parts_at_rest)
{
	begin_parts(1);
	check(read_watch(0), 4, 0, 0);
	check_parts(0, 3, 1);
	put("sda", "queue/nr_requests", "1000\n");
	sized_io(0, BEYOND, 1000, LARGE_BYTES);
	check(read_watch(0), 4, 0, 1);
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.last.err, 0);
	assert_string_equal(w.last.device->name, "sda");
	assert_int_equal(w.opened, 2);
	assert_null(w.open[0]);
	assert_int_equal(w.open[1]->k.parts, BLKLAT_SIZE_PARTS);
	check_parts(0, 3, 1);
	sized_io(0, BEYOND, 3000, LARGE_BYTES);
	sized_io(0, 5, 500000, SMALL_BYTES);
	check(read_watch(0), 6, 0, 1);
	check_parts(0, 4, 2);
	/* Extremes of their own, and those of the whole; of the interval, not of the run. */
	assert_int_equal(w.s.w[LARGE].ops[0].max_ns, 3000);
	assert_int_equal(w.s.w[0].ops[0].min_ns, 3000);
	assert_int_equal(w.s.w[0].ops[0].max_ns, 500000);
	/* Then on to a third capture, since the queue can grow again. */
	put("sda", "queue/nr_requests", "2048\n");
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 6, 0, 2);
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 7, 0, 2);
	check_parts(0, 4, 3);
	assert_int_equal(w.renewals, 2);
	assert_int_equal(w.opened, 3);
	assert_true(w.s.w[0].kernel_known);
	assert_int_equal(w.s.w[0].kernel_ios, 9);
}

/*
 * IOs in flight when the larger capture was opened are waited for; each is counted once, with its latency, in the part that
 * it started in, and so is what both captures see.
 */
TEST(test_parts_in_flight)
{
	begin_parts(1);
	w.bytes = LARGE_BYTES;
	start(0, 5);
	put("sda", "queue/nr_requests", "1000\n");
	check(read_watch(0), 4, 1, 0);
	assert_int_equal(w.s.w[LARGE].in_flight, 1);
	assert_int_equal(w.opened, 2);
	assert_int_equal(w.renewals, 0);
	for (u32 n = 6; n < 10; n++)
		sized_io(0, n, 1000, SMALL_BYTES);
	w.bytes = SMALL_BYTES;
	/* Only the larger one has a slot for the first. */
	start(0, BEYOND);
	start(0, 10);
	io(0, BEYOND + 1, 1000);
	check(read_watch(0), 8, 2, 1);
	check_parts(0, 7, 1);
	w.bytes = LARGE_BYTES;
	end(0, 5, 70000);
	check(read_watch(0), 9, 2, 1);
	assert_int_equal(w.renewals, 1);
	check_parts(0, 7, 2);
	assert_int_equal(w.s.w[SMALL].in_flight, 2);
	assert_int_equal(w.s.w[LARGE].in_flight, 0);
	w.bytes = SMALL_BYTES;
	end(0, BEYOND, 80000);
	end(0, 10, 80000);
	io(0, BEYOND + 1, 1000);
	check(read_watch(0), 12, 0, 1);
	check_parts(0, 10, 2);
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
