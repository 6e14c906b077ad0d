// SPDX-License-Identifier: GPL-2.0-only
/* Devices come and go while a capture lasts: what is added, what is told, and how another capture replaces one without room. */
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/accounting.h"
#include "core/monitor.h"
#include "folder.h"
#include "util/clock.h"

enum { ROOM = 8, CELL = 100, EACH = 10 };

/* --- a fake engine, of which two captures may be open, and a machine ----------------------------------------------------- */

struct fake {
	struct capture capture;		/* first */
	struct watch watches[ROOM];
	u32 reads[ROOM];		/* since the watch was added */
	u32 looks;
};

static struct world {
	char root[FOLDER_ROOT];
	struct monitor_config cfg;
	struct monitor m;
	u32 room, stages;		/* of captures to be opened, and how many watches a device gets */
	int open_err, read_err, find_err, add_err;
	atomic_uint open;
	u32 opened;
	struct device gone;		/* its name, if one is gone, and diskseq (0: any) */
	bool outgrown;
	int outgrown_err;
	const struct part *part;	/* of the second watch; NULL: it is a whole */
	u32 in_flight, doubled;		/* of each watch; and as the last capture was opened */
	int privileges;
	bool in_background;		/* the next capture is opened by another thread; and it may go on */
	atomic_bool goes_on;
	char told[4096];
	struct problem p;
} x;

/* Opening takes long. */
static void wait_for_loop(void)
{
	while (!x.goes_on)
		usleep(100);
}

static int fake_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (x.in_background)
		wait_for_loop();
	else
		assert_int_equal(x.privileges, x.opened ? 1 : 0);
	x.opened++;
	if (x.open_err) {
		free(f);
		return problem_set(p, x.open_err, "no memory for it");
	}
	x.open++;
	x.doubled = cfg->doubled;
	f->capture = (struct capture){ .ops = x.cfg.engine, .watches = f->watches, .n_watches = cfg->n_watches, .room = x.room,
				       .scale = 2, .cpus = 1, .devices = cfg->devices };
	memcpy(f->watches, cfg->watches, cfg->n_watches * sizeof(*f->watches));
	*ret = &f->capture;
	return 0;
}

static void fake_close(struct capture *c)
{
	x.open--;
	free(c);
}

static bool is_gone(const struct device *d)
{
	return x.gone.name[0] && !strcmp(d->name, x.gone.name) && (!x.gone.diskseq || d->diskseq == x.gone.diskseq);
}

static int fake_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct fake *f = (struct fake *)c;

	if (x.read_err && c == x.m.next.capture)
		return problem_set(p, x.read_err, "the engine broke");
	assert_int_equal(s->n, c->n_watches);
	s->mono_ns = now_ns();
	for (u32 i = 0; i < s->n; i++) {
		struct op_counts *op = &s->w[i].ops[BLKLAT_OP_READ];

		s->w[i].gone = s->w[i].gone || is_gone(c->watches[i].device);
		f->reads[i] += !s->w[i].gone;
		s->w[i].in_flight = s->w[i].in_flight_after = c == x.m.next.capture ? 1 : x.in_flight;
		hist_clear(&op->hist);
		hist_put(&op->hist, CELL, f->reads[i] * EACH);
		if (c->watches[i].part)
			continue;
		s->w[i].started = s->w[i].started_after = f->reads[i] * EACH + s->w[i].in_flight;
		memset(s->w[i].accounts, 0, sizeof(s->w[i].accounts));
		s->w[i].accounts[BLKLAT_TAG_RANGE] = f->reads[i];
		s->w[i].kernel_known = true;
		s->w[i].kernel_ios = f->reads[i] * (EACH + 1);
		assert_int_equal(accounting_gap(&s->w[i]), 0);	/* nothing of another capture disturbs this one */
	}
	c->outgrown = x.outgrown ? c->watches[0].device : NULL;
	c->outgrown_err = x.outgrown_err;
	return 0;
}

static void fake_look(struct capture *c)
{
	((struct fake *)c)->looks++;
}

/* In place of the first that is gone, else behind the others. */
static int fake_add(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p)
{
	struct fake *f = (struct fake *)c;
	u32 at = 0;

	assert_int_equal(x.privileges, 1);
	assert_true(f->looks);
	if (x.add_err)
		return problem_set(p, x.add_err, "it is broken");
	while (at < c->n_watches && !is_gone(c->watches[at].device))
		at++;
	if (at + n > c->room)
		return problem_set(p, -ENOSPC, "%s has no room", w->device->name);
	memcpy(&f->watches[at], w, n * sizeof(*w));
	memset(&f->reads[at], 0, n * sizeof(*f->reads));
	c->n_watches = max_u64(c->n_watches, at + n);
	*ret = at;
	return 0;
}

static const struct live_ops fake_live = { .look = fake_look, .add = fake_add };

static int fake_open_live(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	int err = fake_open(cfg, ret, p);

	if (!err)
		(*ret)->live = &fake_live;
	return err;
}

static const struct capture_ops fake = { .name = "fake", .open = fake_open_live, .read = fake_read, .close = fake_close };

/* All disks with a size. */
static int fake_find(void *into, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p)
{
	struct watch *w = calloc(t->n + 1, 2 * sizeof(*w));

	(void)into;
	for (u32 i = 0; i < t->n; i++)
		for (u32 stage = 0; stage < x.stages; stage++)
			if (!t->d[i].absent && t->d[i].size_bytes && !x.find_err)
				w[(*ret_n)++] = (struct watch){ .device = &t->d[i], .stage = stage, .matched = true,
							.part = stage ? x.part : NULL };
	*ret = w;
	return x.find_err ? problem_set(p, x.find_err, "that can't be found") : 0;
}

static void tell(const char *what, const char *name)
{
	strcat(strcat(strcat(x.told, what), name), ". ");
}

static void came(void *into, const struct device *d)
{
	(void)into;
	tell("came ", d->name);
}

static void gone(void *into, const struct device *d, bool replaced)
{
	(void)into;
	tell(replaced ? "replaced " : "gone ", d->name);
}

static void outgrown(void *into, const struct device *d)
{
	(void)into;
	tell("outgrown ", d->name);
}

static void reopened(void *into, const char *why, u64 gap_ns)
{
	(void)into;
	assert_in_range(gap_ns, 1, NSEC_PER_SEC);
	tell("reopened: ", why);
}

static void failed(void *into, const struct problem *p)
{
	(void)into;
	tell("failed: ", p->text);
}

static void privileged(void *into, bool begins)
{
	(void)into;
	x.privileges += begins ? 1 : -1;
	assert_in_range(x.privileges, 0, 1);
}

static void put_disk(const char *name, u32 minor, const char *diskseq)
{
	const struct { const char *file; char text[16]; } files[] = {
		{ "dev", "" }, { "size", "8\n" }, { "queue/nr_requests", "64\n" }, { "diskseq", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(files); i++) {
		char path[128], text[16];

		snprintf(path, sizeof(path), "/sys/block/%s/%s", name, files[i].file);
		snprintf(text, sizeof(text), "8:%u\n", minor);
		folder_put(x.root, path, i == 0 ? text : i == 3 ? diskseq : files[i].text);
	}
}

static void take_disk(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/sys/block/%s", x.root, name);
	folder_remove(path);
}

void set_up(void)
{
	memset(&x, 0, sizeof(x));
	folder_make(x.root);
	folder_make_in(x.root, "/sys/block");
	x.room = ROOM;
	x.stages = 1;
	x.cfg = (struct monitor_config){
		.engine = &fake, .capture.follow = true, .root = x.root, .find = fake_find,
		.hooks = { came, gone, outgrown, reopened, failed, privileged, NULL },
	};
}

void tear_down(void)
{
	monitor_close(&x.m);
	assert_int_equal(x.open, 0);
	folder_remove(x.root);
}

static void open_monitor(void)
{
	assert_int_equal(monitor_open(&x.m, &x.cfg, &x.p), 0);
	if (x.m.capture)
		assert_int_equal(intervals_begin(&x.m.intervals, &x.p), 0);
}

static void next(void)
{
	static const struct percentiles none;

	assert_int_equal(monitor_next(&x.m, &none, &x.p), 0);
	monitor_tell_gone(&x.m);
}

/* The other capture has counted long enough. */
static void overlap(void)
{
	x.m.opened_ns = now_ns() + NSEC_PER_SEC;	/* as if no time had passed, however busy this machine is */
	assert_false(monitor_ends_interval(&x.m));
	x.m.opened_ns = now_ns() - NSEC_PER_SEC / 5;
	assert_true(monitor_ends_interval(&x.m) && monitor_due_ns(&x.m) <= now_ns());
}

/* Another capture is opened by a thread. Until then nothing else is waited for: looks are late, reads are not. */
static void tend(void)
{
	u32 opened = x.opened;

	x.in_background = true;
	x.goes_on = false;
	monitor_tend(&x.m, MONITOR_NO_NEWS);
	if (x.m.next.opening) {
		monitor_look(&x.m);
		monitor_tend(&x.m, MONITOR_DEVICES_GONE);
		assert_true(!x.m.next.capture && x.opened == opened);
		assert_in_range(monitor_due_ns(&x.m), 0, now_ns() + NSEC_PER_SEC);
	}
	x.goes_on = true;
	while (x.m.next.opening)
		monitor_tend(&x.m, MONITOR_NO_NEWS);
}

/* The other capture has taken over, and the first is closed by a thread. */
static void expect_closed(void)
{
	while (x.m.next.closing)
		monitor_tend(&x.m, MONITOR_NO_NEWS);
	assert_int_equal(x.open, 1);
}

/* What was told since the last call. */
static void expect_told(const char *what)
{
	assert_string_equal(x.told, what);
	x.told[0] = '\0';
}

static void expect_frame(u32 i, const char *name, u32 number, u64 ios)
{
	const struct frame *f = &x.m.intervals.frames.f[i];

	assert_true(i < x.m.intervals.frames.n);
	assert_string_equal(f->watch->device->name, name);
	assert_int_equal(f->number, number);
	assert_int_equal(f->ops[BLKLAT_OP_READ].ios, ios);
}

/* Of a watch that was read @reads times, in whichever capture, and @overwritten of whose IOs were in flight in the first alone. */
static void expect_account(u32 i, u32 reads, u32 overwritten)
{
	const struct accounting *a = &x.m.intervals.frames.f[i].accounting;

	assert_int_equal(a->completed, reads * EACH);
	assert_int_equal(a->lost_by[LOST_TAG_RANGE], reads);
	assert_int_equal(a->lost_by[LOST_OVERWRITTEN], overwritten);
	assert_int_equal(a->lost, reads + overwritten);
	assert_int_equal(a->started, a->completed + a->in_flight + a->lost);
	assert_int_equal(a->kernel_ios, reads * (EACH + 1));
}

/* --- devices that come --------------------------------------------------------------------------------------------------- */

/* All that it did is in its first interval, and the others do not notice. */
TEST(a_device_comes)
{
	put_disk("sda", 0, "");
	open_monitor();
	next();
	put_disk("sdb", 16, "");
	put_disk("sdc", 32, "");
	monitor_look(&x.m);
	monitor_look(&x.m);
	expect_told("came sdb. came sdc. ");
	for (u32 i = 0; i < 3; i++) {
		next();
		expect_frame(0, "sda", 0, EACH);
		expect_frame(1, "sdb", 1, EACH);
		expect_frame(2, "sdc", 2, EACH);
	}
	assert_int_equal(x.opened, 1);
	expect_told("");
}

/* One takes the place of one that is gone: its counts begin at 0, and it is another in the run. Of the name, too. */
TEST(a_device_is_replaced)
{
	x.stages = 2;
	put_disk("sda", 0, "41\n");
	put_disk("sdb", 16, "");
	open_monitor();
	for (u32 i = 0; i < 3; i++)
		next();
	strcpy(x.gone.name, "sda");
	put_disk("sda", 0, "42\n");
	next();
	expect_frame(0, "sda", 0, 0);
	expect_told("gone sda. ");
	assert_true(frame_just_gone(&x.m.intervals.frames.f[1]));
	monitor_look(&x.m);
	x.gone.name[0] = '\0';
	expect_told("came sda. ");
	next();
	expect_frame(0, "sda", 4, EACH);
	expect_frame(1, "sda", 5, EACH);
	expect_frame(2, "sdb", 2, EACH);
	assert_false(x.m.intervals.frames.f[0].gone || x.m.intervals.frames.f[0].gone_before);
	assert_int_equal(x.m.intervals.frames.n, 4);
	expect_told("");
}

/* It is seen before the end of the one before it was told: that is told first. */
TEST(a_device_is_replaced_within_an_interval)
{
	x.stages = 2;
	put_disk("sda", 0, "41\n");
	open_monitor();
	put_disk("sda", 0, "42\n");
	monitor_look(&x.m);
	expect_told("");
	x.gone = (struct device){ .name = "sda", .diskseq = 41 };
	next();
	expect_told("gone sda. came sda. ");
	expect_frame(0, "sda", 0, 0);
	expect_frame(2, "sda", 2, EACH);
	next();
	expect_told("");
}

/* In a replay its end alone is told, and there need not be a hook for others. */
TEST(a_device_is_replaced_in_a_replay)
{
	put_disk("sda", 0, "41\n");
	open_monitor();
	put_disk("sda", 0, "42\n");
	monitor_look(&x.m);
	x.gone = (struct device){ .name = "sda", .diskseq = 41 };
	x.cfg.capture.replay_file = "a recording";
	x.cfg.hooks.came = NULL;
	next();
	expect_told("gone sda. ");
}

/* Nothing is there at first; the interval in which something comes begins there. */
TEST(nothing_to_watch)
{
	open_monitor();
	assert_null(x.m.capture);
	next();
	assert_int_equal(x.m.intervals.frames.n, 0);
	put_disk("sda", 0, "");
	x.opened = 1;	/* with privileges */
	monitor_tend(&x.m, MONITOR_DEVICES);
	expect_told("came sda. ");
	next();
	expect_frame(0, "sda", 0, EACH);
	take_disk("sda");
	strcpy(x.gone.name, "sda");
	next();
	monitor_look(&x.m);
	next();
	expect_told("gone sda. ");
	x.cfg.capture.follow = false;
	put_disk("sdb", 0, "");
	monitor_tend(&x.m, MONITOR_DEVICES);
	monitor_look(&x.m);
	expect_told("");
}

/* News comes in bursts: the first is looked into at once, what follows a little later. */
TEST(news)
{
	put_disk("sda", 0, "");
	open_monitor();
	put_disk("sdb", 16, "");
	monitor_tend(&x.m, MONITOR_DEVICES);
	expect_told("came sdb. ");
	put_disk("sdc", 32, "");
	x.m.looked_ns = now_ns() + NSEC_PER_SEC;	/* as if no time had passed, however busy this machine is */
	monitor_tend(&x.m, MONITOR_DEVICES);
	monitor_tend(&x.m, MONITOR_NO_NEWS);
	expect_told("");
	assert_in_range(x.m.look_ns - x.m.looked_ns, 1, NSEC_PER_SEC / 5);
	x.m.look_ns = now_ns();
	monitor_tend(&x.m, MONITOR_NO_NEWS);
	expect_told("came sdc. ");
}

/* Each failure is told once, and again when it comes back. What went away again is none. */
TEST(what_fails)
{
	put_disk("sda", 0, "");
	open_monitor();
	put_disk("sdb", 16, "");
	x.add_err = -ENODEV;
	monitor_look(&x.m);
	expect_told("");
	for (u32 i = 0; i < 2; i++) {
		x.add_err = -EINVAL;
		monitor_look(&x.m);
		monitor_look(&x.m);
		expect_told("failed: it is broken. ");
		x.find_err = -E2BIG;
		monitor_look(&x.m);
		monitor_look(&x.m);
		expect_told("failed: that can't be found. ");
		x.find_err = x.add_err = 0;
		monitor_look(&x.m);
		expect_told(i ? "came sdc. " : "came sdb. ");
		put_disk("sdc", 32, "");
	}
}

/* --- another capture ----------------------------------------------------------------------------------------------------- */

/* It is opened beside the first and replaces it after that has been read once more. What stays keeps its number. */
TEST(no_room)
{
	put_disk("sda", 0, "");
	put_disk("sdb", 16, "");
	x.room = 2;
	x.in_flight = 3;
	open_monitor();
	next();
	strcpy(x.gone.name, "sda");
	take_disk("sda");
	next();
	expect_told("gone sda. ");
	x.gone.name[0] = '\0';
	put_disk("sdc", 32, "");
	x.room = 4;
	monitor_look(&x.m);
	expect_told("");
	assert_int_equal(monitor_due_ns(&x.m), 0);
	tend();
	expect_told("came sdc. ");
	assert_int_equal(x.open, 2);
	put_disk("sdd", 48, "");
	monitor_look(&x.m);
	expect_told("came sdd. ");
	put_disk("sde", 64, "");
	put_disk("sdf", 80, "");
	monitor_look(&x.m);
	monitor_look(&x.m);
	expect_told("came sde. failed: sdf has no room. ");
	assert_int_equal(x.doubled, 1);
	overlap();
	next();
	expect_told("reopened: sdc has no room. ");
	expect_frame(1, "sdb", 1, EACH);
	assert_int_equal(x.m.intervals.frames.n, 2);
	assert_int_equal(x.open, 2);
	next();
	expect_closed();
	expect_frame(0, "sdb", 1, EACH);
	expect_frame(1, "sdc", 2, 2 * EACH);
	expect_frame(2, "sdd", 3, 2 * EACH);
	expect_account(0, 5, 2);
	expect_account(1, 2, 0);
	expect_told("");
	monitor_look(&x.m);
	tend();
	expect_told("came sdf. ");
	assert_int_equal(x.doubled, 2);
}

TEST(outgrown_slots)
{
	put_disk("sda", 0, "");
	open_monitor();
	x.outgrown = true;
	next();
	expect_told("outgrown sda. ");
	assert_true(monitor_due_ns(&x.m));
	x.outgrown_err = -ENOSPC;
	next();
	x.outgrown = false;
	assert_int_equal(monitor_due_ns(&x.m), 0);
	/* It can't be opened. The first one goes on, and it is not tried all the time. */
	x.open_err = -ENOMEM;
	for (u32 i = 0; i < 3; i++) {
		tend();
		next();
		expect_frame(0, "sda", 0, EACH);
	}
	assert_int_equal(x.opened, 2);
	expect_told("failed: sda has more tags now than there is room for; another capture could not be opened: no memory for it. ");
	assert_in_range(x.m.reopen_ns, now_ns() + 50 * NSEC_PER_SEC, now_ns() + 60 * NSEC_PER_SEC);
	assert_int_equal(x.m.doubled, 0);
	x.open_err = 0;
	x.m.reopen_ns = 0;
	tend();
	next();
	expect_told("");
	overlap();
	next();
	expect_told("reopened: sda has more tags now than there is room for. ");
	next();
	expect_frame(0, "sda", 0, EACH);
	expect_account(0, 9, 0);
	expect_closed();
}

/* A part has no account: of it, only what completed goes on. */
TEST(parts_in_another_capture)
{
	put_disk("sda", 0, "");
	x.stages = 2;
	x.part = part_numbered(BLKLAT_BY_SIZE, 1);
	x.in_flight = 3;
	open_monitor();
	x.outgrown = true;
	x.outgrown_err = -ENOSPC;
	next();
	x.outgrown = false;
	tend();
	overlap();
	for (u32 i = 0; i < 3; i++) {
		const struct watch_counts *w;

		next();
		w = x.m.intervals.frames.f[1].counts;
		assert_int_equal(accounting_completed(w), (3 + i) * EACH);
		assert_true(!w->started && !w->started_after && !w->accounts[BLKLAT_OVERWRITTEN]);
	}
	assert_int_equal(x.opened, 2);
	expect_account(0, 5, 2);
}

/* The run's summary still tells whose IOs they were, of a device that is gone and whose place another one has. */
TEST(owners_of_a_device_that_is_gone)
{
	const struct part *dd = part_find("process", "dd (1)");
	u32 number = dd->number;
	char label[16];

	x.stages = 2;
	x.part = dd;
	put_disk("sda", 0, "");
	open_monitor();
	strcpy(x.gone.name, "sda");
	next();
	take_disk("sda");
	put_disk("sdb", 16, "");
	x.part = part_numbered(BLKLAT_BY_PROCESS, BLKLAT_CGROUP_REST);
	monitor_look(&x.m);
	next();
	expect_frame(0, "sdb", 2, EACH);
	for (u32 i = 0; i < 2 * PARTS_SPARE; i++) {
		snprintf(label, sizeof(label), "fio (%u)", i);
		assert_non_null(part_find("process", label));
	}
	assert_ptr_equal(x.m.all[1].part, dd);
	assert_int_equal(part_find("process", "dd (1)")->number, number);	/* it has not been freed and made again */
}

/* The first read of the other one fails: it is closed. */
TEST(the_other_breaks)
{
	put_disk("sda", 0, "");
	open_monitor();
	x.outgrown = true;
	x.outgrown_err = -ENOSPC;
	next();
	tend();
	assert_int_equal(x.open, 2);
	x.read_err = -EIO;
	overlap();
	next();
	expect_told("failed: the engine broke. ");
	assert_int_equal(x.open, 1);
	next();
	expect_frame(0, "sda", 0, EACH);
}

/* The run ends while another capture is being opened. */
TEST(ends_meanwhile)
{
	put_disk("sda", 0, "");
	open_monitor();
	x.outgrown = true;
	x.outgrown_err = -ENOSPC;
	next();
	x.in_background = x.goes_on = true;
	monitor_tend(&x.m, MONITOR_NO_NEWS);
	assert_non_null(x.m.next.opening);
	next();
	expect_frame(0, "sda", 0, EACH);
}

TEST(can_not_open)
{
	x.open_err = -EPERM;
	put_disk("sda", 0, "");
	assert_int_equal(monitor_open(&x.m, &x.cfg, &x.p), -EPERM);
	assert_string_equal(x.p.text, "no memory for it");
}
