// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disks come, go, come back as others and get more tags, while requests start and end at any moment, and programs are held up in
 * the middle of an event. A fake kernel counts in plain memory what the programs of bpf/ would count, by the real table of
 * targets. Every request is in the counts of its disk's own time, or told as lost, or was in flight when the disk came.
 */
#include "unit.h"

#include <errno.h>
#include <time.h>

#include "blklat/bins.h"
#include "blklat/parts.h"
#include "core/accounting.h"
#include "engine/bpf_engine.h"
#include "engine/gone.h"
#include "engine/room.h"
#include "folder.h"

enum { DISKS = 3, MOST_TAGS = 4096, LATENCY = 1000, QUEUE_KEY = 0x100000 };

/* A program that has found a slot, and is held up before it writes there. */
struct held {
	bool is, ends;
	u32 disk, watch, slot, tag;
};

static struct world {
	struct kernel_capture k;	/* first, as engines have it */
	char root[FOLDER_ROOT];
	struct device_table t;
	struct targets targets;
	u32 epoch;
	u64 seed;
	u32 tags[DISKS];		/* the scheduler's, now; 0: the disk is not there */
	u32 life[DISKS];		/* how often it has come */
	u64 stat[DISKS];		/* the kernel's count of ends */
	u32 at[DISKS];			/* its watch; UINT32_MAX: not watched */
	bool in_flight[DISKS][MOST_TAGS];
	struct held held[4];
	struct counted {
		u64 started, ended;	/* by the disk, since it was watched; also those in flight then */
		u64 began_in_flight;
	} io[DISKS];
	bool busy;			/* requests start and end while the reader works */
	u64 bios[DISKS];		/* in flight, by watch */
	bool late_bio;			/* one begins just before its watch is removed */
	int add_err;
	bool busy_device;		/* a request of disk 1 begins and ends after each look at the bios, and while it is added */
	struct snapshot s;
} w;

static u32 any(u32 n)
{
	return next_random(&w.seed) % n;
}

/* --- sysfs ----------------------------------------------------------------------------------- */

static void put(u32 disk, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/sd%c/%s", 'a' + disk, file);
	folder_put(w.root, path, text);
}

static void put_number(u32 disk, const char *file, u64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", number);
	put(disk, file, text);
}

static void put_stat(u32 disk)
{
	char text[128];

	snprintf(text, sizeof(text), "%llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", w.stat[disk]);
	put(disk, "stat", text);
}

static void put_disk(u32 disk)
{
	char dev[16];

	snprintf(dev, sizeof(dev), "8:%u\n", 16 * disk);
	put(disk, "dev", dev);
	put(disk, "size", "2048\n");
	put_number(disk, "diskseq", 100 * disk + w.life[disk]);
	/* Each of two hardware queues has tags of its own; all IOs go through the first. */
	put(disk, "mq/0/nr_tags", "16\n");
	put(disk, "mq/1/nr_tags", "16\n");
	put_number(disk, "queue/nr_requests", w.tags[disk]);
	put(disk, "queue/iostats", "1\n");
	put(disk, "queue/scheduler", "[mq-deadline] none\n");
	put_stat(disk);
}

/* --- programs -------------------------------------------------------------------------------- */

static struct blklat_slots *block_of(const struct held *h)
{
	return &w.k.region.slots[h->slot / BLKLAT_SLOTS];
}

static void count(u32 watch, enum blklat_account cell)
{
	w.k.region.accounts[(size_t)watch * BLKLAT_ACCOUNTS + cell]++;
}

/* The rest of a program: the writes of a start or of an end. */
static void finish(struct held *h)
{
	struct blklat_slots *in = block_of(h);
	u32 i = h->slot % BLKLAT_SLOTS;

	if (!h->is)
		return;
	h->is = false;
	if (!h->ends) {
		in->ns[i] = 5000;
		in->started[i]++;
	} else if (in->ns[i] > BLKLAT_SLOT_VACANT) {
		struct blklat_series *s = region_series(&w.k.region, h->watch * BLKLAT_OPS + BLKLAT_OP_READ);
		u32 octave, cell = blklat_place(LATENCY, BLKLAT_SCALE_MAX - w.k.capture.scale, &octave);

		s->sum_ns += LATENCY;
		s->octaves |= 1ULL << octave;
		in->ended[i]++;
		in->ns[i] = BLKLAT_SLOT_FREE;
		s->bins[cell]++;
	} else {
		count(h->watch, in->ns[i] & BLKLAT_SLOT_FREE ? BLKLAT_NO_START : BLKLAT_BEFORE);
	}
}

static void finish_all(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(w.held); i++)
		finish(&w.held[i]);
}

static u64 key_of(u32 disk)
{
	return QUEUE_KEY + disk * 64;
}

static const struct target *look_up(u64 key)
{
	for (u32 look = 0; look < 2 && w.targets.factor[look]; look++) {
		u32 bucket = (u32)key * w.targets.factor[look] >> (32 - w.targets.bits);

		if (w.targets.table[bucket].key == key)
			return &w.targets.table[bucket];
	}
	return NULL;
}

/* A request with this tag starts or ends: finds its slot, and perhaps is held up there. */
static void event(u32 disk, u32 tag, bool ends)
{
	struct held *h = &w.held[any(ARRAY_SIZE(w.held))];
	const struct target *t = look_up(key_of(disk));

	finish(h);
	/* The same tag is not started and ended by two programs at once. */
	for (u32 i = 0; i < ARRAY_SIZE(w.held); i++)
		if (w.held[i].disk == disk && w.held[i].tag == tag)
			finish(&w.held[i]);
	w.in_flight[disk][tag] = !ends;
	w.io[disk].started += !ends;
	w.io[disk].ended += ends;
	w.stat[disk] += ends;
	if (!t || !t->watch[BLKLAT_STAGE_DEVICE])
		return;
	*h = (struct held){ .is = true, .ends = ends, .disk = disk, .watch = t->watch[BLKLAT_STAGE_DEVICE] - 1, .tag = tag };
	if (tag >= t->stride || !t->queues) {
		h->is = false;
		if (!ends)
			count(h->watch, BLKLAT_TAG_RANGE);
		return;
	}
	h->slot = t->first_slot + tag;
	if (any(2))
		finish(h);
}

static void some_events(void)
{
	for (u32 n = w.busy ? any(6) : 0; n; n--) {
		u32 disk = any(DISKS), tag = w.tags[disk] ? any(w.tags[disk]) : 0;

		if (w.tags[disk])
			event(disk, tag, w.in_flight[disk][tag]);
	}
}

/* The C library's: while the reader sleeps, programs go on, and no time has to pass. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time;
	(void)rest;
	some_events();
	return 0;
}

/* --- the engine ------------------------------------------------------------------------------ */

static void one_request(u32 disk)
{
	event(disk, 0, false);
	event(disk, 0, true);
	finish_all();
	put_stat(disk);
}

static int count_bios(struct kernel_capture *k)
{
	some_events();
	if (w.busy_device)
		one_request(1);
	for (u32 i = 0; i < ARRAY_SIZE(w.bios); i++)
		k->bios[i].in_flight = w.bios[i];
	return 0;
}

static void wait_for_programs(void *k)
{
	(void)k;
	some_events();
	finish_all();
	some_events();
}

static struct targets_of of(void)
{
	return (struct targets_of){ w.k.capture.watches, w.k.slots, w.k.region.ranges };
}

static u32 disk_of(const struct watch *watch)
{
	return watch->device->name[2] - 'a';
}

/* What comes in while it is added is either counted, or was in flight before. */
static int add(struct kernel_capture *k, u32 at, u32 n, struct problem *p)
{
	u32 disk = disk_of(&k->capture.watches[at]);
	const struct found_device found = { .queue = key_of(disk) };
	const struct targets_of those = of();

	(void)p;
	if (w.add_err)
		return w.add_err;
	some_events();
	w.io[disk] = (struct counted){ 0 };
	for (u32 tag = 0; tag < MOST_TAGS; tag++)
		w.io[disk].began_in_flight += w.in_flight[disk][tag];
	if (w.busy_device)
		one_request(disk);
	return targets_add(&w.targets, &those, &found, at, n);
}

static void remove_one(struct kernel_capture *k, u32 whole)
{
	if (w.late_bio)
		w.bios[whole] = 1;
	targets_drop(&w.targets, whole, k->wait);
	some_events();
}

static int move(struct kernel_capture *k, u32 at, u32 n, const struct slots *s, u32 first)
{
	some_events();
	targets_move(&w.targets, at, n, s, first, k->wait);
	return 0;
}

static const struct kernel_hooks hooks = { .count_bios = count_bios, .add = add, .remove = remove_one, .move = move };

static void come(u32 disk)
{
	w.life[disk]++;
	w.tags[disk] = 32;
	w.stat[disk] = 0;
	memset(w.in_flight[disk], 0, sizeof(w.in_flight[disk]));
	w.io[disk] = (struct counted){ 0 };
	put_disk(disk);
}

static void go(u32 disk)
{
	char path[256];

	/* The kernel removes a disk when its requests have ended; some may hang for ever. */
	for (u32 tag = 0; tag < MOST_TAGS; tag++)
		if (w.in_flight[disk][tag] && any(8))
			event(disk, tag, true);
	w.tags[disk] = 0;
	snprintf(path, sizeof(path), "%s/sys/block/sd%c", w.root, 'a' + disk);
	folder_remove(path);
}

static void read_once(void)
{
	struct problem p;

	for (u32 disk = 0; disk < DISKS; disk++)
		if (w.tags[disk])
			put_stat(disk);
	w.s.n = w.k.capture.n_watches;
	assert_int_equal(kernel_capture_read(&w.k.capture, &w.s, &p), 0);
}

static int watch_disk(u32 disk, u32 *ret)
{
	struct device_table now = { 0 };
	struct device *d = &w.t.d[w.t.n];
	struct watch watch = { .device = d, .stage = BLKLAT_STAGE_DEVICE };
	struct problem p;

	assert_int_equal(device_table_read(&now, w.root, &p), 0);
	for (u32 i = 0; i < now.n; i++)
		if (now.d[i].name[2] == (char)('a' + disk))
			*d = now.d[i];
	d->parent = w.t.n++;
	device_table_free(&now);
	return room_add(&w.k.capture, &watch, 1, ret, &p);
}

static void open_capture(void)
{
	const struct capture_ops ops = { .name = "fake" };
	const struct capture is = { .ops = &ops, .cpus = 1 };
	struct watch watch = { .device = &w.t.d[0], .stage = BLKLAT_STAGE_DEVICE };
	const struct capture_config cfg = {
		.devices = &w.t, .watches = &watch, .n_watches = 1, .scale = 3, .follow = true, .max_memory = 1ULL << 30,
	};
	const struct found_device found = { .queue = key_of(0) };
	struct region *r = &w.k.region;
	struct targets_of those;
	struct problem p;

	w.k.hooks = &hooks;
	w.k.wait = wait_for_programs;
	assert_int_equal(kernel_capture_init(&w.k, &is, &cfg, 1, &p), 0);
	/* So little that there is none for some. */
	w.k.capture.room = 3;
	w.k.region.n_slots = 13312;
	r->cpus = r->rows = 1;
	r->watches = w.k.capture.room;
	r->scale = 3;
	r->series_bytes = BLKLAT_SERIES_BYTES(BLKLAT_CELLS(3));
	r->series = calloc(r->watches * BLKLAT_OPS, r->series_bytes);
	r->own = calloc(r->watches, sizeof(*r->own));
	r->accounts = calloc(r->watches * BLKLAT_ACCOUNTS, sizeof(u64));
	r->slots = calloc(r->n_slots / BLKLAT_SLOTS, sizeof(*r->slots));
	r->epoch = &w.epoch;
	assert_int_equal(region_init(r, 0), 0);
	those = of();
	assert_int_equal(targets_make(&w.targets, &those, &found, 1, w.k.capture.room, &p), 0);
	w.targets.table = calloc(1U << w.targets.bits, sizeof(struct target));
	targets_fill(&w.targets);
	kernel_capture_note_statistics(&w.k, 0, 1);
	assert_int_equal(snapshot_init(&w.s, w.k.capture.room, 3), 0);
}

static void begin(u64 seed)
{
	struct device_table now = { 0 };
	struct problem p;

	w = (struct world){ .seed = seed * 2654435761 + 1, .at = { 0, UINT32_MAX, UINT32_MAX } };
	folder_make(w.root);
	come(0);
	w.t.d = calloc(4096, sizeof(*w.t.d));
	strcpy(w.t.root, w.root);
	assert_int_equal(device_table_read(&now, w.root, &p), 0);
	w.t.d[0] = now.d[0];
	w.t.n = 1;
	device_table_free(&now);
	open_capture();
}

static void end(void)
{
	free(w.k.region.series);
	free(w.k.region.own);
	free(w.k.region.accounts);
	free(w.k.region.slots);
	kernel_capture_uninit(&w.k);
	free(w.targets.table);
	targets_free(&w.targets);
	snapshot_uninit(&w.s);
	free(w.t.d);
	folder_remove(w.root);
}

static u64 ios(const struct watch_counts *c)
{
	return hist_count(&c->ops[BLKLAT_OP_READ].hist);
}

/* Nothing moves: each start since it was watched has one place, and so has each end. */
static void check(u32 disk)
{
	const struct watch_counts *c = &w.s.w[w.at[disk]];
	const struct counted *io = &w.io[disk];
	u64 lost = c->accounts[BLKLAT_TAG_RANGE], ignored = c->accounts[BLKLAT_BEFORE];

	assert_false(c->gone);
	assert_int_equal(accounting_gap(c), 0);
	assert_int_equal(c->accounts[BLKLAT_NO_START], 0);
	assert_int_equal(c->accounts[BLKLAT_OVERWRITTEN], 0);
	assert_int_equal(ios(c) + c->in_flight + lost, io->started);
	assert_int_equal(c->ops[BLKLAT_OP_READ].sum_ns, ios(c) * LATENCY);
	/* What ended without a start in a slot was in flight when it was watched or moved, or was lost already. */
	assert_in_range(io->ended - ios(c), 0, io->began_in_flight + lost);
	assert_in_range(ignored, 0, io->ended - ios(c));
}

static void settle(void)
{
	w.busy = false;
	finish_all();
	read_once();
	for (u32 disk = 0; disk < DISKS; disk++)
		if (w.at[disk] != UINT32_MAX && w.tags[disk])
			check(disk);
	w.busy = true;
}

/* A disk that is gone keeps the counts that it had. */
static void check_gone(u32 disk, u64 before)
{
	assert_true(w.s.w[w.at[disk]].gone);
	assert_in_range(ios(&w.s.w[w.at[disk]]), before, w.io[disk].ended);
}

static void come_and_watch(u32 disk)
{
	if (!w.tags[disk])
		come(disk);
	if (watch_disk(disk, &w.at[disk]))
		w.at[disk] = UINT32_MAX;
}

static void something_happens(void)
{
	u32 disk = any(DISKS);
	u64 before;

	if (!w.tags[disk]) {
		come(disk);
		w.at[disk] = UINT32_MAX;
	} else if (w.at[disk] == UINT32_MAX) {
		come_and_watch(disk);
	} else if (any(2)) {
		u32 other = (disk + 1) % DISKS;

		before = w.s.w[w.at[disk]].gone ? 0 : ios(&w.s.w[w.at[disk]]);	/* those of another disk */
		go(disk);
		if (any(2) && gone_find(&w.k)) {	/* as engines look */
			room_remove_gone(&w.k);
			gone_freeze(&w.k);
			/* What comes before the read must not take the place of what is to be reported. */
			if (!w.tags[other] || w.at[other] == UINT32_MAX)
				come_and_watch(other);
		}
		read_once();
		check_gone(disk, before);
	} else {
		w.tags[disk] = w.tags[disk] == 32 ? 1500 : 32;
		put_number(disk, "queue/nr_requests", w.tags[disk]);
		for (u32 tag = w.tags[disk]; tag < MOST_TAGS; tag++)
			if (w.in_flight[disk][tag])
				event(disk, tag, true);
	}
}

TEST(test_disks_come_and_go_and_grow)
{
	u32 moved = 0, reused = 0;

	for (u64 seed = 0; seed < 60; seed++) {
		begin(seed);
		w.busy = true;
		for (u32 n = 0; n < 60; n++) {
			some_events();
			something_happens();
			some_events();
			if (any(3))
				read_once();
			moved += w.k.capture.outgrown && !w.k.capture.outgrown_err;
			if (!any(4))
				settle();
		}
		settle();
		reused += w.t.n > w.k.capture.room;
		end();
	}
	/* All that was to be tried has happened. */
	assert_true(moved > 60);
	assert_true(reused > 30);
}

/* The place of a disk whose bio began after the last count, and before its watch was removed, is taken when that bio has ended. */
TEST(test_late_bio)
{
	begin(1);
	w.late_bio = true;
	come_and_watch(1);
	go(1);
	read_once();
	come_and_watch(2);
	assert_int_equal(w.at[1], 1);
	assert_int_equal(w.at[2], 2);
	go(2);
	w.bios[1] = 0;
	read_once();
	come_and_watch(1);
	assert_int_equal(w.at[1], 1);
	end();
}

/* Slots that were given back are free, whoever had them: two small disks leave room for a large one. */
TEST(test_slots_given_back)
{
	begin(1);
	w.k.region.n_slots = w.k.region.ranges[0].n + 4096;
	come_and_watch(1);
	come_and_watch(2);
	assert_int_equal(w.at[2], 2);
	go(1);
	go(2);
	read_once();
	come(1);
	put_number(1, "queue/nr_requests", 2048);
	assert_int_equal(watch_disk(1, &w.at[1]), 0);
	assert_int_equal(w.k.region.ranges[w.at[1]].n, 4096);
	end();
}

/* The kernel's count is noted again when no request has ended since the read before, and not between two of a busy disk. */
TEST(test_statistics_noted_again)
{
	begin(1);
	w.busy_device = true;
	come_and_watch(1);
	for (u32 n = 0; n < 6; n++) {
		const struct watch_counts *c = &w.s.w[w.at[1]];

		w.busy_device = n < 3;
		read_once();
		assert_int_equal(c->kernel_known, n > 2);
		if (c->kernel_known)
			assert_int_equal(c->kernel_ios, ios(c));
	}
	assert_int_equal(ios(&w.s.w[w.at[1]]), 6);
	end();
}

/* One that went away is told as before, where another could not be added in its place. */
TEST(test_not_added_in_its_place)
{
	const struct device *was;
	u32 unused;

	begin(1);
	come_and_watch(1);
	was = w.k.capture.watches[1].device;
	one_request(1);
	read_once();
	go(1);
	read_once();
	come(2);
	w.add_err = -ENODEV;
	assert_int_equal(watch_disk(2, &unused), -ENODEV);
	read_once();
	assert_ptr_equal(w.k.capture.watches[1].device, was);
	assert_true(w.s.w[1].gone && ios(&w.s.w[1]) && w.s.w[1].started == ios(&w.s.w[1]));
	w.add_err = 0;
	come_and_watch(2);
	assert_int_equal(w.at[2], 1);
	end();
}

/* Nothing of a device that can't be added stays open: another capture is opened for it, and this one closed. */
TEST(test_not_added)
{
	u32 unused;

	begin(1);
	come(1);
	w.add_err = -ENOSPC;
	assert_int_equal(watch_disk(1, &unused), -ENOSPC);
	assert_int_equal(w.k.capture.n_watches, 1);
	assert_true(w.k.state[0].files.stat >= 0 && w.k.state[1].files.stat < 0);
	end();
}
