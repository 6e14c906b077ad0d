// SPDX-License-Identifier: GPL-2.0-only
/* The actions of the keys. */
#include <string.h>

#include "live/top.h"

const char *const top_help[] = {
	"Up Down         select a device; at first the first line stays selected",
	"PgUp PgDn       a page at a time",
	"Home End        the first, the last; Home follows the first line again",
	"s               sort by p99, oldest, depth, IOPS, MB/s or name",
	"S               the next stage that is watched (--stage)",
	"o               the next op: all, read, write, flush, discard, other",
	"c               whose IOs: its cgroups, or other parts (--by), and back",
	"i               the last slow IOs of the device, and back to its map",
	"a               acknowledge: a sick device has no mark until it is sick again",
	"/               filter: devices whose name contains this; Esc: all",
	"p               pause: the screen stands still, counting goes on",
	"? h             this help, and back",
	"q Ctrl-C        quit",
	NULL,
};

static void select_line(struct top *t, s64 line)
{
	if (!t->n_lines)
		return;
	if (line < 0)
		line = 0;
	if (line >= t->n_lines)
		line = t->n_lines - 1;
	t->chosen = t->order[line];
}

/* Only stages that are watched are offered. (Ops are not checked: if no device does one, its figures are 0.) */
static void next_stage(struct top *t)
{
	u32 stage = t->stage;
	struct top_item *item = top_selected(t);

	do {
		stage = (stage + 1) % BLKLAT_STAGES;
	} while (!(t->stages >> stage & 1) && stage != t->stage);
	top_look_at(t, stage);
	/* Selects the same device at the other stage. */
	for (u32 i = 0; item && t->chosen != TOP_NONE && i < t->n; i++)
		if (t->items[i].viewed && !t->items[i].watch->part && t->items[i].watch->device == item->watch->device)
			t->chosen = i;
}

static void type(struct top *t, int key)
{
	size_t len = strlen(t->filter);

	if (key == TOP_ENTER || key == TOP_ESCAPE)
		t->typing = false;
	if (key == TOP_ESCAPE)
		t->filter[0] = '\0';
	if (key == TOP_BACKSPACE && len)
		t->filter[len - 1] = '\0';
	if (key >= ' ' && key < 0x7F && len + 1 < sizeof(t->filter)) {
		t->filter[len] = key;
		t->filter[len + 1] = '\0';
	}
}

static void move(struct top *t, int key)
{
	s64 line = top_selected_line(t);

	switch (key) {
	case TOP_UP:
		return select_line(t, line - 1);
	case TOP_DOWN:
		return select_line(t, line + 1);
	case TOP_PAGE_UP:
		return select_line(t, line - t->room);
	case TOP_PAGE_DOWN:
		return select_line(t, line + t->room);
	case TOP_END:
		return select_line(t, t->n_lines);
	case TOP_HOME:
		t->chosen = TOP_NONE;
		t->first = 0;
	}
}

static void acknowledge(struct top *t)
{
	struct top_item *item = top_selected(t);

	if (item)
		item->acknowledged_ns = item->health.since_ns;
}

static void act(struct top *t, int key)
{
	switch (key) {
	case 's':
		t->sort = (t->sort + 1) % TOP_SORTS;
		break;
	case 'S':
		next_stage(t);
		break;
	case 'o':
		t->op = t->op == TOP_ALL_OPS ? 0 : t->op + 1;
		break;
	case 'i':
		t->view = t->view == TOP_SLOW_IOS ? TOP_MAP : TOP_SLOW_IOS;
		break;
	case 'c':
		t->view = t->view == TOP_PARTS ? TOP_MAP : TOP_PARTS;
		break;
	case 'p':
		t->paused = !t->paused;
		break;
	case 'a':
		acknowledge(t);
		break;
	case '/':
		t->typing = true;
		break;
	case TOP_ESCAPE:
		t->filter[0] = '\0';
		break;
	case '?':
	case 'h':
		t->help = true;
		break;
	default:
		move(t, key);
	}
}

bool top_key(struct top *t, int key)
{
	if (t->typing)
		type(t, key);
	else if (key == 'q')
		return false;
	else if (t->help)
		t->help = false;
	else
		act(t, key);
	top_arrange(t);
	return true;
}
