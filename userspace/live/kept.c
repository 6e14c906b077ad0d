// SPDX-License-Identifier: GPL-2.0-only
#include "live/kept.h"

#include <stdlib.h>
#include <string.h>

struct piece {
	u32 len;
	char text[KEPT_BYTES];
};

struct kept {
	FILE *f;
	struct piece first, latest;
	u64 dropped;		/* lines between the two */
	bool first_is_full;
	bool within_line;
};

/* Drops whole lines from the beginning of the latest text, until @len more bytes fit or only the last line is left. */
static void make_room(struct kept *k, u32 len)
{
	struct piece *p = &k->latest;
	u32 from = 0;

	while (p->len - from + len > KEPT_BYTES) {
		const char *end = memchr(p->text + from, '\n', p->len - from);

		if (!end)
			break;
		from = end + 1 - p->text;
		k->dropped++;
	}
	p->len -= from;
	memmove(p->text, p->text + from, p->len);
}

/* Adds a line, or a part of it. A line longer than all of the room is cut. */
static void add(struct kept *k, const char *text, u32 len)
{
	bool ends = text[len - 1] == '\n';
	struct piece *p;
	u32 fits;

	if (!k->within_line && k->first.len + len > KEPT_BYTES)
		k->first_is_full = true;
	p = k->first_is_full ? &k->latest : &k->first;
	if (k->first_is_full)
		make_room(k, len);
	fits = KEPT_BYTES - p->len < len ? KEPT_BYTES - p->len : len;
	memcpy(p->text + p->len, text, fits);
	p->len += fits;
	if (ends)
		p->text[p->len - 1] = '\n';
	k->within_line = !ends;
}

static ssize_t take(void *cookie, const char *text, size_t size)
{
	for (size_t at = 0, len; at < size; at += len) {
		const char *end = memchr(text + at, '\n', size - at);

		len = end ? (size_t)(end + 1 - (text + at)) : size - at;
		add(cookie, text + at, len);
	}
	return size;
}

struct kept *kept_new(void)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->f = fopencookie(k, "w", (cookie_io_functions_t){ .write = take });
	if (!k->f) {
		free(k);
		return NULL;
	}
	return k;
}

FILE *kept_stream(struct kept *k)
{
	return k->f;
}

void kept_last_line(struct kept *k, char *to, size_t room)
{
	const struct piece *p;
	u32 end, begin;

	fflush(k->f);
	p = k->latest.len ? &k->latest : &k->first;
	for (end = p->len; end && p->text[end - 1] == '\n'; end--)
		;
	for (begin = end; begin && p->text[begin - 1] != '\n'; begin--)
		;
	snprintf(to, room, "%.*s", (int)(end - begin), p->text + begin);
}

void kept_end(struct kept *k, FILE *to)
{
	fclose(k->f);
	fwrite(k->first.text, 1, k->first.len, to);
	if (k->dropped)
		fprintf(to, "... %llu more lines were printed here, and not kept ...\n", (unsigned long long)k->dropped);
	fwrite(k->latest.text, 1, k->latest.len, to);
	free(k);
}
