// SPDX-License-Identifier: GPL-2.0-only
/* What is recorded and replayed is what was there, number by number; tests/cli/test_record_replays.py has all scripts. */
#include "recording_feed.h"

#include "recording/marks.h"
#include "recording/ring.h"

/* A stack: what is watched, everything below it, and the disks of these; nothing else. Their facts: tests/cli/test_script.py. */
TEST(devices_below_are_kept)
{
	struct device d[] = {
		{ .name = "sda", .parent = 0 }, { .name = "sda1", .kind = "partition", .parent = 0 }, { .name = "sdb", .parent = 2 },
		{ .name = "sdc", .parent = 3 }, { .name = "md0", .parent = 4, .n_lower = 2, .lower = { 1, 2 } },
		{ .name = "dm-0", .parent = 5, .n_lower = 1, .lower = { 4 } },
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
	for (u32 i = 0; i < 2; i++)
		is.f[i].counts = &now.w[i];
	assert_int_equal(recorder_open(&info, &cfg, &s, &p), 0);
	assert_int_equal(s->ops->interval(s, &is), 0);
	s->ops->close(s);
	replay(at.file, -1);
	assert_int_equal(c->devices->n, 5);
	for (u32 i = 0, k = 0; i < ARRAY_SIZE(d); i++)
		if (i != 3)
			assert_string_equal(d[i].name, c->devices->d[k++].name);
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
	same_snapshot(&f.before, &sum, START_IS_KNOWN);
	assert_int_equal(read_summed(), 0);
	same_snapshot(&f.now, &sum, ALL_IS_KNOWN);
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

/* A device that comes, of the name of another one, before intervals are merged and dropped or behind; else: tests/cli/test_script.py. */
static void record_one_that_comes(u32 comes, u32 n)
{
	feed_begin(4);
	for (u32 i = 0; i < 4; i++)
		f.watches[i] = (struct watch){ .device = &f.device[i / 2], .stage = i % 2 };
	strcpy(f.device[1].name, "loop0");
	f.info.n_watches = 2;
	f.info.most_watches = 4;
	f.table.n = 1;
	assert_int_equal(feed_open_as(&(struct recorder_config){ .file = at.file, .overwrite = true, .max_bytes = ring_least_bytes(2) }), 0);
	for (u32 i = 0; i < n; i++) {
		if (i == comes) {
			f.info.n_watches = 4;
			f.table.n = 2;
			snapshot_enter(&f.now, 2, 2);
			frames_enter(&f.is, f.watches + 2, 2, 2, 2);
		}
		feed_make();
		f.is.n = f.info.n_watches;
		assert_int_equal(f.sink->ops->interval(f.sink, &f.is), 0);
		f.is.n = 4;
	}
	feed_close();
}

TEST(a_device_that_comes_to_a_ring)
{
	for (u32 comes = 5; comes < 400; comes += 97) {
		record_one_that_comes(comes, 400);
		replay_summed(at.file);
		while (!read_summed())
			;
		assert_string_equal(p.text, "the replay is at its end");
		assert_int_equal(sum.w[3].kernel_ios, f.now.w[3].kernel_ios);
	}
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
		assert_ptr_equal(c->watches[i].part, f.watches[i].part);
		assert_true(sum.w[i].gone && sum.w[i].awaited == (f.watches[i].device != &f.device[1]) &&
			    sum.w[i].replaced == !sum.w[i].awaited);
	}
	for (u32 i = 0; i < N; i++) {
		assert_int_equal(read_summed(), 0);
		same_snapshot(&past[i], &sum, ALL_IS_KNOWN);
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
