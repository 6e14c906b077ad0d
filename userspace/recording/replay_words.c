// SPDX-License-Identifier: GPL-2.0-only
#include "recording/replay_words.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIME_MAX_NS (1000000 * NSEC_PER_SEC)

bool word_number(const char *text, u64 max, u64 *ret)
{
	u64 n = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		u64 digit = *text - '0';

		if (*text < '0' || *text > '9' || digit > max || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*ret = n;
	return true;
}

bool word_decimal(const char *text, const char *end, u64 unit, u64 *ret)
{
	u64 ns = 0, digit_ns = unit;
	bool point = false, digits = false;

	for (; text < end; text++) {
		if (*text == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (*text < '0' || *text > '9')
			return false;
		digits = true;
		if (!point) {
			ns = ns * 10 + (*text - '0') * unit;
		} else {
			if (digit_ns < 10 && *text != '0')
				return false;
			digit_ns /= 10;
			ns += (*text - '0') * digit_ns;
		}
		if (ns > TIME_MAX_NS)
			return false;
	}
	*ret = ns;
	return digits;
}

bool word_latency(const char *text, u64 *ret)
{
	static const struct { const char *name; u64 ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NSEC_PER_SEC },
	};
	size_t digits = strspn(text, "0123456789.");

	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(text + digits, units[i].name))
			return word_decimal(text, text + digits, units[i].ns, ret);
	return false;
}

bool word_time(const char *text, s64 *ret)
{
	/* A 0 stands for any digit. */
	static const char pattern[] = "0000-00-00T00:00:00";
	const char *fraction = text + sizeof(pattern) - 1;
	struct tm tm = { 0 }, back;
	size_t end;
	u64 ns = 0;
	time_t s;

	for (u32 i = 0; pattern[i]; i++)
		if (pattern[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i])
			return false;
	end = strcspn(fraction, "Z");
	if (strcmp(fraction + end, "Z"))
		return false;
	if (end && (*fraction != '.' || end < 2 || end > 10))
		return false;
	for (size_t i = 1, digit_ns = 100000000; i < end; i++, digit_ns /= 10) {
		if (fraction[i] < '0' || fraction[i] > '9')
			return false;
		ns += (fraction[i] - '0') * digit_ns;
	}
	sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	       &tm.tm_min, &tm.tm_sec);
	if (tm.tm_year < 1970 || tm.tm_year > 2200)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	back = tm;
	s = timegm(&tm);
	/* timegm() accepts the 31st of February, and takes it for a day of March. */
	if (tm.tm_mon != back.tm_mon || tm.tm_mday != back.tm_mday || tm.tm_hour != back.tm_hour ||
	    tm.tm_min != back.tm_min || tm.tm_sec != back.tm_sec)
		return false;
	*ret = s * (s64)NSEC_PER_SEC + (s64)ns;
	return true;
}

bool word_index(const char *const *names, u32 n, const char *name, u32 *ret)
{
	for (u32 i = 0; i < n; i++) {
		if (!names[i] || strcmp(names[i], name))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

const char *word_value(const char *word, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(word, key, len) && word[len] == '=' ? word + len + 1 : NULL;
}

char *word_cut(char **text)
{
	char *from = *text, *to = from, *word = from;
	bool quoted = false;

	for (; *from && (quoted || (*from != ' ' && *from != '\t')); from++) {
		if (*from == '"') {
			quoted = !quoted;
			continue;
		}
		if (quoted && *from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*text = *from ? from + 1 : from;
	*to = '\0';
	return quoted ? NULL : word;
}
