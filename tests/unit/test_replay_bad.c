// SPDX-License-Identifier: GPL-2.0-only
/* What is no replay script, or a bad one: each bad line is reported by file and number. */
#include "replayed_script.h"

#include "util/cleanup.h"

#define SLOW "blklat-replay 1\nslow-max 5\ndevice d\nwatch d device\nslow read 1ms 4096 "

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
		cmocka_unit_test(bad_scripts_are_named),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(bytes_of_any_kind_are_refused),
		cmocka_unit_test(files_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
