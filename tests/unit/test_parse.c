// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "util/parse.h"

#define UNTOUCHED 4711

static void assert_refused(int err, const struct problem *p, const char *value)
{
	if (err != -EINVAL)
		print_error("accepted '%s'\n", value);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(p->text, "--opt '"));
	assert_non_null(strstr(p->text, value));
	assert_null(strchr(p->text, '\n'));
}

TEST(test_seconds)
{
	static const struct { const char *value; double seconds; } good[] = {
		{ "1", 1 }, { "0.5", 0.5 }, { ".25", 0.25 }, { "2.", 2 }, { "1s", 1 }, { "100ms", 0.1 },
		{ "1ms", 0.001 }, { "0.001", 0.001 }, { "2m", 120 }, { "1.5h", 5400 }, { "24h", 86400 },
		{ "86400", 86400 }, { "0001", 1 },
	};
	static const char *const bad[] = {
		"", "0", "0.0", "-1", "+1", " 1", "1 ", "nan", "inf", "infinity", "0x10", "1e3", "1,5", "1x",
		"1sm", "86400.001", "24.1h", "1441m", "1d", "..", "1.2.3", ".", "ms", "0.0009", "0.5ms",
		"99999999999999999999999999", "0.00000000000000000001",
	};
	struct problem p;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		double seconds = -1;

		assert_int_equal(parse_seconds("--opt", good[i].value, &seconds, &p), 0);
		assert_true(seconds > good[i].seconds * (1 - 1e-12) && seconds < good[i].seconds * (1 + 1e-12));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		double seconds = UNTOUCHED;

		assert_refused(parse_seconds("--opt", bad[i], &seconds, &p), &p, bad[i]);
		assert_true(seconds == UNTOUCHED);
	}
	parse_seconds("--interval", "0", &(double){ 0 }, &p);
	assert_string_equal(p.text, "--interval '0': must be a number of seconds above 0 and at most 86400 "
			    "(a day)");
}

TEST(test_count)
{
	static const char *const bad[] = {
		"", "0", "-1", "+1", "1.0", "1.", " 1", "1 ", "1k", "0x1", "18446744073709551616",
	};
	struct problem p;
	u64 n = 0;

	assert_int_equal(parse_count("--opt", "1", &n, &p), 0);
	assert_true(n == 1);
	assert_int_equal(parse_count("--opt", "18446744073709551615", &n, &p), 0);
	assert_true(n == UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		n = UNTOUCHED;
		assert_refused(parse_count("--opt", bad[i], &n, &p), &p, bad[i]);
		assert_true(n == UNTOUCHED);
	}
}

TEST(test_size)
{
	static const struct { const char *value; u64 bytes; } good[] = {
		{ "1", 1 }, { "4096", 4096 }, { "512B", 512 }, { "1K", 1024 }, { "1k", 1024 }, { "3Ki", 3072 },
		{ "64M", 67108864 }, { "64MiB", 67108864 }, { "1.5G", 1610612736 }, { "0.5KiB", 512 },
		{ "1T", 1099511627776 }, { "0.3K", 307 }, { "16777215T", 18446742974197923840u },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"", "0", "0M", "-1", "1.5", "1.5B", "1KB", "1m", "1KiBs", "M", "1 M", "16777216T",
		"18446744073709551616", "0.0001K", "1P", "nan",
	};
	struct problem p;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		u64 bytes = 0;

		assert_int_equal(parse_size("--opt", good[i].value, &bytes, &p), 0);
		assert_true(bytes == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		u64 bytes = UNTOUCHED;

		assert_refused(parse_size("--opt", bad[i], &bytes, &p), &p, bad[i]);
		assert_true(bytes == UNTOUCHED);
	}
}

TEST(test_scale)
{
	static const char *const bad[] = { "", "7", "9", "-1", "00", "6 ", "Auto", "a", "1.0", "/", ":" };
	struct problem p;
	int scale = UNTOUCHED;

	assert_int_equal(parse_scale("--opt", "auto", 6, &scale, &p), 0);
	assert_int_equal(scale, -1);
	for (int i = 0; i <= 6; i++) {
		assert_int_equal(parse_scale("--opt", (char[]){ '0' + i, '\0' }, 6, &scale, &p), 0);
		assert_int_equal(scale, i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		scale = UNTOUCHED;
		assert_refused(parse_scale("--opt", bad[i], 6, &scale, &p), &p, bad[i]);
		assert_int_equal(scale, UNTOUCHED);
		assert_refused(parse_level("--opt", bad[i], 6, &scale, &p), &p, bad[i]);
		assert_int_equal(scale, UNTOUCHED);
	}
	assert_refused(parse_level("--opt", "auto", 6, &scale, &p), &p, "auto");
	assert_int_equal(scale, UNTOUCHED);
	assert_int_equal(parse_level("--opt", "5", 6, &scale, &p), 0);
	assert_int_equal(scale, 5);
}

static const char *const stages[] = { "device", "queue", "total" };

TEST(test_names)
{
	static const struct { const char *value; u32 set; } good[] = {
		{ "device", 1 }, { "total", 4 }, { "queue,device", 3 }, { "total,total", 4 },
		{ "device,queue,total", 7 },
	};
	static const char *const bad[] = { "", ",", "device,", ",device", "device,,total", "Device", " total" };
	struct problem p;
	u32 set;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		set = 0;
		assert_int_equal(parse_names("--opt", good[i].value, stages, 3, &set, &p), 0);
		assert_int_equal(set, good[i].set);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		set = UNTOUCHED;
		assert_int_equal(parse_names("--opt", bad[i], stages, 3, &set, &p), -EINVAL);
		assert_int_equal(set, UNTOUCHED);
	}
	parse_names("--stage", "total,devcie", stages, 3, &set, &p);
	assert_string_equal(p.text, "--stage 'devcie': must be device, queue or total");
	parse_name("--stage", "x", stages, 3, &set, &p);
	assert_string_equal(p.text, "--stage 'x': must be device, queue or total");
}

/* Distances by the textbook definition, worked out by hand: twice these, and 1 more where lengths differ. */
TEST(test_nearest)
{
	static const struct { const char *typed, *name; u32 far; } slips[] = {
		{ "", "", 0 }, { "sda", "sda", 0 }, { "nvme0n1", "nvme0n2", 2 }, { "jsno", "json", 2 }, { "sda", "dsa", 2 },
		{ "loop1", "loop10", 3 }, { "aaaaaaaabcd", "aaaaaaabadc", 4 }, { "xxxxxxxkitten", "xxxxxxxsitting", 7 },
		{ "xxxxxxxxca", "xxxxxxxxabc", 7 },
	};
	static const char *const others[][2] = { { "sdb", "vdc" }, { "", "a" }, { "kitten", "sitting" }, { "ca", "abc" } };
	char longest[200];
	struct nearest n;

	for (size_t i = 0; i < ARRAY_SIZE(slips); i++) {
		n = (struct nearest){ .typed = slips[i].typed };
		nearest_look(&n, slips[i].name);
		assert_ptr_equal(n.name, slips[i].name);
		assert_int_equal(n.far, slips[i].far);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		n = (struct nearest){ .typed = others[i][0] };
		nearest_look(&n, others[i][1]);
		assert_null(n.name);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	n = (struct nearest){ .typed = longest };
	nearest_look(&n, "");
	assert_null(n.name);
	n.typed = "sdb3";
	nearest_look(&n, "sdb");
	nearest_look(&n, "sdb1");
	nearest_look(&n, "sdb2");
	assert_string_equal(n.name, "sdb1");
}
