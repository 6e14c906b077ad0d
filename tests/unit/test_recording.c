// SPDX-License-Identifier: GPL-2.0-only
/* What is recorded and replayed is what was there, number by number. */
#include "recording_world.h"

#include <glob.h>

#include "recording/marks.h"

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

/* Reads @a and the replay to their ends. A run ends before its script does once all its devices are gone. */
static void same_run(struct capture *a)
{
	bool first = true;
	int err;

	same_capture(a, c);
	begin_sum();
	while (!(err = c->ops->read(c, &one, &p))) {
		assert_int_equal(a->ops->read(a, &sum, &p), 0);
		same_snapshot(&sum, &one, first);
		first = false;
	}
	assert_int_equal(err, -ENODATA);
	assert_false(first);
}

/* @scale, or the source's own if that is coarser. */
static int scale_of(int scale)
{
	replay(at.source, -1);
	return scale < (int)c->scale ? scale : (int)c->scale;
}

static void check_copy(int recorded, int replayed)
{
	const struct capture_config cfg = { .scale = scale_of(replayed), .replay_file = at.source };
	struct capture *a;

	recorded = scale_of(recorded);
	recording_of_source(recorded);
	assert_int_equal(capture_replay.open(&cfg, &a, &p), 0);
	replay(at.file, cfg.scale);
	/* A recording reports the memory that the capture took, at the capture's own scale. */
	if (recorded == cfg.scale)
		assert_true(a->memory_bytes == c->memory_bytes);
	same_run(a);
	a->ops->close(a);
	assert_int_equal(unlink(at.file), 0);
}

/* Merging bins when they are recorded or when they are read gives the same. */
TEST(a_replay_of_a_recording_is_the_run)
{
	static const int scales[][2] = { { -1, -1 }, { 3, 3 }, { 3, 1 }, { -1, 2 } };
	glob_t found;

	assert_int_equal(glob("tests/cli/replay/*.txt", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 6);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		place_source(found.gl_pathv[i]);
		for (u32 k = 0; k < ARRAY_SIZE(scales); k++)
			check_copy(scales[k][0], scales[k][1]);
	}
	globfree(&found);
}

#define START "blklat-replay 1\nstart 2026-11-21T07:35:00Z\ndevice d\nwatch d device\n"

TEST(a_finer_scale_is_refused)
{
	place_script(START "io read 60us 4096\ntick 1\n");
	recording_of(at.script, 3);
	assert_int_equal(open_replay(at.file, 4), -EINVAL);
	assert_non_null(strstr(p.text, "was captured at scale 3, so a finer one such as 4 is not possible"));
}

/* And it ends as one plain file. */
TEST(origin_is_kept)
{
	const struct origin *o;

	place_script(START "io read 60us 4096\ntick 1\ntick 1\n");
	recording_of(at.script, -1);
	assert_false(access(at.file, F_OK));
	assert_true(access(beside("-wal"), F_OK) && access(beside("-shm"), F_OK) && access(beside("-journal"), F_OK));
	replay(at.file, -1);
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
	const struct recorder_config cfg = { .file = at.file };
	struct sink *s;

	assert_int_equal(snapshot_init(&now, 2, 2), 0);
	assert_int_equal(frames_init(&is, w, 2, 2), 0);
	now.mono_ns = 5 * NSEC_PER_SEC;
	is.before = is.now = &now;
	assert_int_equal(recorder_open(&info, &cfg, &s, &p), 0);
	assert_int_equal(s->ops->interval(s, &is), 0);
	s->ops->close(s);
	replay(at.file, -1);
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
	frames_uninit(&is);
	snapshot_uninit(&now);
}

/* What was counted before the first interval belongs to no interval, only to the accounting. */
TEST(what_came_before_is_kept)
{
	feed_begin(2);
	feed_make();
	feed_make();
	feed_record(0, 1);
	replay_summed(at.file);
	assert_true(hist_count(&sum.w[0].ops[0].hist) > 0);
	same_snapshot(&f.before, &sum, true);
	assert_int_equal(read_summed(), 0);
	same_snapshot(&f.now, &sum, false);
}

/* As the loop shows it: without devices that went away before. */
static void write_shown(void)
{
	struct frames shown = f.is;

	shown.f = calloc(shown.n, sizeof(*shown.f));
	shown.n = 0;
	for (u32 i = 0; i < f.is.n; i++)
		if (!f.is.f[i].gone_before)
			shown.f[shown.n++] = f.is.f[i];
	assert_int_equal(f.sink->ops->interval(f.sink, &shown), 0);
	free(shown.f);
}

/* Wholes and parts, what each has in flight, one device replaced before the run and another one during it. */
TEST(parts_are_kept)
{
	enum { N = 12, WHOLES = 4, GOES = 7 };
	struct snapshot past[N];
	u32 n_parts = 0;

	feed_begin_by(WHOLES, BLKLAT_BY_SIZE);
	f.gone[1] = true;
	feed_make();
	assert_int_equal(feed_open(0), 0);
	for (u32 i = 0; i < N; i++) {
		f.gone[0] = i == GOES;
		feed_make();
		write_shown();
		snapshot_make(&past[i], f.now.n, SCALE);
		snapshot_copy(&past[i], &f.now);
	}
	feed_close();
	replay_summed(at.file);
	assert_int_equal(c->n_watches, WHOLES * 10);
	for (u32 i = 0; i < c->n_watches; i++) {
		assert_true(same_part(&c->watches[i], &f.watches[i]));
		assert_true(sum.w[i].gone == (f.watches[i].device == &f.device[1]) && sum.w[i].replaced == sum.w[i].gone);
	}
	for (u32 i = 0; i < N; i++) {
		assert_int_equal(read_summed(), 0);
		same_snapshot(&past[i], &sum, false);
		for (u32 k = 0; k < sum.n; k++)
			n_parts += c->watches[k].part && sum.w[k].in_flight;
		snapshot_uninit(&past[i]);
	}
	assert_true(n_parts > 20);
	assert_int_equal(read_summed(), -ENODATA);
}

/* --- marks --------------------------------------------------------------------------------------------- */

static void mark_plain(void)
{
	EXPECT(!recording_mark(at.file, "QD 8 starts", &p));
}

static void mark_odd(void)
{
	EXPECT(!recording_mark(at.file, "  QD \033[1m16\xff starts \n", &p));
}

/* By another process, as 'blklat mark' does it: the locks under test are those between processes. */
TEST(marks_are_noted)
{
	s64 wall = clock_ns(CLOCK_REALTIME), mono = clock_ns(CLOCK_MONOTONIC);

	feed_begin(1);
	assert_int_equal(feed_open(0), 0);
	for (u32 n = 0; n < 3; n++) {
		feed_interval();
		in_child(n == 1 ? mark_odd : mark_plain);
	}
	feed_close();
	replay(at.file, -1);
	assert_int_equal(c->origin->n_marks, 3);
	assert_string_equal(c->origin->marks[0].text, "QD 8 starts");
	assert_string_equal(c->origin->marks[1].text, "QD ?[1m16? starts");
	for (u32 i = 0; i < 3; i++) {
		const struct mark *m = &c->origin->marks[i];

		assert_in_range(m->mono_ns, mono, clock_ns(CLOCK_MONOTONIC));
		assert_in_range(m->wall_ns, wall, clock_ns(CLOCK_REALTIME));
		mono = m->mono_ns;
		wall = m->wall_ns;
	}
}

TEST(marks_that_cannot_be)
{
	char *longest CLEANUP(cleanup_free) = calloc(1, 2000);

	feed_begin(1);
	assert_int_equal(recording_mark(at.file, "x", &p), -ENOENT);
	assert_int_equal(feed_open(0), 0);
	memset(longest, 'x', 1025);
	assert_int_equal(recording_mark(at.file, longest, &p), -EINVAL);
	assert_int_equal(recording_mark(at.file, " \t", &p), -EINVAL);
	assert_string_equal(p.text, "a mark needs a text");
	feed_interval();
	feed_close();
	assert_int_equal(recording_mark(at.file, "x", &p), -ENXIO);
	assert_non_null(strstr(p.text, "is not being recorded"));
	place_script("SQLite format 4");
	assert_int_equal(recording_mark(at.script, "x", &p), -EBADMSG);
	assert_int_equal(recording_mark(at.dir, "x", &p), -EBADMSG);
}
