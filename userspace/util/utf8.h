/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that came from devices: it may hold anything, what is printed may not. */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include "util/types.h"

/* Bytes of the well-formed character (RFC 3629) that @text begins with; 0 when it is none. */
u32 utf8_length(const char *text);

/* Does a character begin with @c, within well-formed text? */
static inline bool utf8_begins(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

/* Characters in the first @len bytes of a well-formed text. */
u32 utf8_columns(const char *text, size_t len);

/* Its last @columns characters, within it, or all of a well-formed text that has no more. */
const char *utf8_end(const char *text, u32 columns);

/* Is it UTF-8 without control characters? */
bool text_is_clean(const char *text);

/* Makes any bytes a text to show: trims it, replaces control characters and what is not UTF-8. */
void text_clean(char *text);

/*
 * Copies @from into @to of @room bytes, well-formed: what is not becomes U+FFFD. Never cuts within a
 * character. Room of 3 bytes for each byte of @from is always enough.
 */
void utf8_clean(char *to, size_t room, const char *from);

/*
 * The same for a terminal: control characters become '?', as does all that is not ASCII unless
 * @utf8, and what is longer than @columns ends in an ellipsis.
 */
void utf8_for_terminal(char *to, size_t room, const char *from, u32 columns, bool utf8);

#endif
