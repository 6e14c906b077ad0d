// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "report/condition.h"
#include "util/parse.h"

static const struct { const char *name; enum condition_metric metric; } metrics[] = {
	{ "iops", METRIC_IOPS }, { "mbps", METRIC_MBPS }, { "mb/s", METRIC_MBPS }, { "mean", METRIC_MEAN },
	{ "min", METRIC_MIN }, { "max", METRIC_MAX }, { "errors", METRIC_ERRORS }, { "lost", METRIC_LOST },
	{ "ks", METRIC_KS },
};

struct parsing {
	struct condition c;
	const char *text;	/* whole */
	const char *at;		/* what is read next */
	struct problem *p;
};

static void skip_blanks(struct parsing *g)
{
	g->at += strspn(g->at, " \t");
}

/* Says what was expected at g->at, and what was found instead. */
static int expected(const struct parsing *g, const char *what)
{
	if (!*g->at)
		return problem_set(g->p, -EINVAL, "%s '%s': at its end %s is missing", g->c.option, g->text, what);
	return problem_set(g->p, -EINVAL, "%s '%s': at '%s', letter %d, must be %s", g->c.option, g->text, g->at,
			   (int)(g->at - g->text) + 1, what);
}

/* Takes a word, up to one of @ends, a blank or a comparison. Returns its length; 0: it does not fit in @word. */
static size_t take_word(const struct parsing *g, const char *ends, char word[32])
{
	size_t len = strcspn(g->at, ends);

	if (len >= 32)
		return 0;
	memcpy(word, g->at, len);
	word[len] = '\0';
	return len;
}

/* A mark's text may contain colons, the rest of a condition has none: so the last colon ends the name. */
static int parse_phase(struct parsing *g)
{
	const char *colon = strrchr(g->at, ':');
	size_t len = colon ? colon - g->at : 0;

	if (!colon)
		return 0;
	while (len && strchr(" \t", g->at[len - 1]))
		len--;
	if (!len)
		return expected(g, "the name of a phase before the colon");
	memcpy(g->c.phase, g->at, len);
	g->at = colon + 1;
	skip_blanks(g);
	return 0;
}

static int parse_op(struct parsing *g)
{
	char word[32];
	size_t len = take_word(g, ". \t<>", word);

	g->c.op = BLKLAT_OPS;
	for (int op = 0; op < BLKLAT_OPS; op++)
		if (!strcmp(word, op_names[op]))
			g->c.op = op;
	if (!strcmp(word, "total"))
		g->c.op = -1;
	if (!len || g->c.op == BLKLAT_OPS)
		return expected(g, "read, write, flush, discard, other or total");
	g->at += len;
	if (*g->at != '.')
		return expected(g, "a dot and a metric, as in read.p99");
	g->at++;
	return 0;
}

static int parse_metric(struct parsing *g)
{
	struct percentiles ps;
	const char *bad;
	char word[32];
	size_t len = take_word(g, " \t<>=", word);
	int bad_len;
	u32 i = 0;

	while (i < ARRAY_SIZE(metrics) && strcasecmp(word, metrics[i].name))
		i++;
	if (len && i < ARRAY_SIZE(metrics)) {
		g->c.metric = metrics[i].metric;
	} else if (len && word[0] == 'p' && !percentiles_parse(word, &ps, &bad, &bad_len) && ps.n == 1) {
		g->c.metric = METRIC_PERCENTILE;
		g->c.percentile = ps.p[0];
	} else {
		return expected(g, "iops, mbps, mean, min, max, errors, lost, ks or a percentile such as p99.9");
	}
	if (g->c.metric == METRIC_LOST && g->c.op != -1)
		return problem_set(g->p, -EINVAL, "%s '%s': losses are counted for a device, not for an op; "
				   "write total.lost", g->c.option, g->text);
	if (g->c.metric == METRIC_LOST && g->c.phase[0])
		return problem_set(g->p, -EINVAL, "%s '%s': losses are counted for a whole run, not for a "
				   "phase; write total.lost", g->c.option, g->text);
	g->at += len;
	return 0;
}

static int parse_comparison(struct parsing *g)
{
	skip_blanks(g);
	if (*g->at != '<' && *g->at != '>')
		return expected(g, "<, <=, > or >=");
	g->c.comparison = *g->at == '<' ? BELOW : ABOVE;
	g->at++;
	if (*g->at == '=') {
		g->c.comparison = g->c.comparison == BELOW ? AT_MOST : AT_LEAST;
		g->at++;
	}
	skip_blanks(g);
	return 0;
}

static bool is_latency(enum condition_metric m)
{
	return m == METRIC_MEAN || m == METRIC_MIN || m == METRIC_MAX || m == METRIC_PERCENTILE;
}

/* The factor of the unit at the end of the text; 0: unknown unit. */
static double unit_of(const struct parsing *g, const char *unit)
{
	static const struct { const char *name; double factor; bool latency; } units[] = {
		{ "ns", 1, true }, { "us", 1e3, true }, { "ms", 1e6, true }, { "s", 1e9, true },
		{ "", 1, false }, { "k", 1e3, false }, { "K", 1e3, false }, { "M", 1e6, false },
		{ "G", 1e9, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].latency == is_latency(g->c.metric) && !strcmp(unit, units[i].name))
			return units[i].factor;
	return 0;
}

static int value_expected(const struct parsing *g)
{
	if (is_latency(g->c.metric))
		return expected(g, "a latency such as 20ms, 300us or 1.5s, or a change such as +10%");
	if (g->c.metric == METRIC_KS)
		return expected(g, "a distance from 0 to 1, such as 0.1");
	return expected(g, "a number such as 50000 or 50k, or a change such as -5%");
}

/* Whether @text, which follows a change, is " beyond noise". */
static bool is_beyond_noise(const char *text)
{
	size_t blanks = strspn(text, " \t");

	if (!blanks || strncmp(text + blanks, "beyond", 6))
		return false;
	text += blanks + 6;
	blanks = strspn(text, " \t");
	return blanks && !strcmp(text + blanks, "noise");
}

static int parse_value(struct parsing *g)
{
	bool sign = *g->at == '+' || *g->at == '-', minus = *g->at == '-';
	double number;
	const char *end = parse_decimal(g->at + sign, &number);

	if (!end)
		return value_expected(g);
	g->c.relative = !strcmp(end, "%");
	g->c.beyond_noise = *end == '%' && is_beyond_noise(end + 1);
	g->c.relative |= g->c.beyond_noise;
	if (g->c.relative && !sign)
		return expected(g, "a change with its sign, such as +10% or -5%");
	if (g->c.relative != sign || (sign && g->c.metric == METRIC_KS))
		return value_expected(g);
	if (g->c.beyond_noise && (g->c.metric == METRIC_ERRORS || g->c.metric == METRIC_LOST))
		return problem_set(g->p, -EINVAL, "%s '%s': 'beyond noise' is for rates and latencies; a count "
				   "of %s can be 0, which has no ratio", g->c.option, g->text, g->c.metric == METRIC_LOST ? "losses" : "errors");
	if (g->c.relative) {
		g->c.limit = minus ? -number : number;
		return 0;
	}
	if (!unit_of(g, end) || (g->c.metric == METRIC_KS && (*end || number > 1)))
		return value_expected(g);
	g->c.limit = number * unit_of(g, end);
	return 0;
}

int condition_parse(const char *option, const char *text, struct condition *ret, struct problem *p)
{
	struct parsing g = { .c.option = option, .p = p };
	size_t len;
	int err;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t", text[len - 1]))
		len--;
	if (len >= sizeof(g.c.text))
		return problem_set(p, -EINVAL, "%s '%.40s...': a condition has at most %zu characters", option, text,
				   sizeof(g.c.text) - 1);
	memcpy(g.c.text, text, len);
	g.text = g.at = g.c.text;
	err = parse_phase(&g) ?: parse_op(&g) ?: parse_metric(&g) ?: parse_comparison(&g) ?: parse_value(&g);
	if (!err)
		*ret = g.c;
	return err;
}
