// SPDX-License-Identifier: GPL-2.0-only
#include "util/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

#define GAP 2

void table_init(struct table *t, const struct column *columns, u32 n_columns)
{
	*t = (struct table){ .columns = columns, .n_columns = n_columns };
}

static void drop_to(struct table *t, u32 n)
{
	while (t->n > n)
		free(t->cells[--t->n]);
}

void table_uninit(struct table *t)
{
	drop_to(t, 0);
	free(t->cells);
	t->cells = NULL;
	t->room = 0;
}

int table_add(struct table *t, const char *const *cells)
{
	u32 before = t->n;

	if (t->n + t->n_columns > t->room) {
		u32 room = t->room * 2 + t->n_columns * 16;

		if (array_grow(&t->cells, sizeof(*t->cells), room))
			return -ENOMEM;
		t->room = room;
	}
	for (u32 i = 0; i < t->n_columns; i++) {
		char *copy = strdup(cells[i]);

		if (!copy) {
			drop_to(t, before);
			return -ENOMEM;
		}
		t->cells[t->n++] = copy;
	}
	return 0;
}

static u32 columns_of(const char *text)
{
	return utf8_columns(text, strlen(text));
}

static void measure(const struct table *t, u32 width, u32 *ret)
{
	u32 sum = GAP * (t->n_columns - 1);

	for (u32 i = 0; i < t->n_columns; i++) {
		ret[i] = columns_of(t->columns[i].title);
		for (u32 k = i; k < t->n; k += t->n_columns)
			if (columns_of(t->cells[k]) > ret[i])
				ret[i] = columns_of(t->cells[k]);
		sum += ret[i];
	}
	for (; sum > width; sum--) {
		u32 widest = t->n_columns;

		for (u32 i = 0; i < t->n_columns; i++)
			if (t->columns[i].least && ret[i] > t->columns[i].least &&
			    (widest == t->n_columns || ret[i] > ret[widest]))
				widest = i;
		if (widest == t->n_columns)
			return;
		ret[widest]--;
	}
}

static void pad(FILE *out, u32 n)
{
	while (n--)
		putc(' ', out);
}

/* Prints the first @n characters of @text; if there are more, the last one printed is '~'. */
static void print_cut(FILE *out, const char *text, u32 n)
{
	u32 keep = columns_of(text) > n ? n - 1 : n;
	const char *c = text;

	for (u32 seen = 0; *c; c++) {
		seen += utf8_begins(*c);
		if (seen > keep)
			break;
		putc(*c, out);
	}
	if (*c)
		putc('~', out);
}

/* Spaces are printed before the text that needs them, so that no line ends in spaces. */
static void print_row(const struct table *t, FILE *out, const char *const *cells, const u32 *widths)
{
	u32 owed = 0;

	for (u32 i = 0; i < t->n_columns; i++) {
		u32 used = columns_of(cells[i]);

		used = used < widths[i] ? used : widths[i];
		if (t->columns[i].right)
			owed += widths[i] - used;
		if (used) {
			pad(out, owed);
			print_cut(out, cells[i], widths[i]);
			owed = 0;
		}
		owed += GAP + (t->columns[i].right ? 0 : widths[i] - used);
	}
	putc('\n', out);
}

void table_print(const struct table *t, FILE *out, u32 width)
{
	u32 widths[TABLE_COLUMNS_MAX];
	const char *titles[TABLE_COLUMNS_MAX];

	measure(t, width, widths);
	for (u32 i = 0; i < t->n_columns; i++)
		titles[i] = t->columns[i].title;
	print_row(t, out, titles, widths);
	for (u32 i = 0; i < t->n; i += t->n_columns)
		print_row(t, out, (const char *const *)t->cells + i, widths);
}
