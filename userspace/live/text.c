// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output for people. It has a header, then a block for each interval: the clock and the table's heads; for each watch
 * a line with its state; for each op a row of figures and below it the distribution of its IOs on a logarithmic axis;
 * and the axis. Columns are 8 wide, so the default fits into 80 exactly; a row that does not fit the terminal
 * continues in a second line. The axis only grows, and all watches share it, so that lines can be compared by eye.
 */
#include "live/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/stream.h"
#include "util/units.h"
#include "util/utf8.h"

#define CELL 8
#define CELLS_MAX (PERCENTILES_MAX + 4)
#define NAME_COLUMNS 24
#define SAY_MAX 1280		/* a paragraph */
#define TRUE_LENGTH 0.05	/* show an interval's length if it is off by more */

void text_paint(const struct text *t, FILE *f, enum paint paint)
{
	static const char *const codes[] = {
		[PLAIN] = "0", [BOLD] = "1", [DIM] = "2", [BAR] = "36", [NOTE] = "33",
		[STALL] = "1;33", [ALARM] = "1;31",
	};

	if (t->look->colour)
		fprintf(f, "\033[%sm", codes[paint]);
}

void text_put(const struct text *t, FILE *f, enum paint paint, const char *format, ...)
{
	va_list args;

	text_paint(t, f, paint);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	text_paint(t, f, PLAIN);
}

const char *text_name(const struct text *t, char name[TEXT_NAME], const struct watch *w, u32 columns)
{
	utf8_for_terminal(name, TEXT_NAME - 16, w->device->name, columns, t->look->utf8);
	if (t->stages) {
		strcat(name, " ");
		strcat(name, stage_names[w->stage]);
	}
	return name;
}

u32 text_indent(const char *label)
{
	u32 columns = utf8_columns(label, strlen(label)) + 2;

	return columns > TEXT_GUTTER ? columns : TEXT_GUTTER;
}

void text_say(const struct text *t, FILE *f, const char *label, enum paint paint, const char *format, ...)
{
	u32 at = text_indent(label);
	char text[SAY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (*label)
		text_put(t, f, BOLD, "%s", label);
	fprintf(f, "%*s", (int)(at - utf8_columns(label, strlen(label))), "");
	text_paint(t, f, paint);
	draw_paragraph(f, text, at, at < t->columns / 3 ? at : TEXT_GUTTER, t->columns);
	text_paint(t, f, PLAIN);
	putc('\n', f);
}

/* The columns of a cell: 8, or the length of the longest percentile's name. */
u32 text_cell_columns(const struct text *t)
{
	u32 columns = CELL;

	for (u32 i = 0; i < t->run->percentiles.n; i++) {
		u32 len = strlen(t->run->percentiles.p[i].name) + 1;

		if (len > columns)
			columns = len;
	}
	return columns;
}

/*
 * Prints a row of cells, in more lines if the terminal is too narrow. A long @label extends into the blanks before
 * the first figure.
 */
static void put_cells(const struct text *t, FILE *f, const char *label, char cells[CELLS_MAX][UNITS_TEXT])
{
	u32 width = text_cell_columns(t), n = t->run->percentiles.n + 4;
	u32 fit = (t->columns - TEXT_GUTTER) / width;

	fprintf(f, "%s%*s", label, (int)(TEXT_GUTTER + width - utf8_columns(label, strlen(label))), cells[0]);
	for (u32 i = 1; i < n; i++) {
		if (fit && i % fit == 0)
			fprintf(f, "\n%*s", TEXT_GUTTER, "");
		fprintf(f, "%*s", (int)width, cells[i]);
	}
}

void text_heads(const struct text *t, FILE *f, const char *label)
{
	const struct percentiles *ps = &t->run->percentiles;
	char cells[CELLS_MAX][UNITS_TEXT] = { "IOPS", "MB/s", "mean" };

	for (u32 i = 0; i < ps->n; i++)
		strcpy(cells[3 + i], ps->p[i].name);
	strcpy(cells[3 + ps->n], "max");
	text_paint(t, f, BOLD);
	put_cells(t, f, label, cells);
	text_paint(t, f, PLAIN);
	putc('\n', f);
}

void text_row(const struct text *t, FILE *f, const char *label, const struct op_frame *o)
{
	u32 n = t->run->percentiles.n;
	char cells[CELLS_MAX][UNITS_TEXT];
	char count[UNITS_TEXT];

	units_number(cells[0], o->iops);
	units_number(cells[1], o->bytes_per_s / 1e6);
	units_ns(cells[2], o->mean_ns);
	for (u32 i = 0; i < n; i++)
		units_ns(cells[3 + i], o->percentile_ns[i]);
	units_ns(cells[3 + n], o->max_ns);
	put_cells(t, f, label, cells);
	putc('\n', f);
	if (o->errors)
		text_say(t, f, "", ALARM, "%s failed", units_count(count, o->errors));
}

static void put_distribution(const struct text *t, FILE *f, const struct op_frame *o)
{
	fprintf(f, "%*s", TEXT_GUTTER, "");
	text_paint(t, f, BAR);
	draw_distribution(f, o, &t->axis, t->columns - TEXT_GUTTER, t->look->utf8);
	text_paint(t, f, PLAIN);
	putc('\n', f);
}

static void put_axis(const struct text *t, FILE *f)
{
	fprintf(f, "%*s", TEXT_GUTTER, "");
	text_paint(t, f, DIM);
	draw_axis(f, &t->axis, t->columns - TEXT_GUTTER, t->look->utf8);
	text_paint(t, f, PLAIN);
	putc('\n', f);
}

void text_idle(const struct text *t, FILE *f, u32 watches)
{
	char idle[UNITS_TEXT], all[UNITS_TEXT];

	if (watches)
		text_say(t, f, "idle", PLAIN,
			 "%s of %s devices%s: no IO completed, none in flight (--format csv has each)",
			 units_count(idle, watches), units_count(all, t->wholes), t->stages ? " and stages" : "");
}

/* Is there nothing to report about the watch except that it is idle? */
static bool nothing_new(const struct text *t, const struct frame *fr)
{
	const struct text_told *told = &t->told[fr->watch - t->run->watches];

	return t->many && !frame_is_busy(fr) && !fr->gone &&
	       !memcmp(told->by, fr->accounting.lost_by, sizeof(told->by));
}

bool text_left_out(const struct text *t, const struct frame *fr)
{
	return t->many && t->worst.left_out[fr->watch - t->run->watches];
}

void text_rest(const struct text *t, FILE *f, const struct frames *fs)
{
	char say[200], text[4][UNITS_TEXT];
	double iops = 0, bytes_per_s = 0, p99_ns = 0;
	u64 in_flight = 0, oldest_ns = 0;
	u32 n = 0;
	int len;

	for (u32 i = 0; i < fs->n; i += 1 + frames_parts(fs, i)) {
		const struct frame *fr = &fs->f[i];

		if (!text_left_out(t, fr))
			continue;
		n++;
		in_flight += fr->in_flight;
		if (fr->in_flight && fr->oldest_ns > oldest_ns)
			oldest_ns = fr->oldest_ns;
		p99_ns = fmax(p99_ns, fr->health.p99_ns);
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			if (fr->ops[op].ios) {
				iops += fr->ops[op].iops;
				bytes_per_s += fr->ops[op].bytes_per_s;
			}
	}
	if (!n)
		return;
	len = snprintf(say, sizeof(say), "%u more device%s%s left out by --top: %s IOPS, %s MB/s, %s in flight", n, n == 1 ? "" : "s",
		       t->stages ? " and stages" : "", units_number(text[0], iops), units_number(text[1], bytes_per_s / 1e6),
		       units_count(text[2], in_flight));
	if (oldest_ns)
		len += sprintf(say + len, ", oldest %s", units_ns(text[3], oldest_ns));
	if (p99_ns)
		sprintf(say + len, ", p99 at most %s", units_ns(text[3], p99_ns));
	text_say(t, f, "rest", PLAIN, "%s", say);
}

/* "! slow: p99 is 8.3 times its past; " for a sick device among many. That a device stalls is told by its state. */
static int put_mark(const struct text *t, char *to, const struct frame *fr)
{
	const struct health *h = &fr->health;
	char text[HEALTH_TEXT];

	if (!t->many || !health_marks(h) || h->ailment == AILMENT_GONE)
		return 0;
	return h->ailment == AILMENT_STALLED ? sprintf(to, "! ") : sprintf(to, "! %s; ", health_text(text, h));
}

/* Reports, once for all devices, problems that are not a device's fault. */
static void put_host(const struct text *t, FILE *f, const struct health_host *host)
{
	char text[UNITS_TEXT];

	if (host->waiting)
		text_say(t, f, "all", ALARM, "%u of %u devices waiting, an IO of each for about %s: the host?",
			 host->waiting, host->busy, units_ns(text, host->waited_ns));
	if (host->n)
		text_say(t, f, "all", NOTE, "%u of %u devices slower together, p99 by %s times: the host?",
			 host->n, host->of, units_short(text, host->times));
}

static void put_state(const struct text *t, FILE *f, const struct frame *fr)
{
	char name[TEXT_NAME], state[256 + HEALTH_TEXT], text[UNITS_TEXT];
	bool seems = frame_seems_stalled(fr), stalled = seems && !accounting_ends_missed(&fr->accounting);
	int n = put_mark(t, state, fr);
	bool marked = n;

	if (stalled)
		n += sprintf(state + n, "stalled: ");
	else if (!frame_has_ios(fr))
		n += sprintf(state + n, "no IO completed%s", fr->in_flight ? ", " : "");
	else
		n += sprintf(state + n, "queue depth %s, ", units_number(text, fr->queue_depth));
	if (fr->busy_known && frame_has_ios(fr))
		n += sprintf(state + n, "busy %s, ", units_share(text, fr->busy));
	if (frame_is_busy(fr))
		n += sprintf(state + n, "%s in flight", units_count(text, fr->in_flight));
	if (fr->in_flight && fr->oldest_ns)
		n += sprintf(state + n, ", oldest %s", units_ns(text, fr->oldest_ns));
	if (seems && !stalled)
		n += sprintf(state + n, "; completed, says the kernel");
	if (fr->gone)
		sprintf(state + n, "; the device went away");
	text_say(t, f, text_name(t, name, fr->watch, NAME_COLUMNS),
		 fr->gone || marked ? ALARM : stalled ? STALL : PLAIN, "%s", state);
}

/* Adds the losses that are new since the previous interval. */
static void take_losses(const struct text *t, const struct frame *fr, u64 more[LOST_REASONS])
{
	/* Not every interval has every watch, so the frame's index does not identify the watch. */
	struct text_told *told = &t->told[fr->watch - t->run->watches];

	for (u32 reason = 0; reason < LOST_REASONS; reason++) {
		u64 now = fr->accounting.lost_by[reason], before = told->by[reason];

		more[reason] += now > before ? now - before : 0;
		told->by[reason] = now;
	}
}

static int put_watch(const struct text *t, FILE *f, const struct frames *fs, u32 i)
{
	const struct frame *fr = &fs->f[i];
	u64 lost[LOST_REASONS] = { 0 };
	int err;

	put_state(t, f, fr);
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		if (!fr->ops[op].ios)
			continue;
		text_row(t, f, op_names[op], &fr->ops[op]);
		put_distribution(t, f, &fr->ops[op]);
		text_part_rows(t, f, fs, i, op);
	}
	err = text_slow(t, f, fs, i);
	take_losses(t, fr, lost);
	text_losses(t, f, "", lost);
	return err;
}

static int put_interval(struct text *t, FILE *f, const struct frames *fs)
{
	const struct frame *any = &fs->f[0];
	char text[UNITS_TEXT];
	u64 lost_by_rest[LOST_REASONS] = { 0 };
	bool idle = true;
	u32 folded = 0;
	int err = 0;

	if (t->many)
		worst_find(&t->worst, fs, t->run->watches);
	for (u32 i = 0; i < fs->n; i++) {
		axis_cover(&t->axis, &fs->f[i]);
		idle = idle && !frame_has_ios(&fs->f[i]);
	}
	putc('\n', f);
	units_clock(text, any->end_ns);
	if (idle)
		text_put(t, f, BOLD, "%s\n", text);
	else
		text_heads(t, f, text);
	if (fabs(any->interval_s - t->run->interval_s) > TRUE_LENGTH * t->run->interval_s)
		text_say(t, f, "", NOTE, "this interval took %s", units_ns(text, any->interval_s * 1e9));
	for (u32 i = 0; i < fs->n; i += 1 + frames_parts(fs, i)) {
		if (nothing_new(t, &fs->f[i]))
			folded++;
		else if (text_left_out(t, &fs->f[i]))
			take_losses(t, &fs->f[i], lost_by_rest);
		else
			err = put_watch(t, f, fs, i) ?: err;
	}
	if (t->many)
		put_host(t, f, &fs->host);
	text_rest(t, f, fs);
	text_losses(t, f, "", lost_by_rest);
	text_idle(t, f, folded);
	/* Printed only once: it concerns all devices, and the summary has the final figure. */
	if (!t->told_skipped)
		text_skipped(t, f, fs);
	t->told_skipped |= fs->skipped_unexplained > 0;
	if (!idle)
		put_axis(t, f);
	return err;
}

static void text_close(struct sink *s)
{
	struct text *t = (struct text *)s;

	worst_uninit(&t->worst);
	free(t->told);
	free(t);
}

/* Devices may have come and gone. */
static void take_watches(struct text *t, const struct frames *frames)
{
	const struct watch *w = t->run->watches;

	for (; t->n_watches < t->run->n_watches; t->n_watches++)
		t->stages = t->stages || w[t->n_watches].stage != w[0].stage;
	t->wholes = 0;
	for (u32 i = 0; i < frames->n; i++)
		t->wholes += !frames->f[i].watch->part;
	t->many = t->wholes > TEXT_IDLE_LINES || t->look->devices;
}

/* Prints one page: the header if it is the first, then the frames by @put, if there are any. */
static int put_page(struct text *t, const struct frames *frames,
		    int (*put)(struct text *t, FILE *f, const struct frames *frames))
{
	struct print_buffer buffer CLEANUP(print_buffer_close) = { 0 };
	int err = print_buffer_open(&buffer);

	if (err)
		return err;
	take_watches(t, frames);
	if (!t->headed)
		text_header(t, buffer.f);
	t->headed = true;
	if (frames->n)
		err = put(t, buffer.f, frames);
	return err ?: print_buffer_write(&buffer, t->look->out);
}

static int text_on_interval(struct sink *s, const struct frames *interval)
{
	struct text *t = (struct text *)s;

	t->idle_gap_ns = interval->idle_gap_ns;
	return put_page(t, interval, put_interval);
}

static int text_on_summary(struct sink *s, const struct frames *run)
{
	return put_page((struct text *)s, run, text_summary);
}

static const struct sink_ops sink_text = {
	.interval = text_on_interval,
	.summary = text_on_summary,
	.close = text_close,
};

int text_open(const struct run_info *run, const struct look *look, struct sink **ret)
{
	struct text *t = calloc(1, sizeof(*t));
	u32 most = run_most_watches(run);

	if (!t)
		return -ENOMEM;
	*t = (struct text){ .sink.ops = &sink_text, .run = run, .look = look };
	t->columns = look->columns > TEXT_COLUMNS_MIN ? look->columns : TEXT_COLUMNS_MIN;
	t->told = sparse_calloc(most + 1, sizeof(*t->told));
	if (!t->told || worst_init(&t->worst, most, look->devices)) {
		text_close(&t->sink);
		return -ENOMEM;
	}
	*ret = &t->sink;
	return 0;
}
