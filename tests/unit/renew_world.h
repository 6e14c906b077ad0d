/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two fake engines count the same events, each in slots of its own, as the programs of two captures do. Their
 * disks are in a fake sysfs, and the capture that is opened anew lies on top of them.
 */
#ifndef TEST_RENEW_WORLD_H
#define TEST_RENEW_WORLD_H

#include "unit.h"

#include <errno.h>

#include "blklat/bins.h"
#include "blklat/parts.h"
#include "core/accounting.h"
#include "engine/geometry.h"
#include "engine/gone.h"
#include "engine/kernel_capture.h"
#include "folder.h"
#include "util/clock.h"

enum { DRIVER_TAGS = 16, BEYOND = 900, MOST_OPEN = 5, BYTES = 4096, DISKS = 2, MOST_WATCHES = DISKS * (1 + BLKLAT_SIZE_PARTS) };

/* An engine's capture in plain memory. */
struct counting {
	struct kernel_capture k;
	struct region_slots ranges[MOST_WATCHES];	/* of parts: none */
	u32 epoch;
};

static struct world {
	char root[FOLDER_ROOT];
	struct device_table t;
	struct counting *open[MOST_OPEN];
	u32 opened;
	int refuse;			/* what the engine's next openings return */
	u64 ended[DISKS];		/* the kernel's count for each disk */
	u64 bytes;			/* size of each IO that starts and ends */
	struct capture *c;
	struct snapshot s, before;
	u32 renewals;
	struct capture_renewal last;
} w;

/* --- sysfs --------------------------------------------------------------------------------- */

static inline void put(const char *disk, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, file);
	folder_put(w.root, path, text);
}

static inline void put_stat(u32 disk)
{
	char text[128];

	snprintf(text, sizeof(text), "%llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", w.ended[disk]);
	put(disk ? "sdb" : "sda", "stat", text);
}

static inline void put_disk(const char *name, u32 disk)
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

static inline void remove_disk(const char *disk)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/block/%s", w.root, disk);
	folder_remove(path);
}

/* --- the engine ---------------------------------------------------------------------------- */

static const struct capture_ops engine;
static const struct live_ops engine_live;

static inline int engine_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	const struct capture is = { .ops = &engine, .live = &engine_live, .cpus = 1 };
	u32 blocks = 0, bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(6));
	struct counting *c;

	if (w.refuse)
		return problem_set(p, w.refuse, "not now");
	for (u32 i = 0; i < cfg->n_watches; i++)
		if (device_is_gone(cfg->devices, cfg->watches[i].device))
			return problem_set(p, -ENODEV, "it is not there");
	c = calloc(1, sizeof(*c));
	assert_int_equal(kernel_capture_init(&c->k, &is, cfg, 1, p), 0);
	for (u32 i = 0; i < cfg->n_watches; i = next_whole(&c->k, i)) {
		struct slots s = slots_of(cfg->watches[i].device, 1);

		c->ranges[i] = (struct region_slots){ blocks * BLKLAT_SLOTS, s.queues * s.stride };
		blocks += s.queues * s.stride / BLKLAT_SLOTS;
	}
	c->k.region = (struct region){
		.cpus = 1, .rows = 1, .watches = cfg->n_watches, .parts = c->k.parts, .scale = 6, .series_bytes = bytes,
		.series = calloc(cfg->n_watches * BLKLAT_OPS, bytes),
		.own = calloc(cfg->n_watches, sizeof(struct blklat_own)),
		.accounts = calloc(cfg->n_watches * BLKLAT_ACCOUNTS, sizeof(u64)),
		.slots = calloc(blocks, sizeof(struct blklat_slots)), .ranges = c->ranges, .epoch = &c->epoch,
	};
	assert_int_equal(region_init(&c->k.region, 0), 0);
	kernel_capture_note_statistics(&c->k);
	w.open[w.opened++] = c;
	*ret = &c->k.capture;
	return 0;
}

static inline int no_bios(struct kernel_capture *k)
{
	(void)k;
	return 0;
}

static inline int engine_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct kernel_capture *k = (struct kernel_capture *)c;
	int err = kernel_capture_read(k, s, no_bios, p);

	s->skipped = 0;
	gone_reported(k);
	return err;
}

static inline void engine_close(struct capture *capture)
{
	struct counting *c = (struct counting *)capture;

	for (u32 i = 0; i < w.opened; i++)
		if (w.open[i] == c)
			w.open[i] = NULL;
	free(c->k.region.series);
	free(c->k.region.own);
	free((void *)c->k.region.accounts);
	free((void *)c->k.region.slots);
	kernel_capture_uninit(&c->k);
	free(c);
}

static inline void engine_look(struct capture *c)
{
	struct kernel_capture *k = (struct kernel_capture *)c;

	if (gone_find(k))
		gone_freeze(k, no_bios);
}

static const struct capture_ops engine = {
	.name = "fake", .open = engine_open, .read = engine_read, .close = engine_close,
};

static const struct live_ops engine_live = { .look = engine_look };

/* --- events -------------------------------------------------------------------------------- */

/* The slot of a scheduler tag, or NULL and the account for tags without a slot. */
static inline u64 *slot_of(struct counting *c, u32 disk, u32 tag, u64 **ret_account)
{
	u32 watch = 0, n = DRIVER_TAGS + tag;
	struct blklat_slots *slots;

	while (watch < c->k.capture.n_watches &&
	       strcmp(c->k.capture.watches[watch].device->name, disk ? "sdb" : "sda"))
		watch++;
	*ret_account = NULL;
	if (watch == c->k.capture.n_watches)
		return NULL;
	*ret_account = (u64 *)c->k.region.accounts + watch * BLKLAT_ACCOUNTS;
	if (n >= slots_of(c->k.capture.watches[watch].device, 1).stride)
		return NULL;
	slots = (struct blklat_slots *)c->k.region.slots + (c->ranges[watch].first + n) / BLKLAT_SLOTS;
	return &slots->ns[n % BLKLAT_SLOTS];
}

static inline u64 start_time(const struct counting *c)
{
	return c->k.parts ? blklat_parted_start(now_ns(), blklat_size_part(w.bytes), 0) : now_ns();
}

static inline void start(u32 disk, u32 tag)
{
	for (u32 i = 0; i < w.opened; i++) {
		u64 *account, *slot = w.open[i] ? slot_of(w.open[i], disk, tag, &account) : NULL;

		if (slot) {
			*slot = start_time(w.open[i]);
			slot[BLKLAT_SLOTS]++;
		} else if (w.open[i] && account) {
			account[BLKLAT_TAG_RANGE]++;
		}
	}
}

static inline void count(struct counting *c, u64 *account, u64 ns)
{
	struct region *r = &c->k.region;
	u32 whole = (account - r->accounts) / BLKLAT_ACCOUNTS, octave;
	u32 watch = whole + (r->parts ? blklat_size_part(w.bytes) : 0);
	struct blklat_series *s = (void *)((char *)r->series + (size_t)watch * BLKLAT_OPS * r->series_bytes);
	u32 cell = blklat_place(ns, 0, &octave), parity = c->epoch & 1;

	if (s->max_ns[parity] < ns)
		s->max_ns[parity] = ns;
	if (s->not_min_ns[parity] < ~ns)
		s->not_min_ns[parity] = ~ns;
	s->sum_ns += ns;
	s->bytes += w.bytes;
	s->octaves |= 1ULL << octave;
	s->bins[cell]++;
}

/* The IO ends, @ns after its start by its time stamps, however long it really took. */
static inline void end(u32 disk, u32 tag, u64 ns)
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

static inline void io(u32 disk, u32 tag, u64 ns)
{
	start(disk, tag);
	end(disk, tag, ns);
}

/* --- a test -------------------------------------------------------------------------------- */

static inline void on_renewed(const struct capture_renewal *r)
{
	w.renewals++;
	w.last = *r;
}

static inline void begin_by(u32 disks, enum blklat_by by)
{
	struct watch wholes[DISKS], *watches;
	struct capture_config cfg = { .devices = &w.t, .scale = 6, .by = by };
	struct problem p;

	memset(&w, 0, sizeof(w));
	w.bytes = BYTES;
	folder_make(w.root);
	put_disk("sda", 0);
	if (disks > 1)
		put_disk("sdb", 1);
	assert_int_equal(device_table_read(&w.t, w.root, &p), 0);
	for (u32 i = 0; i < disks; i++)
		wholes[i] = (struct watch){ .device = &w.t.d[i], .stage = BLKLAT_STAGE_DEVICE };
	assert_int_equal(watches_divide(wholes, disks, by, 0, &watches, &cfg.n_watches), 0);
	cfg.watches = watches;
	assert_int_equal(capture_open(&engine, &cfg, on_renewed, &w.c, &p), 0);
	free(watches);
	assert_int_equal(snapshot_init(&w.s, cfg.n_watches, 6), 0);
	assert_int_equal(snapshot_init(&w.before, cfg.n_watches, 6), 0);
}

static inline void begin(u32 disks)
{
	begin_by(disks, BLKLAT_BY_NOTHING);
}

void tear_down(void)
{
	if (!w.c)
		return;
	w.c->ops->close(w.c);
	w.c = NULL;
	for (u32 i = 0; i < w.opened; i++)
		assert_null(w.open[i]);
	snapshot_uninit(&w.s);
	snapshot_uninit(&w.before);
	device_table_free(&w.t);
	folder_remove(w.root);
}

static inline u64 ios(const struct watch_counts *c)
{
	return hist_count(&c->ops[0].hist);
}

static inline void assert_grows(const struct watch_counts *before, const struct watch_counts *now)
{
	for (u32 cell = 0; cell < BLKLAT_CELLS(6); cell++)
		assert_true(now->ops[0].hist.cells[cell] >= before->ops[0].hist.cells[cell]);
	for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
		assert_true(now->accounts[cell] >= before->accounts[cell]);
	assert_true(now->started >= before->started);
	assert_true(now->ops[0].sum_ns >= before->ops[0].sum_ns);
}

/* Reads. Nothing that was reported before becomes less, and the account adds up. @i: number of the watch. */
static inline struct accounting read_watch(u32 i)
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

static inline struct accounting read_disk(u32 disk)
{
	struct accounting a = read_watch(disk);

	assert_int_equal(w.s.w[disk].ops[0].bytes, a.completed * BYTES);
	return a;
}

static inline void check(struct accounting a, u64 completed, u64 in_flight, u64 lost)
{
	assert_int_equal(a.completed, completed);
	assert_int_equal(a.in_flight, in_flight);
	assert_int_equal(a.lost, lost);
	assert_int_equal(a.lost_by[LOST_TAG_RANGE], lost);
}

#endif
