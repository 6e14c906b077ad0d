// SPDX-License-Identifier: GPL-2.0-only
/* What is recorded and replayed is what was there, number by number. */
#include "recording_feed.h"

#include <glob.h>

#include "recording/schema.h"

static void same_hist(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->scale, b->scale);
	assert_memory_equal(a->cells, b->cells, BLKLAT_CELLS(a->scale) * sizeof(*a->cells));
}

/*
 * Pauses are recorded as in frames, without those of doubtful intervals, so frames are compared elsewhere.
 * @first: of the start only the clocks and the counts are known.
 */
static void same_watch(const struct watch_counts *a, const struct watch_counts *b, bool first)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_counts *x = &a->ops[op], *y = &b->ops[op];

		assert_true(x->sum_ns == y->sum_ns && x->bytes == y->bytes && x->errors == y->errors);
		assert_true(first || !hist_count(&y->hist) || (x->min_ns == y->min_ns && x->max_ns == y->max_ns));
		same_hist(&x->hist, &y->hist);
	}
	if (first)
		return;
	assert_true(a->started == b->started && a->started_after == b->started_after);
	assert_true(a->in_flight == b->in_flight && a->in_flight_after == b->in_flight_after);
	assert_true(a->oldest_ns == b->oldest_ns && a->waited_ns == b->waited_ns);
	assert_memory_equal(a->accounts, b->accounts, sizeof(a->accounts));
	assert_true(a->kernel_known == b->kernel_known && a->kernel_ios == b->kernel_ios && a->kernel_in_flight == b->kernel_in_flight);
	assert_true(a->gone == b->gone && a->replaced == b->replaced && a->unsettled == b->unsettled);
}

static void same_snapshot(const struct snapshot *a, const struct snapshot *b, bool first)
{
	assert_int_equal(a->n, b->n);
	assert_true(a->mono_ns == b->mono_ns && a->skipped == b->skipped);
	assert_true(first || a->wall_ns == b->wall_ns);
	for (u32 i = 0; i < a->n; i++)
		same_watch(&a->w[i], &b->w[i], first);
}

static void same_device(const struct device *a, const struct device *b)
{
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->mapper, b->mapper);
	assert_string_equal(a->kind, b->kind);
	assert_string_equal(a->model, b->model);
	assert_string_equal(a->scheduler, b->scheduler);
	assert_true(a->size_bytes == b->size_bytes && a->hw_queues == b->hw_queues && a->tags == b->tags);
	assert_true(a->nr_requests == b->nr_requests && a->major == b->major && a->minor == b->minor);
	assert_true(a->iostats == b->iostats && a->hidden == b->hidden);
}

static void same_capture(const struct capture *a, const struct capture *b)
{
	assert_string_equal(a->engine, b->engine);
	assert_int_equal(a->n_watches, b->n_watches);
	assert_int_equal(a->scale, b->scale);
	assert_int_equal(a->cpus, b->cpus);
	for (u32 i = 0; i < a->n_watches; i++) {
		assert_int_equal(a->watches[i].stage, b->watches[i].stage);
		assert_true(same_part(&a->watches[i], &b->watches[i]));
		same_device(a->watches[i].device, b->watches[i].device);
	}
}

/* Reads both to their ends. A run ends before its script does once all its devices are gone. */
static void same_run(struct capture *a, struct capture *b)
{
	struct snapshot s, t;
	struct problem p;
	bool first = true;
	int err;

	same_capture(a, b);
	assert_int_equal(snapshot_init(&s, a->n_watches, a->scale), 0);
	assert_int_equal(snapshot_init(&t, b->n_watches, b->scale), 0);
	while (!(err = b->ops->read(b, &t, &p))) {
		assert_int_equal(a->ops->read(a, &s, &p), 0);
		same_snapshot(&s, &t, first);
		first = false;
	}
	assert_int_equal(err, -ENODATA);
	assert_false(first);
	snapshot_uninit(&s);
	snapshot_uninit(&t);
}

/* @scale, or the source's own if that is coarser. */
static int scale_of(const struct place *at, int scale)
{
	struct capture *c = replay(at->source, -1);
	int finest = c->scale;

	c->ops->close(c);
	return scale < finest ? scale : finest;
}

static void check_copy(struct place *at, int recorded, int replayed)
{
	struct capture *a, *b;

	recorded = scale_of(at, recorded);
	replayed = scale_of(at, replayed);
	recording_of_source(at, recorded, 0);
	a = replay(at->source, replayed);
	b = replay(at->file, replayed);
	/* A recording reports the memory that the capture took, at the capture's own scale. */
	if (recorded == replayed)
		assert_true(a->memory_bytes == b->memory_bytes);
	same_run(a, b);
	a->ops->close(a);
	b->ops->close(b);
	assert_int_equal(unlink(at->file), 0);
}

/* Merging bins when they are recorded or when they are read gives the same. */
TEST(a_replay_of_a_recording_is_the_run)
{
	static const int scales[][2] = { { -1, -1 }, { 3, 3 }, { 3, 1 }, { -1, 2 } };
	glob_t found;

	assert_int_equal(glob("tests/cli/replay/*.txt", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 6);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct place at;

		place_make(&at);
		place_source(&at, found.gl_pathv[i]);
		for (u32 k = 0; k < ARRAY_SIZE(scales); k++)
			check_copy(&at, scales[k][0], scales[k][1]);
		place_remove(&at);
	}
	globfree(&found);
}

#define START "blklat-replay 1\nstart 2026-11-21T07:35:00Z\ndevice d\nwatch d device\n"

TEST(a_finer_scale_is_refused)
{
	struct place at;
	struct capture_config cfg = { .scale = 4 };
	struct capture *c = NULL;
	struct problem p;

	place_make(&at);
	place_script(&at, START "io read 60us 4096\ntick 1\n");
	recording_of(&at, at.script, 3, 0);
	cfg.replay_file = at.file;
	assert_int_equal(capture_replay.open(&cfg, &c, &p), -EINVAL);
	assert_non_null(strstr(p.text, "was captured at scale 3, so a finer one such as 4 is not possible"));
	place_remove(&at);
}

TEST(origin_is_kept)
{
	const struct origin *o;
	struct capture *c;
	struct place at;

	place_make(&at);
	place_script(&at, START "io read 60us 4096\ntick 1\ntick 1\n");
	recording_of(&at, at.script, -1, 0);
	c = replay(at.file, -1);
	o = c->origin;
	assert_string_equal(o->file, at.file);
	assert_string_equal(o->label, "a label");
	assert_string_equal(o->host, "a-host");
	assert_string_equal(o->kernel, "6.1.0-test");
	assert_string_equal(o->version, "1.2.3");
	assert_string_equal(o->command, "blklat record --dev 'a b'");
	assert_true(o->start_mono_ns == 1000 * NSEC_PER_SEC);
	assert_true(o->start_wall_ns == 1795246500 * (s64)NSEC_PER_SEC);
	assert_true(o->interval_s == 1);
	assert_int_equal(o->idle_gap_ns, 0);
	assert_true(o->finished);
	assert_int_equal(o->n_marks, 0);
	assert_int_equal(o->dropped, 0);
	c->ops->close(c);
	place_remove(&at);
}

/* A stack: what is watched, everything below it, and the disks of these; nothing else. */
TEST(devices_below_are_kept)
{
	struct device d[] = {
		{ .name = "sda", .kind = "disk", .parent = 0, .hw_queues = 1, .major = 8, .size_bytes = 1 << 30 },
		{ .name = "sda1", .kind = "partition", .parent = 0, .major = 8, .minor = 1 },
		{ .name = "sdb", .kind = "disk", .parent = 2, .hidden = true, .iostats = true, .tags = 32,
		  .nr_requests = 64 },
		{ .name = "sdc", .kind = "disk", .parent = 3 },
		{ .name = "md0", .kind = "md", .parent = 4, .n_lower = 2, .lower = { 1, 2 } },
		{ .name = "dm-0", .kind = "dm", .mapper = "vg-root", .parent = 5, .n_lower = 1, .lower = { 4 } },
	};
	const struct device_table table = { .n = ARRAY_SIZE(d), .d = d };
	const struct watch w[] = { { .device = &d[5], .stage = BLKLAT_STAGE_TOTAL }, { .device = &d[1], .stage = BLKLAT_STAGE_DEVICE } };
	struct run_info info = { .version = "1", .engine = "bpf", .watches = w, .n_watches = 2, .devices = &table,
				 .origin = &recording_origin, .cpus = 2, .scale = 2, .interval_s = 1 };
	struct snapshot now;
	struct frames is;
	struct recorder_config cfg = { 0 };
	struct capture *c;
	struct problem p;
	struct sink *s;
	struct place at;

	place_make(&at);
	cfg.file = at.file;
	assert_int_equal(snapshot_init(&now, 2, 2), 0);
	assert_int_equal(frames_init(&is, w, 2, 2), 0);
	now.mono_ns = 5 * NSEC_PER_SEC;
	is.before = is.now = &now;
	assert_int_equal(recorder_open(&info, &cfg, &s, &p), 0);
	assert_int_equal(s->ops->interval(s, &is), 0);
	s->ops->close(s);
	c = replay(at.file, -1);
	assert_int_equal(c->devices->n, 5);
	for (u32 i = 0, k = 0; i < ARRAY_SIZE(d); i++)
		if (i != 3)
			same_device(&d[i], &c->devices->d[k++]);
	assert_int_equal(c->devices->d[1].parent, 0);
	assert_int_equal(c->devices->d[4].parent, 4);
	assert_int_equal(c->devices->d[3].n_lower, 2);
	assert_int_equal(c->devices->d[3].lower[0], 1);
	assert_int_equal(c->devices->d[3].lower[1], 2);
	assert_int_equal(c->devices->d[4].n_lower, 1);
	assert_int_equal(c->devices->d[4].lower[0], 3);
	assert_ptr_equal(c->watches[0].device, &c->devices->d[4]);
	assert_int_equal(c->watches[1].stage, BLKLAT_STAGE_DEVICE);
	c->ops->close(c);
	frames_uninit(&is);
	snapshot_uninit(&now);
	place_remove(&at);
}

/* What was counted before the first interval belongs to no interval, only to the accounting. */
TEST(what_came_before_is_kept)
{
	struct snapshot first, second;
	struct capture *c;
	struct problem p;
	struct place at;
	struct feed f;

	place_make(&at);
	feed_init(&f, 2, 6);
	feed_make(&f);
	feed_make(&f);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	f.sink->ops->close(f.sink);
	c = replay(at.file, -1);
	assert_int_equal(snapshot_init(&first, 2, 6), 0);
	assert_int_equal(snapshot_init(&second, 2, 6), 0);
	assert_int_equal(read_summed(c, &first, &p), 0);
	snapshot_copy(&second, &first);
	assert_int_equal(read_summed(c, &second, &p), 0);
	assert_true(hist_count(&first.w[0].ops[0].hist) > 0);
	same_snapshot(&f.before, &first, true);
	same_snapshot(&f.now, &second, false);
	c->ops->close(c);
	snapshot_uninit(&first);
	snapshot_uninit(&second);
	feed_uninit(&f);
	place_remove(&at);
}

/* As the loop shows it: without devices that went away before. */
static int write_shown(struct feed *f)
{
	struct frames shown = f->is;
	int err;

	shown.f = calloc(shown.n, sizeof(*shown.f));
	shown.n = 0;
	for (u32 i = 0; i < f->is.n; i++)
		if (!f->is.f[i].gone_before)
			shown.f[shown.n++] = f->is.f[i];
	err = f->sink->ops->interval(f->sink, &shown);
	free(shown.f);
	return err;
}

/* Wholes and parts, what each has in flight, one device replaced before the run and another one during it. */
TEST(parts_are_kept)
{
	enum { N = 12, WHOLES = 4, GOES = 7 };
	struct snapshot past[N], s;
	struct capture *c;
	struct problem p;
	struct place at;
	struct feed f;
	u32 n_parts = 0;

	place_make(&at);
	feed_init_by(&f, WHOLES, 6, BLKLAT_BY_SIZE);
	f.gone[1] = true;
	feed_make(&f);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	for (u32 i = 0; i < N; i++) {
		f.gone[0] = i == GOES;
		feed_make(&f);
		assert_int_equal(write_shown(&f), 0);
		assert_int_equal(snapshot_init(&past[i], f.now.n, 6), 0);
		snapshot_copy(&past[i], &f.now);
	}
	f.sink->ops->close(f.sink);
	c = replay(at.file, -1);
	assert_int_equal(c->n_watches, WHOLES * 10);
	assert_int_equal(snapshot_init(&s, c->n_watches, 6), 0);
	assert_int_equal(read_summed(c, &s, &p), 0);
	for (u32 i = 0; i < c->n_watches; i++) {
		assert_true(same_part(&c->watches[i], &f.watches[i]));
		assert_true(s.w[i].gone == (f.watches[i].device == &f.device[1]) && s.w[i].replaced == s.w[i].gone);
	}
	for (u32 i = 0; i < N; i++) {
		assert_int_equal(read_summed(c, &s, &p), 0);
		same_snapshot(&past[i], &s, false);
		for (u32 k = 0; k < s.n; k++)
			n_parts += c->watches[k].part && s.w[k].in_flight;
		snapshot_uninit(&past[i]);
	}
	assert_true(n_parts > 20);
	assert_int_equal(c->ops->read(c, &s, &p), -ENODATA);
	c->ops->close(c);
	snapshot_uninit(&s);
	feed_uninit(&f);
	place_remove(&at);
}

static bool is_there(const struct place *at, const char *end)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s", at->file, end);
	return !access(path, F_OK);
}

TEST(it_ends_as_one_plain_file)
{
	struct place at;

	place_make(&at);
	recording_of(&at, "tests/cli/replay/mixed.txt", -1, 0);
	assert_true(is_there(&at, ""));
	assert_false(is_there(&at, "-wal") || is_there(&at, "-shm") || is_there(&at, "-journal"));
	place_remove(&at);
}
