// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capture that goes on in place of several, while IOs end between the last read of those and the join: each IO is
 * counted once.
 */
#include "renew_world.h"

static struct snapshot ends[2], first;	/* the last reads of the captures that end, and an earlier one of the heir */

/* The capture that the world begins with is not needed. */
static void begin_two(void)
{
	begin(2);
	w.c->ops->close(w.c);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(snapshot_init(&ends[i], 1, 6), 0);
	assert_int_equal(snapshot_init(&first, 2, 6), 0);
}

static void finish_two(void)
{
	for (u32 i = 0; i < 2; i++)
		snapshot_uninit(&ends[i]);
	snapshot_uninit(&first);
}

static struct capture *open_of(const struct device_table *t, u32 disk, u32 disks)
{
	struct watch watches[DISKS] = { { .device = &t->d[disk] }, { .device = &t->d[1] } };
	const struct capture_config cfg = { .devices = t, .watches = watches, .n_watches = disks, .scale = 6 };
	struct capture *c;
	struct problem p;

	assert_int_equal(engine_open(&cfg, &c, &p), 0);
	return c;
}

static void read_into(struct capture *c, struct snapshot *s)
{
	struct problem p;

	assert_int_equal(c->ops->read(c, s, &p), 0);
}

/* From there on the world reads from the heir. */
static void join(struct capture *heir, struct capture *const *from, const struct snapshot *read, u32 n)
{
	struct capture_end list[2];
	u64 gap_ns;

	for (u32 i = 0; i < n; i++)
		list[i] = (struct capture_end){ from[i], &read[i] };
	assert_int_equal(capture_join(heir, &first, list, n, &w.s, &gap_ns), 0);
	assert_int_equal(gap_ns, 0);
	for (u32 i = 0; i < n; i++)
		engine_close(from[i]);
	w.c = heir;
}

static struct accounting check_disk(u32 disk, u64 lost, u64 in_interval)
{
	struct accounting a = read_disk(disk);

	check(a, w.ended[disk] - lost, 0, lost);
	assert_int_equal(a.kernel_ios, w.ended[disk]);
	assert_int_equal(ios(&w.s.w[disk]) - ios(&w.before.w[disk]), in_interval);
	return a;
}

/* IOs end before the heir opens, before, between and after the last reads, after the join. Lost tags stay lost. */
TEST(test_ends_in_between)
{
	struct capture *two[2], *heir, *next;

	begin_two();
	for (u32 i = 0; i < 2; i++)
		two[i] = open_of(&w.t, i, 1);
	start(0, 1);
	start(1, BEYOND);
	for (u32 n = 0; n < 3; n++)
		io(0, 9, 700);
	heir = open_of(&w.t, 0, 2);
	end(0, 1, 900);
	end(1, BEYOND, 900);
	io(0, 2, 100);
	start(0, 3);
	start(1, 3);
	read_into(heir, &first);
	io(0, 4, 300000);
	read_into(two[0], &ends[0]);
	end(0, 3, 5000);
	end(1, 3, 6000);
	io(0, 4, 4000);
	read_into(two[1], &ends[1]);
	io(1, 4, 7000);
	join(heir, two, ends, 2);
	assert_int_equal(ios(&w.s.w[0]), 6);
	assert_int_equal(ios(&w.s.w[1]), 1);
	io(0, 4, 6000);
	read_disk(0);
	assert_int_equal(ios(&w.s.w[0]) - ios(&w.before.w[0]), 3);
	assert_int_equal(ios(&w.s.w[1]) - ios(&w.before.w[1]), 1);
	assert_int_equal(w.s.w[0].ops[0].min_ns, 4000);
	check_disk(0, 0, 0);
	check_disk(1, 1, 0);
	/* Once more: what the heir took over is passed on. */
	next = open_of(&w.t, 0, 2);
	read_into(next, &first);
	io(1, 5, 8000);
	io(0, 5, 8000);
	snapshot_copy(&w.before, &w.s);
	join(next, &heir, &w.before, 1);
	io(1, 6, 9000);
	check_disk(1, 1, 2);
	check_disk(0, 0, 0);
	finish_two();
}

/* A different disk in the place of one that went away inherits nothing from it; the other disk's counts go on. */
TEST(test_another_disk_of_the_name)
{
	struct capture *two[2], *heir;
	struct device_table later;
	struct problem p;

	begin_two();
	for (u32 i = 0; i < 2; i++) {
		two[i] = open_of(&w.t, i, 1);
		io(i, 1, 1000);
	}
	put("sda", "diskseq", "8\n");
	assert_int_equal(device_table_read(&later, w.root, &p), 0);
	heir = open_of(&later, 0, 2);
	read_into(heir, &first);
	for (u32 i = 0; i < 2; i++)
		read_into(two[i], &ends[i]);
	assert_true(ends[0].w[0].gone);
	io(0, 2, 2000);
	io(1, 2, 2000);
	join(heir, two, ends, 2);
	check(read_disk(0), 1, 0, 0);
	check_disk(1, 0, 0);
	assert_false(w.s.w[0].gone);
	finish_two();
	device_table_free(&later);
}
