// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "util/parse.h"

#define UNTOUCHED 4711

static const char *const stages[] = { "device", "queue", "total" };
static struct problem p;

enum kind { SECONDS, AGE, COUNT, SIZE, SCALE, LEVEL, NAMES };

/* Parses @value. Where it is refused, the result stays as it was. */
static int parse_as(enum kind kind, const char *value)
{
	double seconds = UNTOUCHED;
	int err, level = UNTOUCHED;
	u32 set = UNTOUCHED;
	u64 n = UNTOUCHED;

	err = kind == SECONDS ? parse_seconds("--opt", value, &seconds, &p) :
	      kind == AGE ? parse_age("--opt", value, &seconds, &p) :
	      kind == COUNT ? parse_count("--opt", value, &n, &p) :
	      kind == SIZE ? parse_size("--opt", value, &n, &p) :
	      kind == SCALE ? parse_scale("--opt", value, 6, &level, &p) :
	      kind == LEVEL ? parse_level("--opt", value, 6, &level, &p) :
	      parse_names("--opt", value, stages, 3, &set, &p);
	if (err)
		assert_true(seconds == UNTOUCHED && level == UNTOUCHED && set == UNTOUCHED && n == UNTOUCHED);
	return err;
}

TEST(test_refused)
{
	static const struct { enum kind kind; const char *values[28]; } bad[] = {
		{ SECONDS,
		  { "", "0", "0.0", "-1", "+1", " 1", "1 ", "nan", "inf", "infinity", "0x10", "1e3", "1,5", "1x", "1sm",
			     "86400.001", "24.1h", "1441m", "1d", "..", "1.2.3", ".", "ms", "0.0009", "0.5ms",
			     "99999999999999999999999999", "0.00000000000000000001" } },
		{ AGE, { "", "59", "0.9m", "367d", "1w", "1000ms", "-1d", "d" } },
		{ COUNT, { "", "0", "-1", "+1", "1.0", "1.", " 1", "1 ", "1k", "0x1", "18446744073709551616" } },
		{ SIZE, { "", "0", "0M", "-1", "1.5", "1.5B", "1KB", "1m", "1KiBs", "M", "1 M", "16777216T",
			  "18446744073709551616", "0.0001K", "1P", "nan" } },
		{ SCALE, { "", "7", "9", "-1", "00", "6 ", "Auto", "a", "1.0", "/", ":" } },
		{ LEVEL, { "", "7", "9", "-1", "00", "6 ", "Auto", "a", "1.0", "/", ":", "auto" } },
		{ NAMES, { "", ",", "device,", ",device", "device,,total", "Device", " total" } },
	};

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		for (const char *const *value = bad[i].values; *value; value++) {
			if (parse_as(bad[i].kind, *value) != -EINVAL)
				fail_msg("accepted '%s'", *value);
			assert_non_null(strstr(p.text, "--opt '"));
			assert_true(bad[i].kind == NAMES || strstr(p.text, *value));
			assert_null(strchr(p.text, '\n'));
		}
}

TEST(test_seconds)
{
	static const struct { const char *value; double seconds; } good[] = {
		{ "1", 1 }, { "0.5", 0.5 }, { ".25", 0.25 }, { "2.", 2 }, { "1s", 1 }, { "100ms", 0.1 },
		{ "1ms", 0.001 }, { "0.001", 0.001 }, { "2m", 120 }, { "1.5h", 5400 }, { "24h", 86400 },
		{ "86400", 86400 }, { "0001", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		double seconds = -1;

		assert_int_equal(parse_seconds("--opt", good[i].value, &seconds, &p), 0);
		assert_true(seconds > good[i].seconds * (1 - 1e-12) && seconds < good[i].seconds * (1 + 1e-12));
	}
}

TEST(test_ages)
{
	static const struct { const char *value; double seconds; } good[] = {
		{ "60", 60 }, { "1m", 60 }, { "90m", 5400 }, { "24h", 86400 }, { "1.5d", 129600 }, { "366d", 31622400 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		double seconds = -1;

		assert_int_equal(parse_age("--opt", good[i].value, &seconds, &p), 0);
		assert_true(seconds == good[i].seconds);
	}
}

TEST(test_whole_numbers)
{
	static const struct { const char *value; u64 bytes; } sizes[] = {
		{ "1", 1 }, { "4096", 4096 }, { "512B", 512 }, { "1K", 1024 }, { "1k", 1024 }, { "3Ki", 3072 },
		{ "64M", 67108864 }, { "64MiB", 67108864 }, { "1.5G", 1610612736 }, { "0.5KiB", 512 },
		{ "1T", 1099511627776 }, { "0.3K", 307 }, { "16777215T", 18446742974197923840u },
		{ "18446744073709551615", UINT64_MAX },
	};
	int scale = UNTOUCHED;
	u64 n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(parse_size("--opt", sizes[i].value, &n, &p), 0);
		assert_true(n == sizes[i].bytes);
	}
	assert_int_equal(parse_count("--opt", "1", &n, &p), 0);
	assert_true(n == 1);
	assert_int_equal(parse_count("--opt", "18446744073709551615", &n, &p), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_scale("--opt", "auto", 6, &scale, &p), 0);
	assert_int_equal(scale, -1);
	for (int i = 0; i <= 6; i++) {
		assert_int_equal(parse_scale("--opt", (char[]){ '0' + i, '\0' }, 6, &scale, &p), 0);
		assert_int_equal(scale, i);
	}
	assert_int_equal(parse_level("--opt", "5", 6, &scale, &p), 0);
	assert_int_equal(scale, 5);
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
