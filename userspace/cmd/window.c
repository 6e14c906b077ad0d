// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/window.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/parse.h"
#include "util/units.h"

#define HOUR_S 3600.0
#define DAY_S (24 * HOUR_S)

/* How a word may tell a time; each returns 1 if it does, 0 if it does not, or -EINVAL and a sentence. */

static int as_seconds(const char *word, double *ret)
{
	static const struct { const char *suffix; double seconds; } units[] = {
		{ "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", HOUR_S },
	};
	double number;
	const char *suffix = parse_decimal(word, &number);

	for (u32 i = 0; suffix && i < ARRAY_SIZE(units); i++) {
		if (strcmp(suffix, units[i].suffix))
			continue;
		*ret = number * units[i].seconds;
		return 1;
	}
	return 0;
}

/* "14:03", "14:03:20", "14:03:20.5"; returns where it ends, or NULL. */
static const char *time_of_day(const char *s, double *ret)
{
	unsigned int hour, minute;
	double second = 0;
	int n = 0;

	if (!isdigit((unsigned char)*s) || sscanf(s, "%2u:%2u%n", &hour, &minute, &n) < 2 || !n || !isdigit((unsigned char)s[n - 1]))
		return NULL;
	s += n;
	if (*s == ':') {
		s = parse_decimal(s + 1, &second);
		if (!s)
			return NULL;
	}
	if (hour > 23 || minute > 59 || second >= 61)
		return NULL;
	*ret = hour * HOUR_S + minute * 60 + second;
	return s;
}

/* "2026-11-21", at @s; returns where it ends, or NULL. */
static const char *date_of(const char *s, double *ret)
{
	struct tm day = { 0 };
	int n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &n) < 3 || n != 10)
		return NULL;
	if (day.tm_mon < 1 || day.tm_mon > 12 || day.tm_mday < 1 || day.tm_mday > 31)
		return NULL;
	day.tm_year -= 1900;
	day.tm_mon--;
	*ret = timegm(&day);
	return s + n;
}

/* "", "Z", "+02:00": what to take away for UTC. */
static bool offset_of(const char *s, double *ret)
{
	const char *end;

	*ret = 0;
	if (!*s || !strcmp(s, "Z"))
		return true;
	if (*s != '+' && *s != '-')
		return false;
	end = time_of_day(s + 1, ret);
	if (*s == '-')
		*ret = -*ret;
	return end && !*end;
}

static int as_clock(const char *word, const struct origin *o, double *ret)
{
	double start = o->start_wall_ns / 1e9, date = 0, day, offset = 0, at;
	const char *rest = date_of(word, &date);
	bool dated = rest && (*rest == 'T' || *rest == ' ');

	rest = time_of_day(dated ? rest + 1 : word, &day);
	if (!rest || !(dated ? offset_of(rest, &offset) : !*rest))
		return 0;
	at = date + day - offset;
	if (!dated) {
		at = (s64)(start - HOUR_S) / (s64)DAY_S * DAY_S + day;
		if (at < start - HOUR_S)
			at += DAY_S;
	}
	*ret = at - start;
	return 1;
}

static int as_mark(const char *option, const char *word, const struct origin *o, double *ret, struct problem *p)
{
	u32 found = 0;

	for (u32 i = 0; i < o->n_marks; i++) {
		if (strcmp(o->marks[i].text, word))
			continue;
		*ret = mark_s(o, &o->marks[i]);
		found++;
	}
	if (found > 1)
		return problem_set(p, -EINVAL, "%s '%s': %s has %u marks of that name: say in seconds which is meant", option, word,
				   o->file, found);
	return found;
}

static int find(const char *option, const char *word, const struct origin *o, double *ret, struct problem *p)
{
	int found = as_seconds(word, ret) ?: as_clock(word, o, ret) ?: as_mark(option, word, o, ret, p);

	if (found < 0)
		return found;
	if (!found && o->n_marks)
		return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no mark of that name "
				   "(its first is '%s')", option, word, o->file, o->marks[0].text);
	if (!found)
		return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no marks", option, word,
				   o->file);
	return 0;
}

int window_find(const struct window_words *words, const struct origin *origin, struct asked_window *ret, struct problem *p)
{
	struct asked_window w = { .from = words->from, .to = words->to };
	char from[UNITS_TEXT], to[UNITS_TEXT];
	int err = 0;

	if (w.from)
		err = find("--from", words->from, origin, &w.from_s, p);
	if (!err && w.to)
		err = find("--to", words->to, origin, &w.to_s, p);
	if (err)
		return err;
	if (w.from && w.to && w.from_s >= w.to_s)
		return problem_set(p, -EINVAL, "--from '%s' is not before --to '%s': in %s they are at %s and %s", words->from, words->to,
				   origin->file, units_seconds(from, w.from_s), units_seconds(to, w.to_s));
	*ret = w;
	return 0;
}
