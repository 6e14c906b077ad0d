// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capture that is opened anew with more room: two engines that are made up count the same events, each in slots of its
 * own, as the programs of two captures do. Whatever is read is held against what was done. And devices that go away
 * between two reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "blklat/bins.h"
#include "capture/geometry.h"
#include "capture/live.h"
#include "model/consistency.h"
#include "util/clock.h"

enum { DRIVER_TAGS = 16, BEYOND = 900, MOST_OPEN = 3, BYTES = 4096 };

/* An engine's capture in plain memory. */
struct counting {
	struct live_capture l;
	struct region_slots ranges[2];
	u32 epoch;
};

static struct world {
	char root[64];
	struct device_table t;
	struct counting *open[MOST_OPEN];
	u32 opened;
	int refuse;			/* what the engine's next openings return */
	u64 ended[2];			/* what the kernel says of each disk */
	struct capture *c;
	struct snapshot s, before;
	u32 renewals;
	struct capture_renewal last;
} w;

/* --- sysfs --------------------------------------------------------------------------------- */

static void put(const char *disk, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/block/%s/%s", w.root, disk, file);
	for (char *c = path + strlen(w.root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_stat(u32 disk)
{
	char text[128];

	snprintf(text, sizeof(text), "%llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", w.ended[disk]);
	put(disk ? "sdb" : "sda", "stat", text);
}

static void put_disk(const char *name, u32 disk)
{
	put(name, "dev", disk ? "8:16\n" : "8:0\n");
	put(name, "size", "2048\n");
	put(name, "diskseq", "7\n");
	put(name, "mq/0/nr_tags", "16\n");
	put(name, "queue/nr_requests", "32\n");
	put(name, "queue/iostats", "1\n");
	put(name, "queue/scheduler", "[mq-deadline] none\n");
	put_stat(disk);
}

/* As in sysfs, what was opened before has nothing to read any more. */
static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (type == FTW_F)
		assert_int_equal(truncate(path, 0), 0);
	return remove(path);
}

static void remove_tree(const char *path)
{
	assert_int_equal(nftw(path, unlink_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* --- the engine ---------------------------------------------------------------------------- */

static const struct capture_ops engine;

static int engine_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	u32 blocks = 0, bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(6));
	struct counting *c;

	if (w.refuse)
		return problem_set(p, w.refuse, "not now");
	c = calloc(1, sizeof(*c));
	assert_int_equal(live_init(&c->l, &engine, cfg, 1, 1, p), 0);
	for (u32 i = 0; i < cfg->n_watches; i++) {
		struct slots s = slots_of(cfg->watches[i].device, 1);

		c->ranges[i] = (struct region_slots){ blocks * BLKLAT_SLOTS, s.queues * s.stride };
		blocks += s.queues * s.stride / BLKLAT_SLOTS;
	}
	c->l.region = (struct region){
		.rows = 1, .watches = cfg->n_watches, .scale = 6, .series_bytes = bytes,
		.series = calloc(cfg->n_watches * BLKLAT_OPS, bytes),
		.accounts = calloc(cfg->n_watches * BLKLAT_ACCOUNTS, sizeof(u64)),
		.slots = calloc(blocks, sizeof(struct blklat_slots)), .ranges = c->ranges, .epoch = &c->epoch,
	};
	live_note_kernel(&c->l);
	w.open[w.opened++] = c;
	*ret = &c->l.capture;
	return 0;
}

static int no_bios(struct live_capture *l)
{
	(void)l;
	return 0;
}

static int engine_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct live_capture *l = (struct live_capture *)c;
	int err = live_read(l, s, no_bios, p);

	s->skipped = 0;
	live_end(l, s);
	return err;
}

static void engine_close(struct capture *capture)
{
	struct counting *c = (struct counting *)capture;

	for (u32 i = 0; i < w.opened; i++)
		if (w.open[i] == c)
			w.open[i] = NULL;
	free(c->l.region.series);
	free((void *)c->l.region.accounts);
	free((void *)c->l.region.slots);
	live_uninit(&c->l);
	free(c);
}

static void engine_look(struct capture *c)
{
	struct live_capture *l = (struct live_capture *)c;

	if (live_find_gone(l))
		live_freeze(l, no_bios);
}

static const struct capture_ops engine = {
	.name = "fake", .open = engine_open, .read = engine_read, .look = engine_look, .close = engine_close,
};

/* --- events -------------------------------------------------------------------------------- */

/* The place of a tag of the scheduler, or NULL with the account's cell for those without. */
static u64 *slot_of(struct counting *c, u32 disk, u32 tag, u64 **ret_account)
{
	u32 watch = 0, n = DRIVER_TAGS + tag;
	struct blklat_slots *slots;

	while (watch < c->l.capture.n_watches &&
	       strcmp(c->l.capture.watches[watch].device->name, disk ? "sdb" : "sda"))
		watch++;
	*ret_account = NULL;
	if (watch == c->l.capture.n_watches)
		return NULL;
	*ret_account = (u64 *)c->l.region.accounts + watch * BLKLAT_ACCOUNTS;
	if (n >= slots_of(c->l.capture.watches[watch].device, 1).stride)
		return NULL;
	slots = (struct blklat_slots *)c->l.region.slots + (c->ranges[watch].first + n) / BLKLAT_SLOTS;
	return &slots->ns[n % BLKLAT_SLOTS];
}

static void start(u32 disk, u32 tag)
{
	for (u32 i = 0; i < w.opened; i++) {
		u64 *account, *slot = w.open[i] ? slot_of(w.open[i], disk, tag, &account) : NULL;

		if (slot) {
			*slot = now_ns();
			slot[BLKLAT_SLOTS]++;
		} else if (w.open[i] && account) {
			account[BLKLAT_TAG_RANGE]++;
		}
	}
}

static void count(struct counting *c, u64 *account, u64 ns)
{
	struct region *r = &c->l.region;
	u32 watch = (account - r->accounts) / BLKLAT_ACCOUNTS, octave;
	struct blklat_series *s = (void *)((char *)r->series + (size_t)watch * BLKLAT_OPS * r->series_bytes);
	u32 cell = blklat_place(ns, 0, &octave), parity = c->epoch & 1;

	if (s->max_ns[parity] < ns)
		s->max_ns[parity] = ns;
	if (s->not_min_ns[parity] < ~ns)
		s->not_min_ns[parity] = ~ns;
	s->sum_ns += ns;
	s->bytes += BYTES;
	s->octaves |= 1ULL << octave;
	s->bins[cell]++;
}

/* Ends after @ns by its stamps, however long it was. */
static void end(u32 disk, u32 tag, u64 ns)
{
	for (u32 i = 0; i < w.opened; i++) {
		u64 *account, *slot = w.open[i] ? slot_of(w.open[i], disk, tag, &account) : NULL;

		if (!slot)
			continue;
		if (*slot <= BLKLAT_SLOT_FREE) {
			account[*slot == BLKLAT_SLOT_UNUSED ? BLKLAT_BEFORE : BLKLAT_NO_START]++;
			continue;
		}
		slot[2 * BLKLAT_SLOTS]++;
		*slot = BLKLAT_SLOT_FREE;
		count(w.open[i], account, ns);
	}
	w.ended[disk]++;
	put_stat(disk);
}

static void io(u32 disk, u32 tag, u64 ns)
{
	start(disk, tag);
	end(disk, tag, ns);
}

/* --- a test -------------------------------------------------------------------------------- */

static void on_renewed(const struct capture_renewal *r)
{
	w.renewals++;
	w.last = *r;
}

static void begin(u32 disks)
{
	struct watch watches[2];
	struct capture_config cfg = { .devices = &w.t, .watches = watches, .n_watches = disks, .scale = 6 };
	struct problem p;

	memset(&w, 0, sizeof(w));
	strcpy(w.root, "/tmp/blklat-test-XXXXXX");
	assert_non_null(mkdtemp(w.root));
	put_disk("sda", 0);
	if (disks > 1)
		put_disk("sdb", 1);
	assert_int_equal(device_table_read(&w.t, w.root, &p), 0);
	for (u32 i = 0; i < disks; i++)
		watches[i] = (struct watch){ &w.t.d[i], BLKLAT_STAGE_DEVICE };
	assert_int_equal(capture_open(&engine, &cfg, on_renewed, &w.c, &p), 0);
	assert_int_equal(snapshot_init(&w.s, disks, 6), 0);
	assert_int_equal(snapshot_init(&w.before, disks, 6), 0);
}

static void finish(void)
{
	w.c->ops->close(w.c);
	for (u32 i = 0; i < w.opened; i++)
		assert_null(w.open[i]);
	snapshot_uninit(&w.s);
	snapshot_uninit(&w.before);
	device_table_free(&w.t);
	remove_tree(w.root);
}

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

/* Reads; nothing that was told before becomes less, and it adds up. */
static struct accounting read_disk(u32 disk)
{
	struct accounting a;
	struct problem p;
	u64 skipped = 0;

	snapshot_copy(&w.before, &w.s);
	assert_int_equal(w.c->ops->read(w.c, &w.s, &p), 0);
	for (u32 i = 0; i < w.s.n; i++)
		assert_grows(&w.before.w[i], &w.s.w[i]);
	account(&w.s, disk, 1, &skipped, &a);
	assert_int_equal(a.started, a.completed + a.in_flight + a.lost);
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
	assert_int_equal(w.open[1]->l.capture.n_watches, 1);
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
	w.c->ops->look(w.c);
	put_disk("sda", 0);
	for (u32 n = 0; n < 10; n++) {
		io(0, 2, 1000);
		io(1, 2, 1000);
	}
	for (u32 n = 0; n < 2; n++) {
		w.c->ops->look(w.c);
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
	w.c->ops->look(w.c);
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
	w.c->ops->look(w.c);
	check(read_disk(0), 0, 1, 0);
	assert_true(w.s.w[0].gone);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
