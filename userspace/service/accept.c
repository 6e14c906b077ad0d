// SPDX-License-Identifier: GPL-2.0-only
/* Finds what a client wants: the format by Accept, and gzip by Accept-Encoding (RFC 9110, sections 12.5.1 and 12.5.3). */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "service/prometheus.h"
#include "service/server_state.h"

const char *const prometheus_content_types[PROMETHEUS_FORMATS] = {
	[PROMETHEUS_PROTOBUF] = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
				"encoding=delimited",
	[PROMETHEUS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	[PROMETHEUS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
};

/* A piece of the header, not ended by a 0. */
struct word {
	const char *at;
	size_t len;
};

/* One element: a media range or a coding, and its parameters. */
struct range {
	struct word type;
	struct word version, proto, encoding;
	int weight;			/* in thousandths; negative: invalid */
};

static bool is(struct word w, const char *text)
{
	return w.len == strlen(text) && !strncasecmp(w.at, text, w.len);
}

static struct word trimmed(struct word w)
{
	while (w.len && isspace((unsigned char)w.at[0])) {
		w.at++;
		w.len--;
	}
	while (w.len && isspace((unsigned char)w.at[w.len - 1]))
		w.len--;
	return w;
}

/* Cuts the text before the next @separator off @rest. A separator inside of quotes does not count. */
static struct word cut(struct word *rest, char separator)
{
	struct word w = { rest->at, 0 };
	bool quoted = false;

	for (; w.len < rest->len; w.len++) {
		char c = w.at[w.len];

		if (quoted && c == '\\' && w.len + 1 < rest->len)
			w.len++;
		else if (c == '"')
			quoted = !quoted;
		else if (c == separator && !quoted)
			break;
	}
	rest->at += w.len;
	rest->len -= w.len;
	if (rest->len) {
		rest->at++;
		rest->len--;
	}
	return trimmed(w);
}

/* "1", "0.25": up to three digits behind the point. */
static int read_weight(struct word w)
{
	int weight = 0, unit = 100;

	if (!w.len || (w.at[0] != '0' && w.at[0] != '1'))
		return -1;
	weight = (w.at[0] - '0') * 1000;
	if (w.len == 1)
		return weight;
	if (w.at[1] != '.' || w.len > 5)
		return -1;
	for (size_t i = 2; i < w.len; i++, unit /= 10) {
		if (!isdigit((unsigned char)w.at[i]))
			return -1;
		weight += (w.at[i] - '0') * unit;
	}
	return weight > 1000 ? -1 : weight;
}

static void read_parameter(struct word parameter, struct range *r)
{
	struct word value = parameter, name = cut(&value, '=');

	value = trimmed(value);
	if (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"') {
		value.at++;
		value.len -= 2;
	}
	if (is(name, "q"))
		r->weight = read_weight(value);
	else if (is(name, "version"))
		r->version = value;
	else if (is(name, "proto"))
		r->proto = value;
	else if (is(name, "encoding"))
		r->encoding = value;
}

static struct range read_range(struct word element)
{
	struct range r = { .type = cut(&element, ';'), .weight = 1000 };

	while (element.len)
		read_parameter(cut(&element, ';'), &r);
	return r;
}

/* PROMETHEUS_FORMATS if it is not one of ours. */
static enum prometheus_format format_of(const struct range *r)
{
	if (is(r->type, "application/vnd.google.protobuf") && is(r->encoding, "delimited") &&
	    is(r->proto, "io.prometheus.client.MetricFamily"))
		return PROMETHEUS_PROTOBUF;
	if (is(r->type, "application/openmetrics-text") && (!r->version.len || is(r->version, "1.0.0")))
		return PROMETHEUS_OPENMETRICS;
	if (is(r->type, "text/plain") && (!r->version.len || is(r->version, "0.0.4")))
		return PROMETHEUS_TEXT;
	if (is(r->type, "*/*") || is(r->type, "text/*"))
		return PROMETHEUS_TEXT;
	return PROMETHEUS_FORMATS;
}

enum prometheus_format prometheus_negotiate(const char *accept)
{
	struct word rest = { accept, accept ? strlen(accept) : 0 };
	enum prometheus_format best = PROMETHEUS_TEXT;
	int weight = 0;

	while (rest.len) {
		struct range r = read_range(cut(&rest, ','));
		enum prometheus_format format = format_of(&r);

		if (format == PROMETHEUS_FORMATS || r.weight <= 0 || r.weight < weight)
			continue;
		/* Of equal weights, the format that holds more wins: the first in the enumeration. */
		if (r.weight > weight || format < best)
			best = format;
		weight = r.weight;
	}
	return best;
}

bool encoding_gzip_wanted(const char *accept)
{
	struct word rest = { accept, accept ? strlen(accept) : 0 };
	bool any = false;

	while (rest.len) {
		struct range r = read_range(cut(&rest, ','));

		if (is(r.type, "gzip") || is(r.type, "x-gzip"))
			return r.weight > 0;
		if (is(r.type, "*"))
			any = r.weight > 0;
	}
	return any;
}
