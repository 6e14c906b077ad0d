/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes text that comes from devices, and may hold anything, safe to print. */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include "util/types.h"

/* Whether @c begins a character, within well-formed text. */
static inline bool utf8_begins(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

/* The number of characters in the first @len bytes of a well-formed text. */
u32 utf8_columns(const char *text, size_t len);

/* A pointer to the last @columns characters of a well-formed text, or to all of it if it is shorter. */
const char *utf8_end(const char *text, u32 columns);

/* The same for as many characters as are in the last @bytes. */
const char *utf8_tail(const char *text, size_t bytes);

/* Whether @text is UTF-8 without control characters. */
bool text_is_clean(const char *text);

/* Makes any bytes printable: trims them, and replaces control characters and invalid UTF-8. */
void text_clean(char *text);

/*
 * Copies @from into @to, which has @room bytes, as well-formed UTF-8: invalid bytes become U+FFFD.
 * Never cuts a character. Three bytes of room for each byte of @from are always enough.
 */
void utf8_clean(char *to, size_t room, const char *from);

/*
 * The same for a terminal: control characters become '?', as do all non-ASCII characters unless @utf8,
 * and a text longer than @columns is cut and ends in an ellipsis.
 */
void utf8_for_terminal(char *to, size_t room, const char *from, u32 columns, bool utf8);

#endif
