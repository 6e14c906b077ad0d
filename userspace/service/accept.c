// SPDX-License-Identifier: GPL-2.0-only
/* What a client wants: the format by Accept, and gzip by Accept-Encoding (RFC 9110, 12.5.1 and 12.5.3). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "service/prometheus.h"
#include "service/server_state.h"
#include "util/cleanup.h"

#define GZIP_LEVEL 1		/* this kind of text shrinks to a tenth; 6 takes 3 times as long for a fifth less */
#define GZIP_WRAPPER 16		/* added to the window bits, see zlib.h */

const char *const prometheus_content_types[PROMETHEUS_FORMATS] = {
	[PROMETHEUS_PROTOBUF] = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
				"encoding=delimited",
	[PROMETHEUS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	[PROMETHEUS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
	[PROMETHEUS_VMRANGE] = "text/plain; version=0.0.4; charset=utf-8",
};

/* One element: a media range or a coding, and its parameters; "": not given. */
struct range {
	const char *type, *version, *proto, *encoding;
	int weight;			/* in thousandths; negative: invalid */
};

static bool is(const char *a, const char *b)
{
	return !strcasecmp(a, b);
}

/* Cuts off the text before the next @separator outside of quotes. *@rest becomes what is behind it, or NULL. */
static char *cut(char **rest, char separator)
{
	char *end = *rest + strspn(*rest, " \t"), *word = end;
	bool quoted = false;

	for (; *end && (quoted || *end != separator); end++) {
		if (quoted && *end == '\\' && end[1])
			end++;
		else if (*end == '"')
			quoted = !quoted;
	}
	*rest = *end ? end + 1 : NULL;
	while (end > word && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return word;
}

/* "1", "0.25": up to three digits behind the point. */
static int read_weight(const char *text)
{
	size_t len = strlen(text);
	bool valid = len >= 1 && len <= 5 && strchr("01", text[0]) && (len == 1 || text[1] == '.') &&
		     (len < 3 || !text[2 + strspn(text + 2, "0123456789")]);
	int weight = valid ? strtod(text, NULL) * 1000 + 0.5 : -1;

	return weight > 1000 ? -1 : weight;
}

static void read_parameter(char *value, struct range *r)
{
	const char *name = cut(&value, '=');
	size_t len;

	value = value ? cut(&value, '\0') : "";
	len = strlen(value);
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value[len - 1] = '\0';
		value++;
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

/* Reads the next element of *@rest. Returns false at the end. */
static bool next_range(char **rest, struct range *ret)
{
	char *element = *rest ? cut(rest, ',') : NULL;

	if (!element)
		return false;
	*ret = (struct range){ .type = cut(&element, ';'), .version = "", .proto = "", .encoding = "", .weight = 1000 };
	while (element)
		read_parameter(cut(&element, ';'), ret);
	return true;
}

/* PROMETHEUS_FORMATS if it is not one of ours. */
static enum prometheus_format format_of(const struct range *r)
{
	if (is(r->type, "application/vnd.google.protobuf") && is(r->encoding, "delimited") &&
	    is(r->proto, "io.prometheus.client.MetricFamily"))
		return PROMETHEUS_PROTOBUF;
	if (is(r->type, "application/openmetrics-text") && (!r->version[0] || is(r->version, "1.0.0")))
		return PROMETHEUS_OPENMETRICS;
	if (is(r->type, "text/plain") && (!r->version[0] || is(r->version, "0.0.4")))
		return PROMETHEUS_TEXT;
	return is(r->type, "*/*") || is(r->type, "text/*") ? PROMETHEUS_TEXT : PROMETHEUS_FORMATS;
}

enum prometheus_format prometheus_negotiate(const char *accept)
{
	char *copy CLEANUP(cleanup_free) = strdup(accept ?: ""), *rest = copy;
	enum prometheus_format best = PROMETHEUS_TEXT;
	struct range r;
	int weight = 0;

	while (next_range(&rest, &r)) {
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
	char *copy CLEANUP(cleanup_free) = strdup(accept ?: ""), *rest = copy;
	struct range r;
	bool any = false;

	while (next_range(&rest, &r)) {
		if (is(r.type, "gzip") || is(r.type, "x-gzip"))
			return r.weight > 0;
		if (is(r.type, "*"))
			any = r.weight > 0;
	}
	return any;
}

struct blob *encoding_gzip(const struct blob *b)
{
	z_stream z = { 0 };
	char *data = NULL;
	uLong bound;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	bound = deflateBound(&z, b->len);
	data = malloc(bound);
	if (!data) {
		deflateEnd(&z);
		return NULL;
	}
	z.next_in = (Bytef *)b->data;
	z.avail_in = b->len;
	z.next_out = (Bytef *)data;
	z.avail_out = bound;
	deflate(&z, Z_FINISH);	/* with this bound one call is enough */
	deflateEnd(&z);
	return blob_take(data, z.total_out);
}
