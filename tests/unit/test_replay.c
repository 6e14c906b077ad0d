// SPDX-License-Identifier: GPL-2.0-only
/* The replay engine: scripts in, snapshots out. */
#include "replayed_script.h"

#include "blklat/parts.h"

static void script_start(struct script *s, const char *text, int scale)
{
	assert_int_equal(script_open(s, text, strlen(text), scale), 0);
	assert_int_equal(snapshot_init(&s->now, s->capture->n_watches, s->capture->scale), 0);
	assert_int_equal(capture_replay.read(s->capture, &s->now, &s->problem), 0);
}

static void script_tick(struct script *s)
{
	assert_int_equal(capture_replay.read(s->capture, &s->now, &s->problem), 0);
}

static void script_end(struct script *s)
{
	capture_replay.close(s->capture);
	snapshot_uninit(&s->now);
	unlink(s->file);
}

static void facts_are_kept(void **state)
{
	struct script s;
	const struct device *d;

	(void)state;
	script_start(&s,
		"blklat-replay 1\n"
		"  # a comment, then an empty line\n\n"
		"engine kmod # and one behind\n"
		"scale 4\ncpus 16\nmemory 123456\nstart 2026-11-21T07:35:00.25Z\n"
		"device \"my \\\"disk\\\"\" kind=nvme model=\"Samsung SSD 980 \\\\ PRO\" size=1000204886016 "
		"scheduler=none queues=8 tags=1023 mapper=vg-root\n"
		"device other queues=0\n"
		"watch other total\nwatch \"my \\\"disk\\\"\" device\nwatch \"my \\\"disk\\\"\" queue\n"
		"tick 1\n", -1);
	d = s.capture->watches[1].device;
	assert_string_equal(s.capture->engine, "kmod");
	assert_int_equal(s.capture->scale, 4);
	assert_int_equal(s.capture->cpus, 16);
	assert_int_equal(s.capture->memory_bytes, 123456);
	assert_int_equal(s.capture->n_watches, 3);
	assert_null(s.capture->live);
	assert_string_equal(d->name, "my \"disk\"");
	assert_string_equal(d->kind, "nvme");
	assert_string_equal(d->model, "Samsung SSD 980 \\ PRO");
	assert_string_equal(d->scheduler, "none");
	assert_string_equal(d->mapper, "vg-root");
	assert_true(d->size_bytes == 1000204886016);
	assert_int_equal(d->hw_queues, 8);
	assert_int_equal(d->tags, 1023);
	assert_int_equal(d->stages, 1 << BLKLAT_STAGE_DEVICE | 1 << BLKLAT_STAGE_QUEUE);
	assert_string_equal(s.capture->watches[0].device->name, "other");
	assert_int_equal(s.capture->watches[0].device->hw_queues, 0);
	assert_int_equal(s.capture->watches[0].stage, BLKLAT_STAGE_TOTAL);
	assert_true(s.now.wall_ns == 1795246500250000000LL);
	script_end(&s);
}

/* Starts are cumulative, as is the number of IOs; bins, sums and extremes are of one interval. */
static void counts_are_a_live_engines(void **state)
{
	const struct op_counts *rd;
	struct script s;
	u64 mono;

	(void)state;
	script_start(&s, START
		"io read 60us 4096 x1000\nio read 59.5us 512\nio write 1.5ms 8192 x10 errors=1\n"
		"in-flight 32 oldest=81.2us\ntick 1.0003\n"
		"io read 2s 4096\nin-flight 0\ntick 0.5 at=2026-11-21T07:35:00Z\ntick 1\n", -1);
	mono = s.now.mono_ns;
	assert_int_equal(hist_count(&s.now.w[0].ops[BLKLAT_OP_READ].hist), 0);
	script_tick(&s);
	rd = &s.now.w[0].ops[BLKLAT_OP_READ];
	assert_int_equal(s.now.mono_ns - mono, 1000300000);
	assert_int_equal(s.now.wall_ns, 1000300000);
	assert_int_equal(rd->sum_ns, 60000 * 1000 + 59500);
	assert_int_equal(rd->bytes, 4096 * 1000 + 512);
	assert_int_equal(rd->min_ns, 59500);
	assert_int_equal(rd->max_ns, 60000);
	assert_int_equal(rd->hist.cells[767], 1000);	/* the worked row of bins.h */
	assert_int_equal(rd->hist.cells[766], 1);
	assert_int_equal(s.now.w[0].ops[BLKLAT_OP_WRITE].errors, 1);
	assert_int_equal(s.now.w[0].started, 1001 + 10 + 32);
	assert_int_equal(s.now.w[0].started_after, 1001 + 10 + 32);
	assert_int_equal(s.now.w[0].in_flight, 32);
	assert_int_equal(s.now.w[0].oldest_ns, 81200);
	assert_int_equal(s.now.w[0].kernel_ios, 1011);
	assert_true(s.now.w[0].kernel_known);
	script_tick(&s);
	assert_int_equal(rd->min_ns, 2 * NSEC_PER_SEC);
	assert_int_equal(rd->max_ns, 2 * NSEC_PER_SEC);
	assert_int_equal(hist_count(&rd->hist), 1);
	assert_int_equal(rd->sum_ns, 2 * NSEC_PER_SEC);
	assert_int_equal(op_counts_ios(rd), 1002);
	/* 31 left without completing: no starts are invented for them, nor taken back. */
	assert_int_equal(s.now.w[0].started, 1001 + 10 + 32);
	assert_int_equal(s.now.w[0].in_flight, 0);
	assert_true(s.now.wall_ns == 1795246500000000000LL);
	script_tick(&s);
	assert_true(s.now.wall_ns == 1795246501000000000LL);
	assert_int_equal(hist_count(&rd->hist), 0);
	assert_int_equal(op_counts_ios(rd), 1002);
	assert_int_equal(capture_replay.read(s.capture, &s.now, &s.problem), -ENODATA);
	assert_int_equal(capture_replay.read(s.capture, &s.now, &s.problem), -ENODATA);
	script_end(&s);
}

/* Counted at once, as an engine does it; a part is no IO, and implies no start. */
static void parts_of_ios(void **state)
{
	const struct watch_counts *w;
	const struct op_counts *wr;
	struct script s;

	(void)state;
	script_start(&s, START "part write 4096 errors=2\npart write 512\nin-flight 1\ntick 1\n"
		"io write 1ms 1024 errors=1\nin-flight 0\ntick 1\n", -1);
	w = &s.now.w[0];
	wr = &w->ops[BLKLAT_OP_WRITE];
	script_tick(&s);
	assert_int_equal(wr->bytes, 4608);
	assert_int_equal(wr->errors, 2);
	assert_int_equal(wr->sum_ns, 0);
	assert_int_equal(hist_count(&wr->hist), 0);
	assert_int_equal(w->started, 1);
	assert_int_equal(w->kernel_ios, 0);
	script_tick(&s);
	assert_int_equal(wr->bytes, 1024);
	assert_int_equal(wr->errors, 1);
	assert_int_equal(hist_count(&wr->hist), 1);
	assert_int_equal(w->started, 1);
	assert_int_equal(w->kernel_ios, 1);
	script_end(&s);
}

static void accounts_and_their_starts(void **state)
{
	const struct watch_counts *a, *b;
	struct script s;

	(void)state;
	script_start(&s, START "device e\nwatch e total\nwatch d queue\n"
		"account requeued 3\naccount no_start 4\naccount overwritten 5\naccount tag_range 6\n"
		"account table_full 7\naccount before 8\naccount unissued 9\nstarts +103\nstarts -3\nskipped 11\n"
		"after starts=2 in-flight=1\nkernel-ios -1\n"
		"on e total\nio write 1ms 512 x3\nkernel-ios +20\non d queue\nkernel-ios unknown\n"
		"on d device\ngone\ntick 1\ntick 1\n", -1);
	a = &s.now.w[0];
	b = &s.now.w[1];
	script_tick(&s);
	assert_int_equal(a->accounts[BLKLAT_REQUEUED], 3);
	assert_int_equal(a->accounts[BLKLAT_NO_START], 4);
	assert_int_equal(a->accounts[BLKLAT_OVERWRITTEN], 5);
	assert_int_equal(a->accounts[BLKLAT_TAG_RANGE], 6);
	assert_int_equal(a->accounts[BLKLAT_TABLE_FULL], 7);
	assert_int_equal(a->accounts[BLKLAT_BEFORE], 8);
	assert_int_equal(a->accounts[BLKLAT_UNISSUED], 9);
	assert_int_equal(a->started, 3 + 5 + 100);
	assert_int_equal(a->started_after, 3 + 5 + 100 + 2);
	assert_int_equal(a->in_flight_after, 1);
	assert_int_equal(a->kernel_ios, 0);	/* never below 0 */
	assert_true(a->gone && s.now.w[2].gone);
	assert_false(b->gone);
	assert_int_equal(b->kernel_ios, 23);
	assert_int_equal(b->accounts[BLKLAT_STARTED], 3);
	assert_false(s.now.w[2].kernel_known);
	assert_int_equal(s.now.skipped, 11);
	script_tick(&s);
	assert_int_equal(a->started, 108);
	assert_int_equal(a->started_after, 108);	/* that was for one tick */
	assert_int_equal(a->in_flight_after, 0);
	script_end(&s);
}

static void scales_merge_but_never_split(void **state)
{
	static const char finer[] = "blklat-replay 1\nscale 3\ndevice d\nwatch d device\ntick 1\n";
	struct script s;

	(void)state;
	script_start(&s, START "io read 60us 1 x5\nio read 61us 1 x7\nio read 1us 1\ntick 1\n", 2);
	script_tick(&s);
	assert_int_equal(s.capture->scale, 2);
	/* Bounds of quarter octaves: 51324 and 61035 ns; 953 and 1134 ns. */
	for (u32 cell = 0; cell < (u32)BLKLAT_CELLS(2); cell++) {
		u64 upper_ns = hist_upper_ns(2, cell);

		assert_int_equal(s.now.w[0].ops[BLKLAT_OP_READ].hist.cells[cell],
				 upper_ns == 61035 ? 12 : upper_ns == 1134 ? 1 : 0);
	}
	script_end(&s);
	assert_int_equal(script_open(&s, finer, strlen(finer), 4), -EINVAL);
	assert_non_null(strstr(s.problem.text, "was captured at scale 3"));
	script_end(&s);
}

/* Counted among all others, and on its own. 102 us is in (94129, 102648], an eighth of an octave. */
static void ios_after_a_pause(void **state)
{
	struct script s;
	struct op_counts *rd;

	(void)state;
	script_start(&s, START "idle-gap 100ms\nio read 102us 4096 x3 errors=1 after-idle\nio read 27us 512 x5\n"
		     "tick 1\nio read 102us 4096 after-idle\ntick 1\n", -1);
	assert_int_equal(s.now.idle_gap_ns, 100000000);
	script_tick(&s);
	rd = &s.now.w[0].ops[BLKLAT_OP_READ];
	assert_int_equal(s.now.idle_gap_ns, 100000000);
	assert_int_equal(hist_count(&rd->hist), 8);
	assert_int_equal(rd->errors, 1);
	assert_int_equal(rd->sum_ns, 3 * 102000 + 5 * 27000);
	assert_int_equal(rd->after_idle_sum_ns, 3 * 102000);
	assert_int_equal(rd->after_idle.scale, 3);
	for (u32 cell = 0; cell < (u32)BLKLAT_CELLS(3); cell++)
		assert_int_equal(rd->after_idle.cells[cell],
				 hist_upper_ns(3, cell) == 102648 ? 3 : 0);
	script_tick(&s);
	assert_int_equal(hist_count(&rd->after_idle), 1);
	assert_int_equal(s.now.w[0].kernel_ios, 9);
	script_end(&s);
}

static void what_was_told_as_parts(void **state)
{
	struct script s;
	const struct slow_io *io;

	(void)state;
	/* The second statement tells all that can be told of an IO. */
	script_start(&s, "blklat-replay 1\nby size\nslow-max 5\ndevice d\nwatch d device\n"
		     "slow read 1ms 4096 depth=1 beside=nothing flags=sync\n"
		     "slow read 2ms 4096 ago=1ms sector=1 error=0 queue=1ms device=1ms depth=4294967295 \"beside=big write\" "
		     "flags=FUA/flush hw-queue=1 cpu=1 pid=7 comm=dd cgroup=/ \"in=4 KiB\" x2\n"
		     "slow read 500us 4096\nio read 1ms 4096 x4\ntick 1\n", -1);
	script_tick(&s);
	io = s.capture->slow->io;
	assert_int_equal(s.capture->slow->n, 4);
	for (u32 i = 0; i < 2; i++)
		assert_true(io[i].told.depth == UINT32_MAX && io[i].told.beside == BLKLAT_KIND_LARGE_WRITE &&
			    io[i].told.flags == BLKLAT_FLAGS_FUA);
	assert_true(io[2].told.depth == 1 && io[2].told.beside == BLKLAT_BESIDE_NOTHING && io[2].told.flags == BLKLAT_FLAGS_SYNC);
	assert_true(!io[3].told.depth && !io[3].told.beside && !io[3].told.flags);
	script_end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_kept),
		cmocka_unit_test(counts_are_a_live_engines),
		cmocka_unit_test(parts_of_ios),
		cmocka_unit_test(accounts_and_their_starts),
		cmocka_unit_test(scales_merge_but_never_split),
		cmocka_unit_test(ios_after_a_pause),
		cmocka_unit_test(what_was_told_as_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
