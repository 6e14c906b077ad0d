// SPDX-License-Identifier: GPL-2.0-only
#include "util/utf8.h"

#include <ctype.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"
#define ELLIPSIS "\xE2\x80\xA6"

/* The length in bytes of the well-formed character (RFC 3629) that @text begins with; 0 if there is none. */
static u32 utf8_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	u32 len, low = 0x80, high = 0xBF;

	if (*c < 0x80)
		return *c ? 1 : 0;
	if (*c < 0xC2 || *c > 0xF4)
		return 0;
	len = *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
	/* Overlong forms, surrogates and characters above U+10FFFF are recognized by the second byte. */
	if (*c == 0xE0)
		low = 0xA0;
	else if (*c == 0xF0)
		low = 0x90;
	else if (*c == 0xED)
		high = 0x9F;
	else if (*c == 0xF4)
		high = 0x8F;
	if (c[1] < low || c[1] > high)
		return 0;
	for (u32 i = 2; i < len; i++)
		if (c[i] < 0x80 || c[i] > 0xBF)
			return 0;
	return len;
}

u32 utf8_columns(const char *text, size_t len)
{
	u32 n = 0;

	for (size_t i = 0; i < len; i++)
		n += utf8_begins(text[i]);
	return n;
}

const char *utf8_end(const char *text, u32 columns)
{
	const char *at = text + strlen(text);

	while (at > text && columns) {
		at--;
		columns -= utf8_begins(*at);
	}
	return at;
}

const char *utf8_tail(const char *text, size_t bytes)
{
	size_t len = strlen(text);

	text += len > bytes ? len - bytes : 0;
	while (*text && !utf8_begins(*text))
		text++;
	return text;
}

/* C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey as well. */
static bool is_control(const char *text, u32 len)
{
	unsigned char c = text[0];

	return c < ' ' || c == 0x7F || (len == 2 && c == 0xC2 && (unsigned char)text[1] < 0xA0);
}

bool text_is_clean(const char *text)
{
	while (*text) {
		u32 len = utf8_length(text);

		if (!len || is_control(text, len))
			return false;
		text += len;
	}
	return true;
}

void text_clean(char *text)
{
	size_t from = 0, to = strlen(text);

	while (to && isspace((unsigned char)text[to - 1]))
		to--;
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	memmove(text, text + from, to - from);
	text[to - from] = '\0';
	while (*text) {
		u32 len = utf8_length(text);

		if (!len || is_control(text, len))
			memset(text, '?', len ?: 1);
		text += len ?: 1;
	}
}

/* Appends @len bytes if they and the terminating 0 fit. */
static bool append(char **to, size_t *room, const char *text, u32 len)
{
	if (*room <= len)
		return false;
	memcpy(*to, text, len);
	*to += len;
	*room -= len;
	return true;
}

void utf8_clean(char *to, size_t room, const char *from)
{
	while (*from) {
		u32 len = utf8_length(from);

		if (!(len ? append(&to, &room, from, len) : append(&to, &room, REPLACEMENT, 3)))
			break;
		from += len ?: 1;
	}
	*to = '\0';
}

void utf8_for_terminal(char *to, size_t room, const char *from, u32 columns, bool utf8)
{
	const char *ellipsis = utf8 ? ELLIPSIS : "...";
	u32 ellipsis_columns = utf8 ? 1 : 3, column = 0;
	size_t ellipsis_room = strlen(ellipsis);
	char *cut = to;
	size_t cut_room = room;

	while (*from) {
		u32 len = utf8_length(from);
		bool shown = len && !is_control(from, len) && (utf8 || len == 1);

		if (column + ellipsis_columns <= columns && room > ellipsis_room) {
			cut = to;
			cut_room = room;
		}
		if (column == columns || !append(&to, &room, shown ? from : "?", shown ? len : 1)) {
			to = cut;
			if (cut_room > ellipsis_room && ellipsis_columns <= columns)
				append(&to, &cut_room, ellipsis, ellipsis_room);
			break;
		}
		column++;
		from += len ?: 1;
	}
	*to = '\0';
}
