// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text formats. OpenMetrics differs in the suffixes of families' names, units, exemplars, times of creation, and
 * the end. Numbers and bounds are written alike, so the series of a bucket has the same name in both. For
 * VictoriaMetrics a histogram has the native buckets instead, those with IOs: not cumulative, with both bounds in a
 * label vmrange.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/prometheus_families.h"
#include "util/cleanup.h"
#include "util/utf8.h"

#define NUMBER_TEXT 32
/* Each byte of a value may become U+FFFD, or be escaped. */
#define VALUE_TEXT (3 * 256)
#define LABELS_TEXT (LABELS_MAX * (VALUE_TEXT + 32))

struct text_encoder {
	struct encoder encoder;
	bool openmetrics, vmrange;
	u32 schema;			/* with vmrange */
	char labels[LABELS_TEXT];	/* of the current series */
	char le[CLASSIC_MAX][NUMBER_TEXT];	/* the bounds as texts */
	u32 n_le;
};

/* The shortest text that reads back as @value. */
static const char *number(char text[NUMBER_TEXT], double value)
{
	if (isinf(value) || isnan(value))
		return strcpy(text, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return text;
}

/* OpenMetrics wants bounds to look like fractions; the same text is used in both formats. */
static const char *bound(char text[NUMBER_TEXT], u64 upper_ns)
{
	number(text, upper_ns == UINT64_MAX ? INFINITY : upper_ns / (double)NSEC_PER_SEC);
	if (!strpbrk(text, ".eI"))
		strcat(text, ".0");
	return text;
}

static char *put_escaped(char *to, const char *value)
{
	char clean[VALUE_TEXT + 1];

	utf8_clean(clean, sizeof(clean), value);
	for (const char *c = clean; *c; c++) {
		if (*c == '\\' || *c == '"' || *c == '\n')
			*to++ = '\\';
		*to++ = *c == '\n' ? 'n' : *c;
	}
	return to;
}

/* name="value",... */
static void make_labels(char to[LABELS_TEXT], const struct labels *l)
{
	for (u32 i = 0; i < l->n; i++) {
		if (i)
			*to++ = ',';
		to = stpcpy(stpcpy(to, l->l[i].name), "=\"");
		to = put_escaped(to, l->l[i].value);
		*to++ = '"';
	}
	*to = '\0';
}

/* Writes the name and labels of a sample, and the blank before its value. */
static void put_key(struct text_encoder *t, const struct family *f, const char *suffix, const char *label,
		    const char *value)
{
	FILE *out = t->encoder.out;

	fputs_unlocked(f->name, out);
	fputs_unlocked(suffix, out);
	if (t->labels[0] || label) {
		putc_unlocked('{', out);
		fputs_unlocked(t->labels, out);
		if (label) {
			putc_unlocked(',', out);
			fputs_unlocked(label, out);
			fputs_unlocked("=\"", out);
			fputs_unlocked(value, out);
			putc_unlocked('"', out);
		}
		putc_unlocked('}', out);
	}
	putc_unlocked(' ', out);
}

static void put_count(FILE *out, u64 n)
{
	char text[24], *c = text + sizeof(text);

	*--c = '\0';
	do
		*--c = '0' + n % 10;
	while (n /= 10);
	fputs_unlocked(c, out);
}

static void put_number(FILE *out, double value)
{
	char text[NUMBER_TEXT];

	fputs_unlocked(number(text, value), out);
	putc_unlocked('\n', out);
}

/* Writes the slowest IO in a bucket behind its count, as an exemplar. */
static void put_exemplar(struct text_encoder *t, const struct op_total *o, u64 above_ns, u64 upto_ns)
{
	const struct exemplar *e = t->openmetrics ? exemplar_in(o, above_ns, upto_ns) : NULL;
	char labels[LABELS_TEXT], text[NUMBER_TEXT];
	struct exemplar_room room;
	struct labels l;

	if (e) {
		l = exemplar_labels(e, &room);
		make_labels(labels, &l);
		fprintf(t->encoder.out, " # {%s} %s %lld.%03lld", labels, number(text, seconds_of(e->latency_ns)),
			e->end_ns / (s64)NSEC_PER_SEC, e->end_ns % (s64)NSEC_PER_SEC / 1000000);
	}
	putc_unlocked('\n', t->encoder.out);
}

static void text_family(struct encoder *e, const struct family *f)
{
	struct text_encoder *t = (struct text_encoder *)e;
	static const char *const types[] = {
		[FAMILY_COUNTER] = "counter", [FAMILY_GAUGE] = "gauge", [FAMILY_INFO] = "info",
		[FAMILY_HISTOGRAM] = "histogram",
	};
	const char *suffix = t->openmetrics ? "" : family_suffix(f);
	const char *type = f->type == FAMILY_INFO && !t->openmetrics ? "gauge" : types[f->type];

	fprintf(e->out, "# HELP %s%s %s\n", f->name, suffix, f->help);
	fprintf(e->out, "# TYPE %s%s %s\n", f->name, suffix, type);
	if (f->unit && t->openmetrics)
		fprintf(e->out, "# UNIT %s %s\n", f->name, f->unit);
}

static void text_value(struct encoder *e, const struct family *f, const struct labels *l, double value, s64 since_ns)
{
	struct text_encoder *t = (struct text_encoder *)e;

	(void)since_ns;
	make_labels(t->labels, l);
	put_key(t, f, family_suffix(f), NULL, NULL);
	put_number(e->out, value);
}

static u64 put_vmranges(struct text_encoder *t, const struct family *f, const struct op_total *o)
{
	struct hist merged CLEANUP(hist_uninit) = { 0 };
	char range[2 * NUMBER_TEXT + 4], lower[NUMBER_TEXT], upper[NUMBER_TEXT];
	u64 ios = 0;

	t->encoder.err = t->encoder.err ?: hist_coarser(&merged, &o->hist, t->schema);
	if (t->encoder.err)
		return 0;
	hist_for_each(cell, &merged) {
		number(lower, seconds_of(hist_lower_ns(merged.scale, cell)));
		bound(upper, hist_upper_ns(merged.scale, cell));
		snprintf(range, sizeof(range), "%s...%s", lower, upper);
		put_key(t, f, "_bucket", "vmrange", range);
		put_count(t->encoder.out, merged.cells[cell]);
		putc_unlocked('\n', t->encoder.out);
		ios += merged.cells[cell];
	}
	return ios;
}

static u64 put_classic(struct text_encoder *t, const struct family *f, const struct op_total *o)
{
	struct classic c;

	t->encoder.err = t->encoder.err ?: classic_make(&c, &o->hist);
	if (t->encoder.err)
		return 0;
	/* After a change of resolution, series have other bounds until their next interval. */
	if (t->n_le != c.n)
		for (t->n_le = 0; t->n_le < c.n; t->n_le++)
			bound(t->le[t->n_le], c.b[t->n_le].upper_ns);
	for (u32 i = 0; i < c.n; i++) {
		put_key(t, f, "_bucket", "le", t->le[i]);
		put_count(t->encoder.out, c.b[i].ios);
		put_exemplar(t, o, i ? c.b[i - 1].upper_ns : 0, c.b[i].upper_ns);
	}
	return c.b[c.n - 1].ios;
}

static void text_histogram(struct encoder *e, const struct family *f, const struct labels *l, const struct op_total *o)
{
	struct text_encoder *t = (struct text_encoder *)e;
	u64 ios;

	make_labels(t->labels, l);
	ios = t->vmrange ? put_vmranges(t, f, o) : put_classic(t, f, o);
	put_key(t, f, "_sum", NULL, NULL);
	put_number(e->out, seconds_of(o->sum_ns));
	put_key(t, f, "_count", NULL, NULL);
	put_count(e->out, ios);
	putc_unlocked('\n', e->out);
	if (!t->openmetrics)
		return;
	put_key(t, f, "_created", NULL, NULL);
	put_number(e->out, o->created_ns / (double)NSEC_PER_SEC);
}

static void text_end(struct encoder *e)
{
	if (((struct text_encoder *)e)->openmetrics)
		fputs("# EOF\n", e->out);
}

static const struct encoder_ops text_ops = {
	.family = text_family,
	.value = text_value,
	.histogram = text_histogram,
	.end = text_end,
};

int exposition_text(const struct totals *t, enum prometheus_format format, u32 schema, FILE *out)
{
	struct text_encoder *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->encoder = (struct encoder){ .ops = &text_ops, .out = out };
	e->openmetrics = format == PROMETHEUS_OPENMETRICS;
	e->vmrange = format == PROMETHEUS_VMRANGE;
	e->schema = schema;
	err = expose(t, &e->encoder);
	free(e);
	return err;
}

/* --- classic buckets, which protobuf has, too --- */

/* From 2^-20 s = 954 ns to 2^5 s = 32 s, which is longer than drivers wait before they give up. */
#define CLASSIC_FIRST_LOG2 (-20)
#define CLASSIC_LAST_LOG2 5

int hist_coarser(struct hist *ret, const struct hist *h, u32 scale)
{
	int err = hist_init(ret, scale < h->scale ? scale : h->scale);

	if (!err)
		hist_add(ret, h);
	return err;
}

int classic_make(struct classic *c, const struct hist *h)
{
	struct hist merged CLEANUP(hist_uninit) = { 0 };
	int err = hist_coarser(&merged, h, PROMETHEUS_CLASSIC_SCHEMA);
	u32 first, last;
	u64 ios = 0;

	if (err)
		return err;
	first = (CLASSIC_FIRST_LOG2 - HIST_FIRST_LOG2) << merged.scale;
	last = (CLASSIC_LAST_LOG2 - HIST_FIRST_LOG2) << merged.scale;
	c->n = 0;
	for (u32 cell = 0; cell < BLKLAT_CELLS(merged.scale); cell++) {
		ios += merged.cells[cell];
		if (cell >= first && cell <= last)
			c->b[c->n++] = (struct classic_bucket){ hist_upper_ns(merged.scale, cell), ios };
	}
	c->b[c->n++] = (struct classic_bucket){ UINT64_MAX, ios };
	return 0;
}
