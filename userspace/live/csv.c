// SPDX-License-Identifier: GPL-2.0-only
/*
 * CSV (RFC 4180, but lines end in a plain newline), as blklat-live(8) describes it. An idle interval has a row too,
 * so that a stall shows. Rows of bins have no figures, and the others no bins, so each column can be summed as it is.
 */
#include <math.h>
#include <string.h>

#include "live/formats.h"
#include "util/units.h"
#include "util/utf8.h"

struct csv {
	const struct run_info *run;
	bool bins;
	bool parts;		/* there are parts, which have a column */
};

/* Writes a field and the comma before it; quoted if necessary. */
static void put_text(FILE *f, const char *text)
{
	char clean[3 * DEVICE_NAME_MAX + 1];

	utf8_clean(clean, sizeof(clean), text);
	putc(',', f);
	if (!clean[strcspn(clean, ",\"\r\n")]) {
		fputs(clean, f);
		return;
	}
	putc('"', f);
	for (const char *c = clean; *c; c++) {
		if (*c == '"')
			putc('"', f);
		putc(*c, f);
	}
	putc('"', f);
}

static void put_decimal(FILE *f, double value, int digits)
{
	putc(',', f);
	if (isfinite(value))
		fprintf(f, "%.*f", digits, value);
}

static void put_empty(FILE *f, u32 n)
{
	while (n--)
		putc(',', f);
}

static void put_header(const struct csv *c, FILE *f)
{
	const struct percentiles *ps = &c->run->percentiles;

	fprintf(f, "time,interval_s,device,stage,engine,op,%sios,bytes,errors,iops,bytes_per_s,mean_ns,min_ns,max_ns",
		c->parts ? "part," : "");
	for (u32 i = 0; i < ps->n; i++)
		fprintf(f, ",%s_ns", ps->p[i].name);
	fputs(",in_flight,oldest_ns,queue_depth,started,completed,lost,requeued,kernel_ios,partial_bytes,"
	      "partial_errors,skipped_unexplained,busy", f);
	fputs(c->bins ? ",bin_lower_ns,bin_upper_ns,bin_ios\n" : "\n", f);
}

/* Writes the columns that identify a row. */
static void put_key(const struct csv *c, FILE *f, const struct frame *fr, const char *op)
{
	char time[UNITS_TEXT];

	fputs(units_utc(time, fr->end_ns), f);
	put_decimal(f, fr->interval_s, 6);
	put_text(f, fr->watch->device->name);
	put_text(f, stage_names[fr->watch->stage]);
	put_text(f, c->run->engine);
	put_text(f, op);
	if (c->parts)
		put_text(f, fr->watch->part ? fr->watch->part->label : "");
}

static void put_op(const struct csv *c, FILE *f, const struct op_frame *o)
{
	u32 n = c->run->percentiles.n;

	fprintf(f, ",%llu,%llu,%llu", o->ios, o->bytes, o->errors);
	put_decimal(f, o->iops, 1);
	put_decimal(f, o->bytes_per_s, 1);
	put_decimal(f, o->mean_ns, 1);
	fprintf(f, ",%llu,%llu", o->min_ns, o->max_ns);
	for (u32 i = 0; i < n; i++)
		put_decimal(f, o->percentile_ns[i], 1);
}

static void put_idle(const struct csv *c, FILE *f)
{
	fputs(",0,0,0,0.0,0.0", f);
	put_empty(f, 3 + c->run->percentiles.n);
}

/* Parts have no accounting of their own. */
static void put_accounting(FILE *f, const struct frame *fr)
{
	const struct accounting *a = &fr->accounting;

	if (fr->watch->part) {
		put_empty(f, 5);
		return;
	}
	fprintf(f, ",%llu,%llu,%llu,%llu,", a->started, a->completed, a->lost, a->requeued);
	if (a->kernel_known)
		fprintf(f, "%llu", a->kernel_ios);
}

static void put_watch(const struct csv *c, FILE *f, const struct frame *fr)
{
	u64 bytes = 0, errors = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		bytes += fr->ops[op].partial.bytes;
		errors += fr->ops[op].partial.errors;
	}
	fprintf(f, ",%llu,%llu", fr->in_flight, fr->oldest_ns);
	put_decimal(f, fr->queue_depth, 3);
	put_accounting(f, fr);
	fprintf(f, ",%llu,%llu,", bytes, errors);
	if (!fr->watch->part)
		fprintf(f, "%llu", fr->accounting.skipped_unexplained);
	put_decimal(f, fr->busy_known ? fr->busy : NAN, 6);
	put_empty(f, c->bins ? 3 : 0);
	putc('\n', f);
}

static void put_bins(const struct csv *c, FILE *f, const struct frame *fr, u32 op)
{
	const struct hist *h = &fr->ops[op].hist;

	hist_for_each(cell, h) {
		u64 upper_ns = hist_upper_ns(h->scale, cell);

		put_key(c, f, fr, op_names[op]);
		put_empty(f, 20 + c->run->percentiles.n);
		fprintf(f, ",%llu,", hist_lower_ns(h->scale, cell));
		if (upper_ns != UINT64_MAX)
			fprintf(f, "%llu", upper_ns);
		fprintf(f, ",%llu\n", h->cells[cell]);
	}
}

static void put_frame(const struct csv *c, FILE *f, const struct frame *fr)
{
	bool idle = true;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		if (!fr->ops[op].ios)
			continue;
		idle = false;
		put_key(c, f, fr, op_names[op]);
		put_op(c, f, &fr->ops[op]);
		put_watch(c, f, fr);
		if (c->bins)
			put_bins(c, f, fr, op);
	}
	if (idle && !fr->watch->part) {
		put_key(c, f, fr, "-");
		put_idle(c, f);
		put_watch(c, f, fr);
	}
}

void csv_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins, bool header)
{
	struct csv c = { .run = run, .bins = bins };

	for (u32 i = 0; i < run->n_watches; i++)
		c.parts |= run->watches[i].part != NULL;
	if (header)
		put_header(&c, to);
	for (u32 i = 0; i < interval->n; i++)
		put_frame(&c, to, &interval->f[i]);
}
