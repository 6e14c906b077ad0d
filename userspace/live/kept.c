// SPDX-License-Identifier: GPL-2.0-only
#include "live/kept.h"

#include <errno.h>
#include <string.h>

/* Drops the first lines of the latest text until @len more bytes fit. Cuts a line that is longer than all the room. */
static void make_room(struct kept *k, u32 len)
{
	const u32 size = sizeof(k->text);
	const char *end;

	if (k->len + len <= size)
		return;
	if (!k->latest && (end = memrchr(k->text, '\n', KEPT_BYTES)))
		k->latest = end + 1 - k->text;
	for (u32 from = k->latest; k->len + len > size; k->dropped++) {
		end = memchr(k->text + from, '\n', k->len - from);
		if (!end)
			break;
		k->len -= end + 1 - (k->text + from);
		memmove(k->text + from, end + 1, k->len - from);
	}
	if (k->len + len > size)
		k->len = size - len;
}

static ssize_t take(void *cookie, const char *text, size_t size)
{
	struct kept *k = cookie;

	for (size_t at = 0, len; at < size; at += len) {
		len = size - at < KEPT_BYTES / 2 ? size - at : KEPT_BYTES / 2;
		make_room(k, len);
		memcpy(k->text + k->len, text + at, len);
		k->len += len;
	}
	return size;
}

int kept_begin(struct kept *k)
{
	k->f = fopencookie(k, "w", (cookie_io_functions_t){ .write = take });
	return k->f ? 0 : -ENOMEM;
}

void kept_last_line(struct kept *k, char *to, size_t room)
{
	u32 end, begin;

	fflush(k->f);
	for (end = k->len; end && k->text[end - 1] == '\n'; end--)
		;
	for (begin = end; begin && k->text[begin - 1] != '\n'; begin--)
		;
	snprintf(to, room, "%.*s", (int)(end - begin), k->text + begin);
}

void kept_end(struct kept *k, FILE *to)
{
	fclose(k->f);
	fwrite(k->text, 1, k->latest, to);
	if (k->dropped)
		fprintf(to, "... %llu more lines, not kept ...\n", (unsigned long long)k->dropped);
	fwrite(k->text + k->latest, 1, k->len - k->latest, to);
}
