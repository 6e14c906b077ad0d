// SPDX-License-Identifier: GPL-2.0-only
#include "util/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"

#define DAY_SECONDS 86400.0
#define YEAR_SECONDS (366 * DAY_SECONDS)
#define NAME_LETTERS 63

/* digits / 10^places; no strtod(), which accepts hex, "inf" and the locale's idea of a decimal point. */
struct decimal {
	u64 digits;
	u32 places;
};

static const u64 powers[] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* Returns where the number ends, or NULL if there is none or it is too long to be exact. */
static const char *decimal_parse(const char *s, struct decimal *ret)
{
	struct decimal d = { 0 };
	bool any = false, point = false;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		any = true;
		d.places += point;
		if (d.places >= ARRAY_SIZE(powers) ||
		    __builtin_mul_overflow(d.digits, 10, &d.digits) ||
		    __builtin_add_overflow(d.digits, *s - '0', &d.digits))
			return NULL;
	}
	*ret = d;
	return any ? s : NULL;
}

const char *parse_decimal(const char *s, double *ret)
{
	struct decimal d;
	const char *end = decimal_parse(s, &d);

	if (end)
		*ret = (double)d.digits / powers[d.places];
	return end;
}

struct unit {
	const char *suffix;
	double seconds;
};

static const struct unit units[] = {
	{ "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", 3600 }, { "us", 0.000001 },
};
#define UNITS_OF_SPANS (ARRAY_SIZE(units) - 1)
#define UNITS_OF_LATENCIES (units + 1)

/* Returns -1 if @value is not a time in one of the @n units. */
static double seconds_in(const char *value, const struct unit *unit, u32 n)
{
	struct decimal d;
	const char *suffix = decimal_parse(value, &d);

	for (u32 i = 0; suffix && i < n; i++)
		if (!strcmp(suffix, unit[i].suffix))
			return (double)d.digits / powers[d.places] * unit[i].seconds;
	return -1;
}

int parse_seconds(const char *option, const char *value, double *ret, struct problem *p)
{
	double seconds = seconds_in(value, units, UNITS_OF_SPANS);

	if (!(seconds > 0 && seconds <= DAY_SECONDS))
		return problem_set(p, -EINVAL, "%s '%s': must be a number of seconds above 0 and at most "
				   "%.0f (a day)", option, value, DAY_SECONDS);
	if (seconds < 0.001)
		return problem_set(p, -EINVAL, "%s '%s': must be at least 0.001 seconds (1ms)", option, value);
	*ret = seconds;
	return 0;
}

int parse_age(const char *option, const char *value, double *ret, struct problem *p)
{
	static const struct unit ages[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", DAY_SECONDS } };
	double seconds = seconds_in(value, ages, ARRAY_SIZE(ages));

	if (!(seconds >= 60 && seconds <= YEAR_SECONDS))
		return problem_set(p, -EINVAL, "%s '%s': must be a time from a minute to a year, such as 90m, 24h or 7d", option, value);
	*ret = seconds;
	return 0;
}

int parse_latency(const char *option, const char *value, u64 *ret_ns, struct problem *p)
{
	double ns = round(seconds_in(value, UNITS_OF_LATENCIES, ARRAY_SIZE(units) - 1) * NSEC_PER_SEC);

	if (!(ns >= 1000 && ns <= DAY_SECONDS * NSEC_PER_SEC))
		return problem_set(p, -EINVAL, "%s '%s': must be a time with its unit, from 1us to a day, such as 500us, 10ms or 1.5s", option, value);
	*ret_ns = ns;
	return 0;
}

int parse_count(const char *option, const char *value, u64 *ret, struct problem *p)
{
	struct decimal d;
	const char *end = strchr(value, '.') ? NULL : decimal_parse(value, &d);

	if (!end || *end || !d.digits)
		return problem_set(p, -EINVAL, "%s '%s': must be a whole number from 1", option, value);
	*ret = d.digits;
	return 0;
}

/* "", "B", "K", "KiB" ...; returns the unit's power of two, or -1. */
static int size_shift(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *letter;

	if (!*unit || !strcmp(unit, "B"))
		return 0;
	letter = strchr(letters, *unit == 'k' ? 'K' : *unit);
	if (!letter || (unit[1] && strcmp(unit + 1, "iB") && strcmp(unit + 1, "i")))
		return -1;
	return 10 * (letter - letters + 1);
}

int parse_size(const char *option, const char *value, u64 *ret, struct problem *p)
{
	struct decimal d;
	const char *unit = decimal_parse(value, &d);
	int shift = unit ? size_shift(unit) : -1;
	unsigned __int128 bytes;

	if (shift < 0 || (!shift && d.places))
		goto bad;
	bytes = ((unsigned __int128)d.digits << shift) / powers[d.places];
	if (!bytes || bytes > ~0ULL)
		goto bad;
	*ret = bytes;
	return 0;
bad:
	return problem_set(p, -EINVAL, "%s '%s': must be a number of bytes above 0, such as 1048576, 64M "
			   "or 1.5GiB", option, value);
}

int parse_level(const char *option, const char *value, int max, int *ret, struct problem *p)
{
	if (value[0] < '0' || value[0] > '0' + max || value[1])
		return problem_set(p, -EINVAL, "%s '%s': must be a number from 0 to %d", option, value, max);
	*ret = value[0] - '0';
	return 0;
}

int parse_scale(const char *option, const char *value, int max, int *ret, struct problem *p)
{
	if (!strcmp(value, "auto")) {
		*ret = -1;
		return 0;
	}
	if (parse_level(option, value, max, ret, p))
		return problem_set(p, -EINVAL, "%s '%s': must be auto or a number from 0 to %d", option, value, max);
	return 0;
}

int parse_name(const char *option, const char *value, const char *const *names, u32 n, u32 *ret, struct problem *p)
{
	char all[200];		/* "text, json or csv" */
	size_t used = 0;

	for (u32 i = 0; i < n; i++) {
		if (!strcmp(value, names[i])) {
			*ret = i;
			return 0;
		}
		if (used < sizeof(all))
			used += snprintf(all + used, sizeof(all) - used, "%s%s", !i ? "" : i + 1 < n ? ", " : " or ", names[i]);
	}
	return problem_set(p, -EINVAL, "%s '%s': must be %s", option, value, all);
}

int parse_names(const char *option, const char *value, const char *const *names, u32 n, u32 *ret, struct problem *p)
{
	const char *word = value;
	u32 set = 0;
	size_t len;

	for (;; word += len + 1) {
		char name[NAME_LETTERS + 1];
		u32 i;
		int err;

		len = strcspn(word, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, word);
		err = parse_name(option, name, names, n, &i, p);
		if (err)
			return err;
		set |= 1u << i;
		if (!word[len])
			break;
	}
	*ret = set;
	return 0;
}

/*
 * The least number of letters to insert, remove, replace or swap with a neighbour to turn @a into @b
 * (optimal string alignment), of the first NAME_LETTERS letters.
 */
static u32 edit_distance(const char *a, const char *b)
{
	u32 la = strnlen(a, NAME_LETTERS), lb = strnlen(b, NAME_LETTERS);
	u32 d[NAME_LETTERS + 1][NAME_LETTERS + 1];

	for (u32 i = 0; i <= la; i++)
		d[i][0] = i;
	for (u32 j = 0; j <= lb; j++)
		d[0][j] = j;
	for (u32 i = 1; i <= la; i++) {
		for (u32 j = 1; j <= lb; j++) {
			d[i][j] = min_u64(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
				       min_u64(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = min_u64(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[la][lb];
}

void nearest_look(struct nearest *n, const char *name)
{
	/* Of two equally near names prefer the one of the same length: for sdb3 sdb1, not sdb. */
	u32 far = 2 * edit_distance(n->typed, name) + (strlen(n->typed) != strlen(name));

	/* With more typing errors it would be another name. */
	if (far / 2 > (strnlen(n->typed, NAME_LETTERS) + 1) / 3 || (n->name && far >= n->far))
		return;
	n->name = name;
	n->far = far;
}

#define SECOND ((s64)NSEC_PER_SEC)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define LONGEST_S 1e9

static bool take_seconds(const char *word, struct moment *ret)
{
	double seconds = seconds_in(word, units, UNITS_OF_SPANS);

	if (seconds < 0 || seconds > LONGEST_S)
		return false;
	*ret = (struct moment){ MOMENT_SINCE_START, llround(seconds * NSEC_PER_SEC) };
	return true;
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
	if (day.tm_year < 1900 || day.tm_year > 2200 || day.tm_mon < 1 || day.tm_mon > 12 || day.tm_mday < 1 ||
	    day.tm_mday > 31)
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
