// SPDX-License-Identifier: GPL-2.0-only
#include "util/moment.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/parse.h"

#define SECOND ((s64)NSEC_PER_SEC)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define LONGEST_S 1e9

static bool take_seconds(const char *word, struct moment *ret)
{
	static const struct { const char *suffix; double seconds; } units[] = {
		{ "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", 3600 },
	};
	double number;
	const char *suffix = parse_decimal(word, &number);

	for (u32 i = 0; suffix && i < ARRAY_SIZE(units); i++) {
		if (strcmp(suffix, units[i].suffix) || number * units[i].seconds > LONGEST_S)
			continue;
		*ret = (struct moment){ MOMENT_SINCE_START, llround(number * units[i].seconds * NSEC_PER_SEC) };
		return true;
	}
	return false;
}

/* "14:03", "14:03:20", "14:03:20.5"; returns where it ends, or NULL. */
static const char *take_time(const char *s, s64 *ret_ns)
{
	unsigned int hour, minute;
	double second = 0;
	int n = 0;

	if (!isdigit((unsigned char)*s) || sscanf(s, "%2u:%2u%n", &hour, &minute, &n) < 2 || !n || !isdigit((unsigned char)s[n - 1]))
		return NULL;
	s += n;
	if (*s == ':')
		s = parse_decimal(s + 1, &second);
	if (!s || hour > 23 || minute > 59 || second >= 61)
		return NULL;
	*ret_ns = hour * HOUR + minute * 60 * SECOND + llround(second * NSEC_PER_SEC);
	return s;
}

/* "2026-11-21" and a T or blank; returns where the time begins, or NULL. */
static const char *take_date(const char *s, s64 *ret_ns)
{
	struct tm day = { 0 };
	int n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &n) < 3 || n != 10 || !strchr("T ", s[n]) || !s[n])
		return NULL;
	if (day.tm_year < 1900 || day.tm_year > 2200 || day.tm_mon < 1 || day.tm_mon > 12 || day.tm_mday < 1 || day.tm_mday > 31)
		return NULL;
	day.tm_year -= 1900;
	day.tm_mon--;
	*ret_ns = timegm(&day) * SECOND;
	return s + n + 1;
}

/* "", "Z", "+02:00": the offset to subtract for UTC. */
static bool take_offset(const char *s, s64 *ret_ns)
{
	const char *end;

	*ret_ns = 0;
	if (!*s || !strcmp(s, "Z"))
		return true;
	if (*s != '+' && *s != '-')
		return false;
	end = take_time(s + 1, ret_ns);
	if (*s == '-')
		*ret_ns = -*ret_ns;
	return end && !*end;
}

bool moment_parse(const char *word, struct moment *ret)
{
	s64 date = 0, time, offset = 0;
	const char *dated = take_date(word, &date), *rest = take_time(dated ?: word, &time);

	if (take_seconds(word, ret))
		return true;
	if (!rest || !(dated ? take_offset(rest, &offset) : !*rest))
		return false;
	*ret = dated ? (struct moment){ MOMENT_WALL, date + time - offset } : (struct moment){ MOMENT_OF_DAY, time };
	return true;
}

s64 moment_since(const struct moment *m, s64 start_ns)
{
	s64 at;

	if (m->kind != MOMENT_OF_DAY)
		return m->kind == MOMENT_WALL ? m->ns - start_ns : m->ns;
	at = (start_ns - HOUR) / DAY * DAY + m->ns;
	return (at < start_ns - HOUR ? at + DAY : at) - start_ns;
}
