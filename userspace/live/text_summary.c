// SPDX-License-Identifier: GPL-2.0-only
/* What the text sink prints about the whole run: the header before it, figures and accounts after it. */
#include <math.h>
#include <string.h>

#include "core/frame.h"
#include "core/shares.h"
#include "live/text.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "util/utf8.h"

#define CHART_ROWS 20		/* as many as the eye takes in at a glance */
#define CHART_SCALE_MAX 2	/* a row spans at least a quarter of an octave */
#define RANGE_COLUMNS 17	/* "43.2 us - 61.0 us" */
#define SHARE_COLUMNS 10	/* "100.0000 %" */
#define BAR_COLUMNS_MIN 8
#define DEVICES_SHOWN 32		/* in the header; more are only counted */
#define CHART_GAP 4		/* this many empty rows or more become one "..." */

static void put_device(const struct text *t, FILE *f, const struct device *d)
{
	char name[TEXT_NAME], facts[256], shown[3 * sizeof(facts)], size[UNITS_TEXT];

	snprintf(facts, sizeof(facts), "%s%s%s%s%s%s%s, %s%s%s%s",
		 d->mapper, *d->mapper ? ", " : "", d->kind, *d->kind ? ", " : "", d->model, *d->model ? ", " : "",
		 units_capacity(size, d->size_bytes), *d->scheduler ? "scheduler " : "no scheduler", d->scheduler,
		 *d->serial ? ", S/N " : "", d->serial);
	utf8_for_terminal(name, TEXT_NAME, d->name, t->columns - TEXT_GUTTER, t->look->utf8);
	utf8_for_terminal(shown, sizeof(shown), facts, sizeof(facts), t->look->utf8);
	text_say(t, f, name, PLAIN, "%s", shown);
}

/* Prints which stages are measured, for all watches together. */
static void put_stages(const struct text *t, FILE *f)
{
	char say[160] = "";

	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++) {
		bool used = false;

		for (u32 i = 0; i < t->run->n_watches; i++)
			used = used || t->run->watches[i].stage == stage;
		if (!used)
			continue;
		if (*say)
			strcat(say, ", ");
		strcat(say, stage_spans[stage]);
	}
	text_say(t, f, "stage", PLAIN, "%s", say);
}

/* Prints which parts there are, if watches are divided. */
static void put_by(const struct text *t, FILE *f)
{
	const struct part *part = t->run->n_watches > 1 ? t->run->watches[1].part : NULL;

	if (part)
		text_say(t, f, "by", PLAIN, "%s (%s)", part->by, part_meaning(part));
}

static void put_devices(const struct text *t, FILE *f)
{
	const struct run_info *run = t->run;
	char name[TEXT_NAME], count[UNITS_TEXT];
	u32 devices = 0;

	for (u32 i = 0; i < run->n_watches; i++)
		devices += !i || run->watches[i].device != run->watches[i - 1].device;
	if (devices > DEVICES_SHOWN) {
		utf8_for_terminal(name, TEXT_NAME, run->watches[0].device->name, t->columns / 3, t->look->utf8);
		text_say(t, f, "devices", PLAIN, "%s, from %s on ('blklat list' shows them)", units_count(count, devices),
			 name);
		return;
	}
	for (u32 i = 0; i < run->n_watches; i++)
		if (!i || run->watches[i].device != run->watches[i - 1].device)
			put_device(t, f, run->watches[i].device);
}

void text_header(const struct text *t, FILE *f)
{
	const struct run_info *run = t->run;
	char memory[UNITS_TEXT], engine[96], name[64];

	utf8_for_terminal(engine, sizeof(engine), run->engine, 31, t->look->utf8);
	snprintf(name, sizeof(name), "blklat %s", run->version);
	text_say(t, f, name, PLAIN, "engine %s, interval %.6g s, %u bin%s an octave (%.3g %%), %s", engine,
		 run->interval_s, 1u << run->scale, run->scale ? "s" : "",
		 100 * (exp2(1.0 / (1u << run->scale)) - 1), units_memory(memory, run->memory_bytes));
	put_devices(t, f);
	put_stages(t, f);
	put_by(t, f);
}

void text_losses(const struct text *t, FILE *f, const char *label, const u64 lost_by[LOST_REASONS])
{
	char say[640], count[UNITS_TEXT];
	u64 lost = 0;
	int n;

	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		lost += lost_by[reason];
	if (!lost)
		return;
	n = sprintf(say, "warning: %s IO%s lost:", units_count(count, lost), lost == 1 ? "" : "s");
	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		if (lost_by[reason])
			n += sprintf(say + n, " %s %s,", units_count(count, lost_by[reason]), lost_words[reason]);
	say[n - 1] = '\0';
	text_say(t, f, label, ALARM, "%s", say);
}

void text_skipped(const struct text *t, FILE *f, const struct frames *fs)
{
	bool missed = !frames_agree_with_kernel(fs);
	u64 runs = fs->skipped_unexplained;
	char count[UNITS_TEXT];

	if (!runs)
		return;
	/* It concerns no device in particular, so it has a label of its own. */
	text_say(t, f, "skipped", missed ? ALARM : PLAIN, "the kernel skipped %s program run%s; %s",
		 units_count(count, runs), runs == 1 ? "" : "s",
		 missed ? "IOs of any device may be missing" :
			  "nothing was missed at stage device: the kernel's statistics have as many IOs");
}

/* A histogram to draw, with a row for each cell. */
struct chart {
	struct hist hist;
	u32 first, last;
	u64 most, all;
	u32 count_columns, bar_columns;
};

static void chart_uninit(struct chart *c)
{
	hist_uninit(&c->hist);
}

/* The finest scale, up to quarters of an octave, at which there are few enough rows. */
static u32 chart_scale(const struct op_frame *o)
{
	u32 scale = o->hist.scale < CHART_SCALE_MAX ? o->hist.scale : CHART_SCALE_MAX;

	while (scale && blklat_cell(o->max_ns, scale) - blklat_cell(o->min_ns, scale) >= CHART_ROWS)
		scale--;
	return scale;
}

static int chart_init(struct chart *c, const struct text *t, const struct op_frame *o)
{
	char count[UNITS_TEXT];
	u32 fixed;
	int err = hist_init(&c->hist, chart_scale(o));

	if (err)
		return err;
	hist_add(&c->hist, &o->hist);
	hist_range(&c->hist, &c->first, &c->last);
	c->all = o->ios;
	for (u32 row = c->first; row <= c->last; row++)
		if (c->hist.cells[row] > c->most)
			c->most = c->hist.cells[row];
	c->count_columns = strlen(units_count(count, c->most));
	if (c->count_columns < strlen("IOs"))
		c->count_columns = strlen("IOs");
	fixed = RANGE_COLUMNS + 2 + c->count_columns + 2 * (1 + SHARE_COLUMNS);
	c->bar_columns = t->columns > fixed + BAR_COLUMNS_MIN ? t->columns - fixed : BAR_COLUMNS_MIN;
	return 0;
}

/* Cut, not rounded: 100 % means all. */
static void put_share(FILE *f, u64 n, u64 of)
{
	fprintf(f, " %*.4f %%", SHARE_COLUMNS - 2, floor((double)n / of * 1e6) / 1e4);
}

static void put_chart_row(const struct text *t, FILE *f, const struct chart *c, u32 row, u64 up_to)
{
	u64 n = c->hist.cells[row], upper_ns = hist_upper_ns(c->hist.scale, row);
	char lower[UNITS_TEXT], upper[UNITS_TEXT], count[UNITS_TEXT];

	units_ns(lower, hist_lower_ns(c->hist.scale, row));
	units_ns(upper, upper_ns);
	fprintf(f, "%7s - %7s ", lower, upper_ns == UINT64_MAX ? "more" : upper);
	text_paint(t, f, BAR);
	draw_bar(f, (double)n / c->most, c->bar_columns, t->look->utf8);
	text_paint(t, f, PLAIN);
	fprintf(f, " %*s", (int)c->count_columns, units_count(count, n));
	if (n) {
		put_share(f, n, c->all);
		put_share(f, up_to, c->all);
	}
	putc('\n', f);
}

static u32 empty_rows(const struct chart *c, u32 row)
{
	u32 n = 0;

	while (row + n <= c->last && !c->hist.cells[row + n])
		n++;
	return n;
}

static int put_chart(const struct text *t, FILE *f, const struct frame *fr, u32 op)
{
	struct chart c CLEANUP(chart_uninit) = { 0 };
	int err = chart_init(&c, t, &fr->ops[op]);
	char name[TEXT_NAME];
	u64 up_to = 0;

	if (err)
		return err;
	text_put(t, f, BOLD, "\n%s %s\n", text_name(t, name, fr->watch, t->columns / 2), op_names[op]);
	text_put(t, f, DIM, "%*s %*s %*s %*s %*s\n", RANGE_COLUMNS, "latency", (int)c.bar_columns, "",
		 (int)c.count_columns, "IOs", SHARE_COLUMNS, "share", SHARE_COLUMNS, "cumulative");
	for (u32 row = c.first; row <= c.last; row++) {
		u32 empty = empty_rows(&c, row);

		if (empty >= CHART_GAP) {
			text_put(t, f, DIM, "%*s\n", RANGE_COLUMNS, "...");
			row += empty - 1;
			continue;
		}
		up_to += c.hist.cells[row];
		put_chart_row(t, f, &c, row, up_to);
	}
	return 0;
}

/* "started 5 237 090 = completed 5 237 058 + in flight 32 + lost 0; the kernel counted 5 237 058" */
static void put_identity(const struct text *t, FILE *f, const char *name, const struct accounting *a)
{
	char started[UNITS_TEXT], completed[UNITS_TEXT], in_flight[UNITS_TEXT], lost[UNITS_TEXT];
	char kernel[UNITS_TEXT], say[320];
	bool exact = a->started == a->completed + a->in_flight + a->lost;
	int n;

	n = sprintf(say, "started %s %s completed %s + in flight %s + lost %s;",
		    units_count(started, a->started), exact ? "=" : "~",
		    units_count(completed, a->completed), units_count(in_flight, a->in_flight),
		    units_count(lost, a->lost));
	if (a->kernel_known)
		sprintf(say + n, " the kernel counted %s", units_count(kernel, a->kernel_ios));
	else
		sprintf(say + n, " the kernel has no count of these");
	/* This is one sentence; if it needs two lines, the kernel's part is the second. */
	if (text_indent(name) + strlen(say) > t->columns)
		say[n] = '\n';
	text_say(t, f, name, PLAIN, "%s", say);
}

static void put_count(const struct text *t, FILE *f, u64 n, const char *words)
{
	char count[UNITS_TEXT];

	if (n)
		text_say(t, f, "", PLAIN, "%s %s", units_count(count, n), words);
}

/*
 * On a quiet device both have counted the same IOs, except those in flight at the start (which the kernel counts) or
 * at the end.
 */
static void put_kernel_gap(const struct text *t, FILE *f, const struct accounting *a)
{
	s64 gap = accounting_kernel_gap(a);
	char count[UNITS_TEXT];

	if (gap)
		text_say(t, f, "", NOTE, "note: the kernel counted %s IO%s %s than blklat",
			 units_count(count, llabs(gap)), llabs(gap) == 1 ? "" : "s", gap > 0 ? "more" : "fewer");
}

static void put_accounting(const struct text *t, FILE *f, const struct frame *fr)
{
	const struct accounting *a = &fr->accounting;
	char name[TEXT_NAME];

	put_identity(t, f, text_name(t, name, fr->watch, t->columns / 3), a);
	if (a->moved && a->started != a->completed + a->in_flight + a->lost)
		put_count(t, f, a->moved, "at most completed while the counters were read");
	put_count(t, f, a->requeued, "requeued and started again");
	put_count(t, f, a->before, "ignored: in flight before the capture began");
	put_count(t, f, a->unissued, "ignored: failed before they reached the device");
	text_losses(t, f, "", a->lost_by);
	put_kernel_gap(t, f, a);
}

/* Below the row of all IOs: "50 after an idle gap of 100 ms or more: mean 102 us, median 98.1 us" */
static void put_after_idle(const struct text *t, FILE *f, const struct op_frame *o)
{
	char count[UNITS_TEXT], gap[UNITS_TEXT], mean[UNITS_TEXT], median[UNITS_TEXT];

	if (o->after_idle_ios)
		text_say(t, f, "", PLAIN, "%s after an idle gap of %s or more: mean %s, median %s",
			 units_count(count, o->after_idle_ios), units_ns(gap, t->idle_gap_ns),
			 units_ns(mean, after_idle_mean_ns(o)), units_ns(median, after_idle_quantile_ns(o, 0.5)));
}

static void put_shares(const struct text *t, FILE *f, const struct frames *run, u32 i, u32 op)
{
	char say[SHARES_TEXT];
	struct shares s;

	if (run->f[i].watch->stage == BLKLAT_STAGE_TOTAL && shares_of(run, i, op, &s))
		text_say(t, f, "", PLAIN, "%s", shares_text(say, &s, run->f[i].watch->device));
}

/* What no row includes: "2 097 152 bytes and 1 error of IOs that have not completed (write)" */
static void put_partial(const struct text *t, FILE *f, u32 op, const struct op_sums *sums)
{
	char say[160], bytes[UNITS_TEXT], errors[UNITS_TEXT];
	int n;

	if (!sums->bytes && !sums->errors)
		return;
	n = sprintf(say, "%s byte%s", units_count(bytes, sums->bytes), sums->bytes == 1 ? "" : "s");
	if (sums->errors)
		n += sprintf(say + n, " and %s error%s", units_count(errors, sums->errors),
			     sums->errors == 1 ? "" : "s");
	sprintf(say + n, " of IOs that have not completed (%s)", op_names[op]);
	text_say(t, f, "", PLAIN, "%s", say);
}

static void put_figures(const struct text *t, FILE *f, const struct frames *run, u32 i)
{
	const struct frame *fr = &run->f[i];
	char name[TEXT_NAME], state[128], depth[UNITS_TEXT];

	snprintf(state, sizeof(state), frame_has_ios(fr) ? "queue depth %s" : "no IO completed",
		 units_number(depth, fr->queue_depth));
	if (fr->busy_known && frame_has_ios(fr))
		sprintf(state + strlen(state), ", busy %s", UNITS(share, fr->busy));
	if (fr->gone)
		strcat(state, "; the device went away");
	text_say(t, f, text_name(t, name, fr->watch, t->columns / 3), fr->gone ? ALARM : PLAIN, "%s", state);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (fr->ops[op].ios) {
			text_row(t, f, op_names[op], &fr->ops[op]);
			put_after_idle(t, f, &fr->ops[op]);
			put_shares(t, f, run, i, op);
			text_part_rows(t, f, run, i, op);
		}
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put_partial(t, f, op, &fr->ops[op].partial);
}

/* Did nothing happen in the whole run, by our count and the kernel's? */
static bool nothing_happened(const struct text *t, const struct frame *fr)
{
	const struct accounting *a = &fr->accounting;

	return t->many && !frame_is_busy(fr) && !fr->gone &&
	       !a->started && !a->completed && !a->lost && !a->before && !a->unissued && !a->kernel_ios;
}

int text_summary(struct text *t, FILE *f, const struct frames *run)
{
	char length[UNITS_TEXT];
	u32 folded = 0;
	int err = 0;

	if (t->many)
		worst_find(&t->worst, run, t->run->watches);
	text_put(t, f, BOLD, "\nsummary of %s\n", units_ns(length, run->interval_s * 1e9));
	text_heads(t, f, "");
	for (u32 i = 0; i < run->n; i += 1 + frames_parts(run, i)) {
		if (nothing_happened(t, &run->f[i]))
			folded++;
		else if (!text_left_out(t, &run->f[i]))
			put_figures(t, f, run, i);
	}
	text_rest(t, f, run);
	text_idle(t, f, folded);
	if (run->forgotten)
		text_say(t, f, "", NOTE, "not shown: %u more that went away earlier", run->forgotten);
	for (u32 i = 0; i < run->n; i += 1 + frames_parts(run, i))
		for (u32 op = 0; !err && op < BLKLAT_OPS; op++)
			if (run->f[i].ops[op].ios && !text_left_out(t, &run->f[i]))
				err = put_chart(t, f, &run->f[i], op);
	putc('\n', f);
	for (u32 i = 0; i < run->n; i += 1 + frames_parts(run, i))
		/* Watches may be left out, but never those with losses. */
		if (!nothing_happened(t, &run->f[i]) && (!text_left_out(t, &run->f[i]) || run->f[i].accounting.lost))
			put_accounting(t, f, &run->f[i]);
	text_skipped(t, f, run);
	return err;
}
