// SPDX-License-Identifier: GPL-2.0-only
/* Decides on the order of the lines, which ones are folded, and which is selected. */
#include <stdlib.h>
#include <string.h>

#include "live/top.h"

const char *const top_sort_names[TOP_SORTS] = {
	[TOP_BY_P99] = "p99", [TOP_BY_OLDEST] = "oldest", [TOP_BY_DEPTH] = "depth", [TOP_BY_IOPS] = "IOPS",
	[TOP_BY_MBPS] = "MB/s", [TOP_BY_NAME] = "name",
};

/* Higher ranks come first. */
static double rank_of(const struct top *t, const struct top_item *item)
{
	const struct top_figures *g = &item->figures[t->op];

	switch (t->sort) {
	case TOP_BY_P99:
		return health_worst_ns(&item->health, g->percentile_ns[TOP_P99]);
	case TOP_BY_OLDEST:
		return item->oldest_ns;
	case TOP_BY_DEPTH:
		return item->depth;
	case TOP_BY_IOPS:
		return g->iops;
	case TOP_BY_MBPS:
		return g->bytes_per_s;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *with)
{
	const struct top *t = with;
	u32 i = *(const u32 *)a, j = *(const u32 *)b;
	const struct top_item *x = &t->items[i], *y = &t->items[j];
	double more = rank_of(t, y) - rank_of(t, x);
	int by_name;

	if (more)
		return more > 0 ? 1 : -1;
	by_name = strverscmp(x->watch->device->name, y->watch->device->name);
	return by_name ?: (i > j) - (i < j);
}

static int compare_names(const void *a, const void *b, void *with)
{
	const struct top *t = with;

	return strverscmp(t->items[*(const u32 *)a].watch->device->name, t->items[*(const u32 *)b].watch->device->name);
}

static bool is_wanted(const struct top *t, const struct top_item *item)
{
	return item->viewed && !item->watch->part && (!item->gone || !item->idle) &&
	       (!*t->filter || strcasestr(item->watch->device->name, t->filter));
}

void top_arrange(struct top *t)
{
	u32 line;

	t->n_lines = t->n_idle = 0;
	/* The selected item keeps its line when it becomes idle. */
	for (u32 i = 0; i < t->n; i++)
		if (is_wanted(t, &t->items[i]) && (!t->items[i].idle || i == t->chosen))
			t->order[t->n_lines++] = i;
	for (u32 i = 0; i < t->n; i++)
		if (is_wanted(t, &t->items[i]) && t->items[i].idle && i != t->chosen)
			t->order[t->n_lines + t->n_idle++] = i;
	qsort_r(t->order, t->n_lines, sizeof(*t->order), compare, t);
	qsort_r(t->order + t->n_lines, t->n_idle, sizeof(*t->order), compare_names, t);

	line = top_selected_line(t);
	if (line < t->first)
		t->first = line;
	if (line >= t->first + t->room)
		t->first = line - t->room + 1;
	if (t->first + t->room > t->n_lines)
		t->first = t->n_lines > t->room ? t->n_lines - t->room : 0;
}

u32 top_selected_line(const struct top *t)
{
	for (u32 line = 0; line < t->n_lines; line++)
		if (t->order[line] == t->chosen)
			return line;
	return 0;
}

struct top_item *top_selected(const struct top *t)
{
	return t->n_lines ? &t->items[t->order[top_selected_line(t)]] : NULL;
}
