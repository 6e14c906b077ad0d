// SPDX-License-Identifier: GPL-2.0-only
/* The replay engine: scripts in, snapshots out; every bad line is reported by file and number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>

#include "blklat/parts.h"
#include "core/capture.h"
#include "util/cleanup.h"

#define START "blklat-replay 1\ndevice d\nwatch d device\n"
#define SLOW "blklat-replay 1\nslow-max 5\ndevice d\nwatch d device\nslow read 1ms 4096 "

struct script {
	char file[32];
	struct capture *capture;
	struct problem problem;
	struct snapshot now;
};

static int script_open(struct script *s, const char *text, size_t len, int scale)
{
	struct capture_config cfg = { .scale = scale, .replay_file = s->file };
	int fd;

	*s = (struct script){ .file = "/tmp/blklat-replay-XXXXXX" };
	fd = mkstemp(s->file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	return capture_replay.open(&cfg, &s->capture, &s->problem);
}

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

static void bad_scripts_are_named(void **state)
{
	static const struct { const char *text; u32 line; const char *says; } cases[] = {
		{ "blklat-replay 2\n", 1, "first line must be 'blklat-replay 1'" },
		{ START, 4, "must end with a 'tick'" },
		{ START "tick 1\nio read 1us 1\n", 6, "must end with a 'tick'" },
		{ "blklat-replay 1\ntick 1\n", 2, "nothing is watched" },
		{ START "frobnicate\n", 4, "unknown statement 'frobnicate'" },
		{ START "io read 1us\n", 4, "'io' takes 3 to 7 words, not 2" },
		{ START "tick 1\nscale 3\n", 5, "'scale' must come before anything happens" },
		{ START "device d\n", 4, "device 'd' already exists" },
		{ START "watch d device\n", 4, "is watched already" },
		{ START "watch x device\n", 4, "no device 'x'" },
		{ START "watch d cpu\n", 4, "unknown stage 'cpu'" },
		{ START "on d queue\n", 4, "is not watched" },
		{ START "device e colour=red\n", 4, "a device has no 'colour=red'" },
		{ START "device e size=-1\n", 4, "size '-1' must be a whole number" },
		{ START "device e size=99999999999999999999\n", 4, "size '99999999999999999999' must be" },
		{ START "device e kind=abcdefghijklmnopq\n", 4, "kind is longer than 15 bytes" },
		{ START "device \"\"\n", 4, "a device needs a name" },
		{ START "device \"e\n", 4, "a quote is left open" },
		{ START "io erase 1us 1\n", 4, "unknown op 'erase'" },
		{ START "io read 1 1\n", 4, "latency '1' must be like" },
		{ START "io read 1.5ns 1\n", 4, "whole in ns" },
		{ START "io read 1.05ns 1\n", 4, "whole in ns" },
		{ START "io read -1us 1\n", 4, "latency '-1us'" },
		{ START "io read .us 1\n", 4, "latency '.us'" },
		{ START "io read 1.1.1us 1\n", 4, "latency '1.1.1us'" },
		{ START "io read 99999999999999999999s 1\n", 4, "latency '99999999999999999999s'" },
		{ START "io read 1us 4k\n", 4, "bytes '4k' must be a whole number" },
		{ START "io read 1us 1 x1e3\n", 4, "count '1e3' must be" },
		{ START "io read 1us 1 1000\n", 4, "neither xCOUNT, errors=N, in=PART nor after-idle" },
		{ START "io read 1us 1 after-idle\n", 4, "needs an 'idle-gap' before it" },
		{ START "io read 1us 1 in=read\n", 4, "needs a 'by' before it" },
		{ START "by flags\nio read 1us 1\n", 5, "in=PART is missing, since IOs are divided by flags" },
		{ START "by depth\npart read 1 errors=1\n", 5, "in=PART is missing, since IOs are divided by depth" },
		{ START "by beside\nio read 1us 1 in=sync\n", 5, "'sync' is not a part by beside" },
		{ START "by size\nio read 1us 1 \"in=1 MiB\"\n", 5, "'1 MiB' is not a part by size" },
		{ START "by size\npart read 1 1\n", 5, "'1' is neither errors=N nor in=PART" },
		{ START "idle-gap 0ms\n", 4, "idle-gap '0ms' must be like 100ms" },
		{ START "idle-gap 1\n", 4, "idle-gap '1' must be like 100ms" },
		{ START "tick 1\nidle-gap 1s\n", 5, "'idle-gap' must come before" },
		{ START "io read 1us 1 x2 errors=3\n", 4, "3 errors are more than the 2 IOs" },
		{ START "io read 1000000s 1 x1000000\n", 4, "beyond 2^62" },
		{ START "io read 1ns 1099511627776 x1000000000000\n", 4, "beyond 2^62" },
		{ START "part nothing 1\n", 4, "unknown op 'nothing'" },
		{ START "part read\n", 4, "'part' takes 2 to 4 words" },
		{ START "part read 4k\n", 4, "bytes '4k' must be a whole number" },
		{ START "part read 1 x2\n", 4, "'x2' is neither errors=N nor in=PART" },
		{ START "part read 1 errors=1e3\n", 4, "errors '1e3' must be" },
		{ START "in-flight 0 oldest=1s\n", 4, "so there is no oldest" },
		{ START "in-flight 1 age=1s\n", 4, "must be like oldest=81.2us" },
		{ START "account nothing 1\n", 4, "unknown cell 'nothing'" },
		{ START "account started 1\n", 4, "unknown cell 'started'" },
		{ START "slow read 1ms 4096\n", 4, "slow needs a 'slow-max' before it" },
		{ "blklat-replay 1\nslow-max 0\n", 2, "keeps none" },
		{ SLOW "depth=0\n", 5, "depth must be at least 1" },
		{ SLOW "depth=4294967296\n", 5, "depth '4294967296' must be a whole number up to 4294967295" },
		{ SLOW "depth=9-16\n", 5, "depth '9-16' must be a whole number" },
		{ SLOW "beside=4\n", 5, "'4' is not a part by beside" },
		{ SLOW "beside=\n", 5, "'' is not a part by beside" },
		{ SLOW "beside=big write\n", 5, "'big' is not a part by beside" },
		{ SLOW "flags=4\n", 5, "'4' is not a part by flags" },
		{ SLOW "flags=\n", 5, "'' is not a part by flags" },
		{ SLOW "flags=flush\n", 5, "'flush' is not a part by flags" },
		{ START "after begins=1\n", 4, "neither starts=N nor in-flight=N" },
		{ START "kernel-ios 5\n", 4, "must be +N or -N" },
		{ START "starts 5\n", 4, "starts '5' must be +N or -N" },
		{ START "kernel-ios +\n", 4, "kernel-ios '' must be" },
		{ START "tick 0\n", 4, "tick '0' must be seconds" },
		{ START "tick 1s\n", 4, "tick '1s' must be seconds" },
		{ START "tick 1 at=noon\n", 4, "must be like at=" },
		{ START "tick 1 at=2026-02-31T00:00:00Z\n", 4, "must be like at=" },
		{ "blklat-replay 1\nstart 2026-11-21T07:35:00\n", 2, "is not a time" },
		{ "blklat-replay 1\nstart 2026-11-21 07:35:00Z\n", 2, "'start' takes 1 word, not 2" },
		{ "blklat-replay 1\nscale 7\n", 2, "scale '7' must be a whole number up to 6" },
		{ "blklat-replay 1\ncpus 0\n", 2, "cpus must be at least 1" },
		{ "blklat-replay 1\nengine \033[31m\n", 2, "a control character (byte 8 of the line)" },
		{ "blklat-replay 1\na b c d e f g h i j k l m n o p q r s t\n", 2, "more than 19 words" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		char where[64];
		struct script s;

		assert_int_equal(script_open(&s, cases[i].text, strlen(cases[i].text), -1), -EINVAL);
		assert_null(s.capture);
		snprintf(where, sizeof(where), "%s:%u: ", s.file, cases[i].line);
		if (strncmp(s.problem.text, where, strlen(where)) || !strstr(s.problem.text, cases[i].says))
			fail_msg("'%s' does not say '%s%s'", s.problem.text, where, cases[i].says);
		unlink(s.file);
	}
}

/* Neither a script nor a recording: not reported as a mistake in a line. */
static void other_files_are_refused(void **state)
{
	static const struct { const char *bytes; size_t len; const char *says; } cases[] = {
		{ "", 0, ": is not a recording (it is empty), nor a replay script" },
		{ "hello\n", 6, ": is not a recording, nor a replay script, whose first line is 'blklat-replay 1'" },
		{ "blklat-repla", 12, ": is not a recording, nor" },
		{ "SQLite format 3", 15, ": is not a recording, nor" },
		{ "\0\xff\177ELF", 6, ": is not a recording, nor" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct script s;

		assert_int_equal(script_open(&s, cases[i].bytes, cases[i].len, -1), -EBADMSG);
		assert_null(s.capture);
		assert_non_null(strstr(s.problem.text, cases[i].says));
		unlink(s.file);
	}
}

static void bytes_of_any_kind_are_refused(void **state)
{
	static const char nul[] = START "tick 1\n\0\n";
	char *longest CLEANUP(cleanup_free) = malloc(8192);
	struct script s;

	(void)state;
	assert_int_equal(script_open(&s, nul, sizeof(nul) - 1, -1), -EINVAL);
	assert_non_null(strstr(s.problem.text, ":5: a control character (byte 1 of the line)"));
	unlink(s.file);
	memset(longest, 'a', 8192);
	memcpy(longest, "blklat-replay", strlen("blklat-replay"));
	assert_int_equal(script_open(&s, longest, 8192, -1), -EINVAL);
	assert_non_null(strstr(s.problem.text, ":1: the line is longer than 4096 bytes"));
	unlink(s.file);
}

static void files_that_cannot_be_read(void **state)
{
	struct capture_config cfg = { .scale = -1, .replay_file = "/nonexistent/script" };
	struct capture *c = NULL;
	struct problem p;

	(void)state;
	assert_int_equal(capture_replay.open(&cfg, &c, &p), -ENOENT);
	assert_string_equal(p.text, "/nonexistent/script: can't be opened: No such file or directory");
	cfg.replay_file = "/tmp";
	assert_int_equal(capture_replay.open(&cfg, &c, &p), -EISDIR);
	assert_null(c);
	capture_replay.close(NULL);
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
		cmocka_unit_test(bad_scripts_are_named),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(bytes_of_any_kind_are_refused),
		cmocka_unit_test(files_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
