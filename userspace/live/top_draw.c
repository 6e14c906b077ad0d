// SPDX-License-Identifier: GPL-2.0-only
/* Draws the screen except for the map: the head, the lines of devices, details of the selected one, help. */
#include "live/top_draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/cgroup.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"
#include "util/units.h"
#include "util/utf8.h"

/* Draws the last slow IOs of a device, a line each, the latest first. */

#define INDENT 2

static void put_io(const struct top_draw *d, const struct slow_io *io, u32 y)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };

	if (print_buffer_open(&say))
		return;
	words_slow_figures(say.f, io);
	words_slow_rest(say.f, io, COLS - INDENT - WORDS_SLOW_FIGURES, d->look->utf8);
	if (fflush(say.f))
		return;
	if (io->told.error)
		attrset(d->colour ? COLOR_PAIR(PAIR_ALARM) | A_BOLD : A_BOLD);
	top_put(d, y, INDENT, COLS, say.text);
	attrset(A_NORMAL);
}

/* Draws the last slow IOs of @item, on @rows lines at most. */
static void top_draw_slow(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 rows)
{
	const struct top_slow *s = item->slow;
	u64 at = s ? s->taken : 0;
	const struct slow_io *io;
	char found[UNITS_TEXT], say[128];

	if (!t->run->slow_most) {
		top_put(d, y, INDENT, COLS, "slow IOs are not captured: start top with --slow=T, a time or a percentile");
		return;
	}
	if (!s) {
		top_put(d, y, INDENT, COLS, "no slow IO so far");
		return;
	}
	snprintf(say, sizeof(say), "slow IOs, the latest first; %s so far%s", units_count(found, s->found), s->found > s->taken ? ", not all kept" : "");
	attrset(A_BOLD);
	top_put(d, y++, INDENT, COLS, say);
	attrset(A_NORMAL);
	while (--rows && (io = top_slow_before(s, t->shown, t->op, &at)))
		put_io(d, io, y++);
}

#define SAY 256
#define NAME 16		/* columns of names, at least */
#define OWNER 24		/* of a part's, so that most units' are whole */
#define SAY_ROOM 34	/* columns that longer names leave for what is wrong with a device */
#define MAP_ROWS_MIN 5
#define PARTS_MAX 16	/* lines; no watch is divided into more parts */

void top_draw_init(struct top_draw *d, const struct look *look)
{
	/* From dark to bright, without black and white, so they show on either background. */
	static const short few[] = { COLOR_BLUE, COLOR_MAGENTA, COLOR_RED, COLOR_YELLOW };
	static const short many[] = { 26, 63, 99, 133, 168, 203, 215, 227 };
	const short *ramp = few;

	d->look = look;
	d->colour = look->colour && has_colors() && start_color() != ERR &&
		    COLOR_PAIRS > PAIR_HEAT + (int)ARRAY_SIZE(few);
	d->shades = TOP_SHADES_MAX;
	if (!d->colour)
		return;
	use_default_colors();
	init_pair(PAIR_ALARM, COLOR_RED, -1);
	init_pair(PAIR_NOTE, COLOR_YELLOW, -1);
	init_pair(PAIR_BAR, COLOR_CYAN, -1);
	d->shades = ARRAY_SIZE(few);
	if (COLORS >= 256) {
		ramp = many;
		d->shades = ARRAY_SIZE(many);
	}
	for (u32 i = 0; i < d->shades; i++)
		init_pair(PAIR_HEAT + i, -1, ramp[i]);
}

u32 top_put(const struct top_draw *d, u32 y, u32 x, u32 end, const char *text)
{
	char cut[4 * SAY];

	if (x >= end)
		return x;
	/* Without UTF-8 no byte above ASCII is left, and text from outside has no control characters. */
	utf8_for_terminal(cut, sizeof(cut), text, end - x, d->look->utf8);
	mvaddstr(y, x, cut);
	return x + utf8_columns(cut, strlen(cut));
}

__attribute__((format(printf, 5, 6)))
static u32 put_format(const struct top_draw *d, u32 y, u32 x, u32 end, const char *format, ...)
{
	char text[SAY];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return top_put(d, y, x, end, text);
}

/* Sets the attribute for the text that follows: a colour, if the terminal has any. */
static void paint(const struct top_draw *d, int pair, attr_t otherwise)
{
	attrset(d->colour && pair ? COLOR_PAIR(pair) | A_BOLD : otherwise);
}

static bool has_stages(const struct top *t)
{
	return t->stages & (t->stages - 1);
}

static void put_head(const struct top_draw *d, const struct top *t)
{
	char clock[UNITS_TEXT] = "", length[UNITS_TEXT], lost_text[UNITS_TEXT];
	bool notable = false;
	u64 lost = 0;
	u32 x;

	for (u32 i = 0; i < t->n; i += 1 + t->items[i].parts)
		if (t->items[i].viewed) {
			lost += t->items[i].lost;
			notable |= t->items[i].health.lost_lately;
		}
	if (t->shown)
		units_clock(clock, t->end_ns[(t->shown - 1) % TOP_SAMPLES]);
	attrset(A_BOLD);
	x = put_format(d, 0, 0, COLS, "blklat top %s ", clock);
	attrset(A_NORMAL);
	x = put_format(d, 0, x, COLS, " %s  sort %s  op %s", units_ns(length, t->run->interval_s * 1e9), top_sort_names[t->sort],
		       t->op == TOP_ALL_OPS ? "all" : op_names[t->op]);
	if (has_stages(t))
		x = put_format(d, 0, x, COLS, "  stage %s", stage_names[t->stage]);
	if (*t->filter && !t->typing)
		x = put_format(d, 0, x, COLS, "  filter %s", t->filter);
	attrset(A_REVERSE);
	if (t->paused)
		x = top_put(d, 0, x + 2, COLS, " PAUSED ");
	else if (t->over)
		x = top_put(d, 0, x + 2, COLS, " END OF REPLAY ");
	paint(d, notable ? PAIR_NOTE : 0, notable ? A_BOLD : A_NORMAL);
	if (lost)
		x = put_format(d, 0, x, COLS, "  lost %s", units_short(lost_text, lost));
	paint(d, PAIR_NOTE, A_BOLD);
	if (t->skipped)
		x = put_format(d, 0, x, COLS, "  skipped %s", units_short(lost_text, t->skipped));
	if (*health_host_text(&t->host))
		x = put_format(d, 0, x, COLS, "  %s", health_host_text(&t->host));
	attrset(A_NORMAL);
}

struct cell {
	const char *head;
	u32 columns;
};

/* Parts have no stage and depth of their own, so their labels take these columns, too. */
enum { CELL_STAGE, CELL_DEPTH, CELL_BUSY, CELL_IOPS, CELL_MBPS, CELL_TIME, CELL_OLDEST, CELL_P50, CELL_P99, CELL_P999, CELL_MAX, CELLS };

static const struct cell cells[CELLS] = {
	[CELL_STAGE] = { "stage", 7 }, [CELL_DEPTH] = { "depth", 7 }, [CELL_BUSY] = { "busy", 6 }, [CELL_IOPS] = { "IOPS", 7 }, [CELL_MBPS] = { "MB/s", 7 },
	[CELL_TIME] = { "time", 6 }, [CELL_OLDEST] = { "oldest", 8 }, [CELL_P50] = { "p50", 8 }, [CELL_P99] = { "p99", 8 },
	[CELL_P999] = { "p99.9", 8 }, [CELL_MAX] = { "max", 8 },
};

/* Is there room for a cell beside the names, after those that matter more? */
static bool shows(const struct top *t, u32 cell)
{
	static const u8 order[] = {
		CELL_STAGE, CELL_P99,	 CELL_IOPS, CELL_TIME, CELL_MBPS,
		CELL_DEPTH, CELL_BUSY, CELL_OLDEST, CELL_MAX,  CELL_P50,  CELL_P999,
	};
	u32 room = COLS - 2 - NAME;

	for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
		const struct cell *c = &cells[order[i]];
		bool is_wanted = order[i] == CELL_STAGE ? has_stages(t) : order[i] == CELL_BUSY ? t->busy_known :
				 order[i] != CELL_TIME || t->divided;

		if (order[i] == cell)
			return is_wanted && c->columns <= room;
		room -= is_wanted && c->columns <= room ? c->columns : 0;
	}
	return false;
}

/* Prints the cells of a line. Returns the column behind them. */
static u32 put_cells(const struct top_draw *d, const struct top *t, u32 y, char text[CELLS][UNITS_TEXT])
{
	u32 x = 2 + d->name;

	for (u32 cell = 0; cell < CELLS; cell++)
		if (shows(t, cell)) {
			mvprintw(y, x, "%*s", (int)cells[cell].columns, text[cell]);
			x += cells[cell].columns;
		}
	return x;
}

static void put_heads(const struct top_draw *d, const struct top *t, u32 y)
{
	char text[CELLS][UNITS_TEXT];

	for (u32 cell = 0; cell < CELLS; cell++)
		strcpy(text[cell], cells[cell].head);
	attrset(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	put_cells(d, t, y, text);
	if (t->n_lines > t->room)
		put_format(d, y, 2, COLS, "device %u-%u/%u", t->first + 1,
			   t->first + t->room < t->n_lines ? t->first + t->room : t->n_lines, t->n_lines);
	else
		top_put(d, y, 2, COLS, "device");
	attrset(A_NORMAL);
}

/* "63 %", for a narrow column. */
static void share_text(char text[UNITS_TEXT], double share)
{
	if (share > 0 && share < 0.01)
		strcpy(text, "<1 %");
	else
		sprintf(text, "%.0f %%", fmin(share, 1) * 100);
}

/*
 * Prints the figures of an item, each in its column; missing ones stay blank. @whole: of which the item is a part, or
 * itself. Returns the column behind them.
 */
static u32 put_figures(const struct top_draw *d, const struct top *t, const struct top_item *item,
		       const struct top_item *whole, u32 y)
{
	const struct top_figures *g = &item->figures[t->op];
	char text[CELLS][UNITS_TEXT] = { "" };

	strcpy(text[CELL_STAGE], item->watch->part ? "" : stage_names[item->watch->stage]);
	if (item->in_flight && item->oldest_ns)
		units_ns(text[CELL_OLDEST], item->oldest_ns);
	if (!item->watch->part)
		units_number(text[CELL_DEPTH], item->depth);
	if (item->busy_known)
		share_text(text[CELL_BUSY], item->busy);
	if (g->ios) {
		units_number(text[CELL_IOPS], g->iops);
		units_number(text[CELL_MBPS], g->bytes_per_s / 1e6);
		share_text(text[CELL_TIME], top_share_of_time(t, whole, item));
		units_ns(text[CELL_P50], g->percentile_ns[TOP_P50]);
		units_ns(text[CELL_P99], g->percentile_ns[TOP_P99]);
		units_ns(text[CELL_P999], g->percentile_ns[TOP_P999]);
		units_ns(text[CELL_MAX], g->max_ns);
	}
	return put_cells(d, t, y, text);
}

#define ILLNESS_TEXT (2 * HEALTH_TEXT)

/*
 * "slow: p99 is 8.3 times its past, since 07:34:12 (22 min)", or without the time if that does not fit into @columns.
 */
static const char *illness(char text[ILLNESS_TEXT], const struct top *t, const struct health *h, u32 columns)
{
	char since[HEALTH_TEXT];

	health_text(text, h);
	health_since(since, h, t->shown ? t->end_ns[(t->shown - 1) % TOP_SAMPLES] : 0, t->interval_s);
	return *since && strlen(text) + 2 + strlen(since) <= columns ? strcat(strcat(text, ", "), since) : text;
}

static void put_line(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, bool selected)
{
	bool sick = top_marks(item);
	char say[ILLNESS_TEXT];
	u32 x;

	paint(d, sick ? PAIR_ALARM : 0, sick ? A_BOLD : A_NORMAL);
	if (selected)
		attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	/* A loss does not mean that the device is sick. */
	top_put(d, y, 0, 1, sick ? "!" : item->lost ? "~" : " ");
	top_put(d, y, 2, 2 + d->name - 1, item->watch->device->name);
	x = put_figures(d, t, item, item, y) + 2;
	top_put(d, y, x, COLS, item->gone ? "went away" : sick ? illness(say, t, &item->health, x < (u32)COLS ? COLS - x : 0) : "");
	attrset(A_NORMAL);
}

/* "23 idle: loop0 loop1 ..." */
static void put_idle(const struct top_draw *d, const struct top *t, u32 y)
{
	u32 x = put_format(d, y, 2, COLS, "%u idle:", t->n_idle);

	for (u32 i = 0; i < t->n_idle; i++) {
		const char *name = t->items[t->order[t->n_lines + i]].watch->device->name;

		if (x + 1 + strlen(name) + 4 > (u32)COLS && i + 1 < t->n_idle) {
			top_put(d, y, x, COLS, " ...");
			break;
		}
		x = top_put(d, y, x + 1, COLS, name);
	}
}

/* Prints what the figures do not show: "sda slow: ... 12 in flight 5 IOs lost". */
static u32 put_state(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y)
{
	const struct device *dev = item->watch->device;
	const struct top_figures *g = &item->figures[t->op];
	char say[ILLNESS_TEXT], text[5][UNITS_TEXT], shares[SHARES_TEXT];
	u32 x;

	mvhline(y, 0, ' ', COLS);
	attrset(A_BOLD);
	x = top_put(d, y, 0, COLS / 3, dev->name);
	attrset(A_NORMAL);
	x = put_format(d, y, x, COLS, " %s  %s in flight", stage_names[item->watch->stage], units_count(text[0], item->in_flight));
	paint(d, top_marks(item) ? PAIR_ALARM : PAIR_NOTE, A_BOLD);
	if (item->gone)
		x = top_put(d, y, x + 2, COLS, "the device went away");
	else if (*illness(say, t, &item->health, COLS))
		x = put_format(d, y, x + 2, COLS, "%s%s", say, !top_marks(item) && health_marks(&item->health) ? ", acknowledged" : "");
	paint(d, item->health.lost_lately ? PAIR_NOTE : 0, item->health.lost_lately ? A_BOLD : A_NORMAL);
	if (item->lost)
		x = put_format(d, y, x + 2, COLS, "%s IO%s lost", units_count(text[0], item->lost), item->lost == 1 ? "" : "s");
	attrset(A_NORMAL);
	x = top_put(d, y, x + 2, COLS, dev->model);
	top_put(d, y, x + 2, COLS, dev->serial[0] ? dev->serial : dev->wwid);
	if (!g->ios) {
		put_format(d, y + 1, 2, COLS, "%s: no IO completed in the last interval",
			   t->op == TOP_ALL_OPS ? "all ops" : op_names[t->op]);
		return y + 2;
	}
	put_format(d, y + 1, 2, COLS, "%s: p50 %s  p99 %s  p99.9 %s  max %s", t->op == TOP_ALL_OPS ? "all ops" : op_names[t->op],
		   units_ns(text[0], g->percentile_ns[TOP_P50]), units_ns(text[1], g->percentile_ns[TOP_P99]),
		   units_ns(text[2], g->percentile_ns[TOP_P999]), units_ns(text[3], g->max_ns));
	if (!g->shares.bios)
		return y + 2;
	put_format(d, y + 2, 2, COLS, "%s: %s", stage_names[BLKLAT_STAGE_TOTAL], shares_text(shares, &g->shares, dev));
	return y + 3;
}

/* In at most @columns: the whole of it, or else its container or the end of its last cgroup. */
static void name_cgroup(char ret[PART_TEXT_MAX], const struct part *part, u32 columns)
{
	const struct cgroup_names names = cgroup_names(part->label);

	if (names.container[0])
		words_short_path(ret, PART_TEXT_MAX, part->label, 0);
	else
		part_text(ret, part);
	if (utf8_columns(ret, strlen(ret)) <= columns)
		return;
	if (names.container[0])
		snprintf(ret, PART_TEXT_MAX, "%.12s", names.container);
	else
		words_short_path(ret, PART_TEXT_MAX,
				 names.pod[0]	 ? names.pod
				 : names.unit[0] ? names.unit
						 : part->label,
				 columns);
}

/* What a part is. Labels of other divisions are short; if a process has too little room, the end of its id is cut. */
static void name_part(char ret[PART_TEXT_MAX], const struct part *part, u32 columns)
{
	if (part_is_by(part, BLKLAT_BY_CGROUP))
		name_cgroup(ret, part, columns);
	else
		part_text(ret, part);
}

/* Columns of a part's label besides those of names. */
static int more_columns(const struct top *t)
{
	return (shows(t, CELL_DEPTH) ? cells[CELL_DEPTH].columns : 0) +
	       (shows(t, CELL_STAGE) ? cells[CELL_STAGE].columns : 0) - 3;
}

/* Columns for names: more if the selected item's parts need them and they are there. */
static u32 name_columns(const struct top *t, const struct top_item *selected)
{
	u32 room = COLS - 2, label = NAME + more_columns(t);
	char text[PART_TEXT_MAX];

	for (u32 cell = 0; cell < CELLS; cell++)
		room -= shows(t, cell) ? cells[cell].columns : 0;
	for (u32 i = 1; selected && i <= selected->parts; i++) {
		name_part(text, selected[i].part, COLS);
		label = max_u64(label, utf8_columns(text, strlen(text)));
	}
	room = max_u64(min_u64(OWNER, room), room > SAY_ROOM ? room - SAY_ROOM : NAME);
	return min_u64(label - more_columns(t), room);
}

/* Prints a line for each part that had IOs, at most @most. Returns the line behind them. */
static u32 put_parts(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 most)
{
	u32 columns = d->name + more_columns(t);
	const struct top_item *part = NULL;
	char text[PART_TEXT_MAX];

	while (most-- && (part = top_next_part(t, item, part))) {
		put_figures(d, t, part, item, y);
		name_part(text, part->part, columns);
		top_put(d, y++, 4, 4 + columns, text);
	}
	return y;
}

/* The parts instead of the map. */
static void put_all_parts(const struct top_draw *d, const struct top *t, const struct top_item *item, u32 y, u32 most)
{
	if (!item->parts)
		top_put(d, y, INDENT, COLS, "IOs are not divided: start top without --no-owners, or with --by, to see whose they are");
	else if (put_parts(d, t, item, y, most) == y)
		top_put(d, y, INDENT, COLS, "no IO completed in the last interval");
}

static void put_foot(const struct top_draw *d, const struct top *t)
{
	u32 y = LINES - 1;

	if (t->typing) {
		put_format(d, y, 0, COLS, "filter: %s_   (Enter keeps it, Esc shows all)", t->filter);
	} else if (*d->said) {
		paint(d, PAIR_NOTE, A_BOLD);
		top_put(d, y, 0, COLS, d->said);
	} else {
		put_format(d, y, 0, COLS, "? help  q quit%s%s  s sort  o op  S stage  / filter  p pause", t->divided ? "  c whose" : "",
			   t->run->slow_most ? "  i IOs" : "");
	}
	attrset(A_NORMAL);
}

static void put_help(const struct top_draw *d)
{
	u32 y = 2;

	attrset(A_BOLD);
	top_put(d, 0, 0, COLS, "blklat top: keys");
	attrset(A_NORMAL);
	for (const char *const *line = top_help; *line && y + 1 < (u32)LINES; line++)
		top_put(d, y++, 2, COLS, *line);
	if (y + 4 < (u32)LINES) {
		top_put(d, y + 1, 2, COLS, "!  IOs failed, hang or wait for long; or p99 is far above its past");
		top_put(d, y + 2, 2, COLS, "~  IOs were lost: they could not be measured");
	}
}

/* How many lines devices may take: at most two fifths, as the map and the parts of the selected one need the rest. */
static u32 room_for_lines(const struct top *t)
{
	u32 rest = LINES - 2 - 2 - 1 - (t->n_idle > 0), most = rest * 2 / 5;

	return t->n_lines < most ? t->n_lines ?: 1 : most;
}

static void draw_devices(struct top_draw *d, struct top *t)
{
	const struct top_item *item;
	u32 y = 2, left;

	t->room = room_for_lines(t);
	top_arrange(t);
	item = top_selected(t);
	d->name = name_columns(t, item);
	put_head(d, t);
	put_heads(d, t, 1);
	for (u32 line = t->first; line < t->n_lines && line < t->first + t->room; line++)
		put_line(d, t, &t->items[t->order[line]], y++, line == top_selected_line(t));
	if (!t->n_lines)
		top_put(d, y++, 2, COLS, *t->filter && !t->n_idle ? "no device name contains this" : "no IO");
	if (t->n_idle)
		put_idle(d, t, y++);
	if (!item)
		return;
	y = put_state(d, t, item, y);
	left = LINES - 1 - y;
	if (t->view == TOP_PARTS)
		return put_all_parts(d, t, item, y, left);
	if (left > MAP_ROWS_MIN)
		y = put_parts(d, t, item, y, left - MAP_ROWS_MIN < PARTS_MAX ? left - MAP_ROWS_MIN : PARTS_MAX);
	if (t->view == TOP_SLOW_IOS)
		top_draw_slow(d, t, item, y, LINES - 1 - y);
	else
		top_draw_heat(d, t, item, y, LINES - 1 - y);
}

void top_draw(struct top_draw *d, struct top *t)
{
	erase();
	if (COLS < TOP_COLUMNS_MIN || LINES < TOP_ROWS_MIN) {
		put_format(d, 0, 0, COLS, "too small: %dx%d, needs %dx%d", COLS, LINES, TOP_COLUMNS_MIN, TOP_ROWS_MIN);
	} else if (t->help) {
		put_help(d);
		put_foot(d, t);
	} else {
		draw_devices(d, t);
		put_foot(d, t);
	}
	refresh();
}
