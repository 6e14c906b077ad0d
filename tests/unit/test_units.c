// SPDX-License-Identifier: GPL-2.0-only
/* Figures as words, and text that came from devices. */
#include <math.h>
#include "unit.h"

#include <time.h>

#include "util/units.h"
#include "util/utf8.h"

TEST(times_have_three_digits)
{
	static const struct { double ns; const char *text; } cases[] = {
		{ 0, "0 ns" }, { 7, "7 ns" }, { 7.25, "7.25 ns" }, { 402, "402 ns" }, { 999, "999 ns" },
		{ 999.4, "999 ns" }, { 999.6, "1.00 us" }, { 1000, "1.00 us" }, { 9994, "9.99 us" },
		{ 9995, "10.0 us" }, { 59990.1, "60.0 us" }, { 99949, "99.9 us" }, { 99950, "100 us" },
		{ 999499, "999 us" }, { 999500, "1.00 ms" }, { 81234567, "81.2 ms" }, { 3.2e9, "3.20 s" },
		{ 75e9, "75.0 s" }, { 5400e9, "5400 s" }, { -1, "-" }, { NAN, "-" }, { INFINITY, "-" },
	};
	char text[UNITS_TEXT];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_ns(text, cases[i].ns), cases[i].text);
}

TEST(long_times)
{
	static const struct { double s; const char *text; } cases[] = {
		{ 0, "0 s" }, { -1, "0 s" }, { 59.9, "59 s" }, { 60, "1 min" }, { 1320, "22 min" }, { 3599, "59 min" }, { 3600, "1 h 0 min" },
		{ 11100, "3 h 5 min" }, { 86399, "23 h 59 min" }, { 187200, "2 d 4 h" },
	};
	char text[UNITS_TEXT];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_long(text, cases[i].s), cases[i].text);
}

/* A column is 8 wide: whatever the value, a blank must stay in front. */
TEST(times_and_numbers_fit_their_column)
{
	char text[UNITS_TEXT];

	for (double v = 0.0001; v < 9e13; v *= 1.0037) {
		assert_true(strlen(units_ns(text, v)) <= 7);
		if (v < 9e11)
			assert_true(strlen(units_number(text, v)) <= 6);
	}
}

TEST(times_read_back_within_half_a_percent)
{
	char text[UNITS_TEXT];

	for (double ns = 20; ns < 9e13; ns *= 1.0037) {
		char unit;
		double value, back;

		units_ns(text, ns);
		value = strtod(text, NULL);
		unit = *(strchr(text, ' ') + 1);
		back = value * (strlen(strchr(text, ' ')) == 2 ? 1e9 : unit == 'n' ? 1 : unit == 'u' ? 1e3 : 1e6);
		assert_true(fabs(back / ns - 1) <= 0.0051);
	}
}

TEST(numbers)
{
	static const struct { double value; const char *text; } cases[] = {
		{ 0, "0" }, { 0.001, "<0.01" }, { 0.25, "0.25" }, { 9.994, "9.99" }, { 9.996, "10.0" },
		{ 81.26, "81.3" }, { 999.4, "999" }, { 999.6, "1000" }, { 80123.4, "80123" },
		{ 99999.6, "100.0k" }, { 523551.9, "523.6k" }, { 999951, "1.00M" }, { 5237090, "5.24M" },
		{ 52370900, "52.4M" }, { 523709000, "524M" }, { 5e9, "5.00G" }, { NAN, "-" },
	};
	char text[UNITS_TEXT];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_number(text, cases[i].value), cases[i].text);
}

TEST(figures_of_sentences)
{
	static const struct { double value; const char *number, *share, *seconds; } cases[] = {
		{ 0, "0", "0 %", "0.0 s" }, { 1, "1", "100 %", "1.0 s" }, { 32, "32", "3200.0 %", "32.0 s" },
		{ 0.221, "0.22", "22.1 %", "0.2 s" }, { 0.0994, "0.10", "9.94 %", "0.1 s" },
		{ 0.0996, "0.10", "10.0 %", "0.1 s" }, { 0.00461, "<0.01", "0.46 %", "0.0 s" },
		{ 0.000461, "<0.01", "0.046 %", "0.0 s" }, { 0.0000461, "<0.01", "0.0046 %", "0.0 s" },
		{ 0.0000094, "<0.01", "<0.001 %", "0.0 s" }, { 999, "999", "99900.0 %", "999.0 s" },
		{ 438.04, "438", "43804.0 %", "438.0 s" }, { 999.6, "1.00k", "99960.0 %", "999.6 s" },
		{ 21304, "21.3k", "2130400.0 %", "21304.0 s" }, { 512000, "512k", "51200000.0 %", "512000.0 s" },
		{ 1.234e6, "1.23M", "123400000.0 %", "1234000.0 s" }, { -1, "-", "-", "-" }, { NAN, "-", "-", "-" },
	};
	char text[UNITS_TEXT];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(units_short(text, cases[i].value), cases[i].number);
		assert_string_equal(units_share(text, cases[i].value), cases[i].share);
		assert_string_equal(units_seconds(text, cases[i].value), cases[i].seconds);
	}
}

TEST(factors)
{
	char text[UNITS_TEXT];

	assert_string_equal(units_times(text, 2), "2.00");
	assert_string_equal(units_times(text, 999.4), "999");
	assert_string_equal(units_times(text, 2435), "2.44k");
}

TEST(counts_and_sizes)
{
	char text[UNITS_TEXT];

	assert_string_equal(units_count(text, 0), "0");
	assert_string_equal(units_count(text, 999), "999");
	assert_string_equal(units_count(text, 5237090), "5 237 090");
	assert_string_equal(units_count(text, UINT64_MAX), "18 446 744 073 709 551 615");
	assert_string_equal(units_capacity(text, 1ULL << 30), "1.07 GB");
	assert_string_equal(units_capacity(text, 960197124096ULL), "960 GB");
	assert_string_equal(units_capacity(text, 999999999999ULL), "1.00 TB");
	assert_string_equal(units_capacity(text, 512), "512 B");
	assert_string_equal(units_memory(text, 1363148), "1.30 MiB");
	assert_string_equal(units_memory(text, 64 << 20), "64.0 MiB");
}

TEST(clocks)
{
	char text[UNITS_TEXT];

	/* By date -u -d @1795246501 */
	assert_string_equal(units_utc(text, 1795246501999999999LL), "2026-11-21T07:35:01.999Z");
	assert_string_equal(units_utc(text, 0), "1970-01-01T00:00:00.000Z");
	assert_string_equal(units_utc(text, -1), "1969-12-31T23:59:59.999Z");
	setenv("TZ", "IST-5:30", 1);	/* 5:30 h east */
	tzset();
	assert_string_equal(units_clock(text, 1795246501000000000LL), "13:05:01");
}

TEST(bad_bytes_are_replaced)
{
	static const struct { const char *from, *to; } cases[] = {
		{ "loop0", "loop0" }, { "caf\xC3\xA9", "caf\xC3\xA9" }, { "\xF0\x9F\x92\xBE", "\xF0\x9F\x92\xBE" },
		{ "a\xFFz", "a\xEF\xBF\xBDz" },
		{ "\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD" },			/* overlong NUL */
		{ "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },	/* a surrogate */
		{ "\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD" },			/* cut off */
		{ "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
	};
	char text[64];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		utf8_clean(text, sizeof(text), cases[i].from);
		assert_string_equal(text, cases[i].to);
	}
	utf8_clean(text, 6, "abcd\xC3\xA9");	/* never half a character */
	assert_string_equal(text, "abcd");
}

TEST(names_are_cut_and_harmless_on_a_terminal)
{
	static const struct { const char *name, *shown; u32 columns; bool utf8; } cases[] = {
		{ "nvme0n1", "nvme0n1", 7, true }, { "nvme10n1", "nvme10\xE2\x80\xA6", 7, true },
		{ "nvme10n1", "nvme...", 7, false }, { "a\033[31mb\xC2\x9B", "a?[31mb?", 20, true }, { "caf\xC3\xA9", "caf?", 20, false },
	};
	char text[64];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		utf8_for_terminal(text, sizeof(text), cases[i].name, cases[i].columns, cases[i].utf8);
		assert_string_equal(text, cases[i].shown);
	}
}
