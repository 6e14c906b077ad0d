// SPDX-License-Identifier: GPL-2.0-only
#include "util/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void decimal(char text[UNITS_TEXT], double value, int digits, const char *unit)
{
	snprintf(text, UNITS_TEXT, "%.*f%s", digits, value, unit);
}

/* Digits after the point for three significant digits, of a value that may round up to the next power of ten. */
static int digits_of_three(double value)
{
	if (value < 9.995)
		return 2;
	return value < 99.95 ? 1 : 0;
}

/* In the largest of @units in which it is at least 1. A whole number of the first needs no digits after the point. */
static const char *scaled(char text[UNITS_TEXT], double value, double step, const char *const *units)
{
	u32 unit = 0;

	while (units[unit + 1] && value >= step - 0.5) {
		value /= step;
		unit++;
	}
	decimal(text, value, !unit && value == floor(value) ? 0 : digits_of_three(value), units[unit]);
	return text;
}

const char *units_ns(char text[UNITS_TEXT], double ns)
{
	static const char *const units[] = { " ns", " us", " ms", " s", NULL };

	/* A mean or a percentile of a few ns may have digits after the point. */
	return isfinite(ns) && ns >= 0 ? scaled(text, ns, 1000, units) : strcpy(text, "-");
}

const char *units_number(char text[UNITS_TEXT], double value)
{
	if (!isfinite(value) || value < 0)
		return strcpy(text, "-");
	if (value == 0)
		return strcpy(text, "0");
	if (value < 0.005)
		return strcpy(text, "<0.01");
	if (value < 99999.5)
		decimal(text, value, value < 999.5 ? digits_of_three(value) : 0, "");
	else if (value < 999950)
		decimal(text, value / 1e3, 1, "k");
	else if (value < 999.95e6)
		decimal(text, value / 1e6, digits_of_three(value / 1e6), "M");
	else
		decimal(text, value / 1e9, digits_of_three(value / 1e9), "G");
	return text;
}

const char *units_short(char text[UNITS_TEXT], double value)
{
	static const char *const units[] = { "", "k", "M", "G", NULL };

	if (!isfinite(value) || value < 0)
		return strcpy(text, "-");
	return value && value < 0.005 ? strcpy(text, "<0.01") : scaled(text, value, 1000, units);
}

const char *units_times(char text[UNITS_TEXT], double factor)
{
	return factor < 999.5 ? units_number(text, factor) : units_short(text, factor);
}

const char *units_share(char text[UNITS_TEXT], double share)
{
	double percent = share * 100;
	/* At least two significant digits for small shares. */
	int digits = percent >= 9.95 ? 1 : percent >= 0.0995 ? 2 : percent >= 0.00995 ? 3 : 4;

	if (!isfinite(share) || share < 0)
		return strcpy(text, "-");
	if (percent == 0 || percent == 100)
		return strcpy(text, percent ? "100 %" : "0 %");
	if (percent < 0.00095)
		return strcpy(text, "<0.001 %");
	decimal(text, percent, digits, " %");
	return text;
}

const char *units_seconds(char text[UNITS_TEXT], double s)
{
	if (!isfinite(s) || s < 0)
		return strcpy(text, "-");
	decimal(text, s, 1, " s");
	return text;
}

const char *units_long(char text[UNITS_TEXT], double s)
{
	u64 minutes = s / 60;

	if (s < 60)
		snprintf(text, UNITS_TEXT, "%.0f s", floor(fmax(s, 0)));
	else if (minutes < 60)
		snprintf(text, UNITS_TEXT, "%llu min", minutes);
	else if (minutes < 24 * 60)
		snprintf(text, UNITS_TEXT, "%llu h %llu min", minutes / 60, minutes % 60);
	else
		snprintf(text, UNITS_TEXT, "%llu d %llu h", minutes / (24 * 60), minutes / 60 % 24);
	return text;
}

const char *units_count(char text[UNITS_TEXT], u64 n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", n);
	char *to = text;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ' ';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

const char *units_capacity(char text[UNITS_TEXT], u64 bytes)
{
	static const char *const units[] = { " B", " kB", " MB", " GB", " TB", " PB", " EB", NULL };

	return scaled(text, bytes, 1000, units);
}

const char *units_memory(char text[UNITS_TEXT], u64 bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", NULL };

	return scaled(text, bytes, 1024, units);
}

static time_t seconds_of(s64 ns, int *ret_ms)
{
	s64 s = ns / (s64)NSEC_PER_SEC, rest = ns % (s64)NSEC_PER_SEC;

	if (rest < 0) {
		rest += NSEC_PER_SEC;
		s--;
	}
	*ret_ms = rest / 1000000;
	return s;
}

const char *units_utc(char text[UNITS_TEXT], s64 ns)
{
	struct tm tm = { 0 };
	int ms;
	time_t s = seconds_of(ns, &ms);

	gmtime_r(&s, &tm);
	strftime(text, UNITS_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + strlen(text), UNITS_TEXT - strlen(text), ".%03dZ", ms);
	return text;
}

const char *units_clock(char text[UNITS_TEXT], s64 ns)
{
	struct tm tm = { 0 };
	int ms;
	time_t s = seconds_of(ns, &ms);

	localtime_r(&s, &tm);
	strftime(text, UNITS_TEXT, "%H:%M:%S", &tm);
	return text;
}

const char *units_clock_ms(char text[UNITS_TEXT], s64 ns)
{
	int ms;

	seconds_of(ns, &ms);
	units_clock(text, ns);
	snprintf(text + strlen(text), UNITS_TEXT - strlen(text), ".%03d", ms);
	return text;
}
