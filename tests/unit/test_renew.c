// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capture that is opened anew with more room: whatever is read is held against what was done. And devices that go away
 * between two reads.
 */
#include "renew_world.h"

static u64 ios(const struct watch_counts *c)
{
	return hist_count(&c->ops[0].hist);
}

static void assert_grows(const struct watch_counts *before, const struct watch_counts *now)
{
	for (u32 cell = 0; cell < BLKLAT_CELLS(6); cell++)
		assert_true(now->ops[0].hist.cells[cell] >= before->ops[0].hist.cells[cell]);
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		assert_true(now->accounts[cell] >= before->accounts[cell]);
	assert_true(now->started >= before->started);
	assert_true(now->ops[0].sum_ns >= before->ops[0].sum_ns);
}

/* Reads; nothing that was told before becomes less, and it adds up. @i: number of the watch. */
static struct accounting read_watch(u32 i)
{
	struct accounting a;
	struct problem p;
	u64 skipped = 0;

	snapshot_copy(&w.before, &w.s);
	assert_int_equal(w.c->ops->read(w.c, &w.s, &p), 0);
	for (u32 n = 0; n < w.s.n; n++)
		assert_grows(&w.before.w[n], &w.s.w[n]);
	accounting_make(&w.s, i, 1, &skipped, &a);
	assert_int_equal(a.started, a.completed + a.in_flight + a.lost);
	return a;
}

static struct accounting read_disk(u32 disk)
{
	struct accounting a = read_watch(disk);

	assert_int_equal(w.s.w[disk].ops[0].bytes, a.completed * BYTES);
	return a;
}

static void check(struct accounting a, u64 completed, u64 in_flight, u64 lost)
{
	assert_int_equal(a.completed, completed);
	assert_int_equal(a.in_flight, in_flight);
	assert_int_equal(a.lost, lost);
	assert_int_equal(a.lost_by[LOST_TAG_RANGE], lost);
}

static void test_stays_while_it_fits(void **state)
{
	(void)state;
	begin(1);
	for (u32 n = 1; n <= 5; n++) {
		io(0, n, 1000);
		check(read_disk(0), n, 0, 0);
		put("sda", "queue/nr_requests", n % 2 ? "500\n" : "16\n");
	}
	assert_int_equal(w.opened, 1);
	assert_int_equal(w.renewals, 0);
	finish();
}

/* What was lost stays told; all that comes later is counted, and the kernel's count goes on. */
static void test_more_requests(void **state)
{
	struct accounting a;

	(void)state;
	begin(1);
	io(0, 3, 1000);
	check(read_disk(0), 1, 0, 0);
	put("sda", "queue/nr_requests", "1000\n");
	for (u32 n = 0; n < 7; n++)
		io(0, BEYOND + n, 2000);
	a = read_disk(0);
	check(a, 1, 0, 7);
	assert_int_equal(w.renewals, 1);
	assert_int_equal(w.last.err, 0);
	assert_string_equal(w.last.device->name, "sda");
	assert_int_equal(w.opened, 2);
	assert_null(w.open[0]);
	for (u32 n = 0; n < 5; n++)
		io(0, BEYOND + n, 3000);
	io(0, 3, 500000);
	a = read_disk(0);
	check(a, 7, 0, 7);
	assert_true(a.kernel_known);
	assert_int_equal(a.kernel_ios, 14);
	/* The interval's own extremes, not those of a run. */
	assert_int_equal(w.s.w[0].ops[0].min_ns, 3000);
	assert_int_equal(w.s.w[0].ops[0].max_ns, 500000);
	/* Once more, for it can grow again. */
	put("sda", "queue/nr_requests", "2048\n");
	a = read_disk(0);
	assert_int_equal(w.renewals, 2);
	io(0, 2047, 1000);
	check(read_disk(0), 8, 0, 7);
	assert_int_equal(w.opened, 3);
	finish();
}

/* Seen before anything is lost by it. */
static void test_nothing_is_lost_at_rest(void **state)
{
	(void)state;
	begin(2);
	io(1, 3, 1000);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; n < 2; n++)
		read_disk(1);
	assert_int_equal(w.renewals, 1);
	assert_string_equal(w.last.device->name, "sdb");
	io(1, BEYOND, 1000);
	check(read_disk(1), 2, 0, 0);
	finish();
}

/* What was in flight when the larger one was opened is waited for; it is counted once, with its latency. */
static void test_in_flight(void **state)
{
	(void)state;
	begin(1);
	start(0, 5);
	put("sda", "queue/nr_requests", "1000\n");
	check(read_disk(0), 0, 1, 0);
	assert_int_equal(w.opened, 2);
	assert_int_equal(w.renewals, 0);
	/* Both see these start; only the larger one has a slot for the second. */
	start(0, 6);
	start(0, BEYOND);
	io(0, BEYOND + 1, 1000);
	check(read_disk(0), 0, 2, 1);
	end(0, 5, 70000);
	check(read_disk(0), 1, 2, 1);
	assert_int_equal(w.renewals, 1);
	end(0, 6, 80000);
	end(0, BEYOND, 90000);
	io(0, BEYOND + 1, 1000);
	check(read_disk(0), 4, 0, 1);
	finish();
}

/* One that was lost before there was a larger one stays lost; that has not seen its start either. */
static void test_lost_in_flight(void **state)
{
	struct accounting a;

	(void)state;
	begin(1);
	put("sda", "queue/nr_requests", "1000\n");
	start(0, BEYOND);
	check(read_disk(0), 0, 0, 1);
	assert_int_equal(w.renewals, 1);
	end(0, BEYOND, 90000);
	a = read_disk(0);
	check(a, 0, 0, 1);
	assert_int_equal(a.before, 1);
	finish();
}

/* One that hangs does not hold it up for ever. It is lost then, and told. */
static void test_one_that_hangs(void **state)
{
	struct accounting a;

	(void)state;
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
	finish();
}

/* It goes on as it was, says so once, and not at each read. */
static void test_cannot_be_opened(void **state)
{
	(void)state;
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
	finish();
}

/* A device that is gone stays what it was, and is no part of the larger one. */
static void test_beside_one_that_is_gone(void **state)
{
	char path[128];
	struct accounting a;

	(void)state;
	begin(2);
	io(0, 1, 1000);
	io(1, 1, 1000);
	check(read_disk(0), 1, 0, 0);
	snprintf(path, sizeof(path), "%s/sys/block/sda", w.root);
	remove_tree(path);
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
	finish();
}

/* The kernel tells that it went away: what is counted afterwards at its address is another's. */
static void test_gone_between_reads(void **state)
{
	char path[128];

	(void)state;
	begin(2);
	read_disk(0);
	io(0, 1, 1000);
	snprintf(path, sizeof(path), "%s/sys/block/sda", w.root);
	remove_tree(path);
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
	finish();
}

/* Another one was there when it was looked at: some of what was counted by then may be that one's. */
static void test_replaced_between_reads(void **state)
{
	(void)state;
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
	finish();
}

/* What it had in flight is waited for, and what never ends stays in flight. */
static void test_gone_with_an_io_in_flight(void **state)
{
	char path[128];

	(void)state;
	begin(1);
	start(0, 1);
	snprintf(path, sizeof(path), "%s/sys/block/sda", w.root);
	remove_tree(path);
	w.c->live->look(w.c);
	check(read_disk(0), 0, 1, 0);
	assert_true(w.s.w[0].gone);
	finish();
}

/* --- parts --------------------------------------------------------------------------------- */

enum { WHOLE_SDB = 1 + BLKLAT_SIZE_PARTS, SMALL = 1, LARGE = 5, SMALL_BYTES = 4096, LARGE_BYTES = 65536 };

/* A disk's IOs of two sizes, as many as that; each in the part and in the whole once, the parts with nothing else. */
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

static void test_parts_at_rest(void **state)
{
	(void)state;
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
	/* Their own extremes, and the whole's. */
	assert_int_equal(w.s.w[LARGE].ops[0].max_ns, 1000);
	assert_int_equal(w.s.w[0].ops[0].max_ns, 500000);
	/* And on to a third. */
	put("sda", "queue/nr_requests", "2048\n");
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 6, 0, 2);
	sized_io(0, 2047, 1000, LARGE_BYTES);
	check(read_watch(0), 7, 0, 2);
	check_parts(0, 4, 3);
	assert_int_equal(w.renewals, 2);
	assert_int_equal(w.s.w[0].kernel_ios, 9);
	finish();
}

/* In the part that it began in; what is counted while both captures are there is counted once. */
static void test_parts_in_flight(void **state)
{
	(void)state;
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
	finish();
}

static void remove_sda(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/sys/block/sda", w.root);
	remove_tree(path);
}

/* A disk that is gone keeps its parts, and the larger capture has those of the other disk alone. */
static void test_parts_beside_a_disk_that_is_gone(void **state)
{
	(void)state;
	begin_parts(2);
	sized_io(1, 1, 1000, LARGE_BYTES);
	check(read_watch(0), 4, 0, 0);
	remove_sda();
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
	finish();
}

/* It goes, and another one comes in its place, when the larger capture is there and has yet to take over. */
static void test_parts_of_a_disk_that_goes_in_between(void **state)
{
	(void)state;
	begin_parts(2);
	w.bytes = SMALL_BYTES;
	start(1, 5);
	put("sdb", "queue/nr_requests", "1000\n");
	for (u32 n = 0; w.opened == 1; n++) {
		assert_true(n < 3);
		read_watch(0);
	}
	sized_io(0, 1, 1000, LARGE_BYTES);
	remove_sda();
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
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stays_while_it_fits),
		cmocka_unit_test(test_more_requests),
		cmocka_unit_test(test_nothing_is_lost_at_rest),
		cmocka_unit_test(test_in_flight),
		cmocka_unit_test(test_lost_in_flight),
		cmocka_unit_test(test_one_that_hangs),
		cmocka_unit_test(test_cannot_be_opened),
		cmocka_unit_test(test_beside_one_that_is_gone),
		cmocka_unit_test(test_gone_between_reads),
		cmocka_unit_test(test_replaced_between_reads),
		cmocka_unit_test(test_gone_with_an_io_in_flight),
		cmocka_unit_test(test_parts_at_rest),
		cmocka_unit_test(test_parts_in_flight),
		cmocka_unit_test(test_parts_beside_a_disk_that_is_gone),
		cmocka_unit_test(test_parts_of_a_disk_that_goes_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
