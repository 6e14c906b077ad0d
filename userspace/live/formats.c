// SPDX-License-Identifier: GPL-2.0-only
#include "live/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/stream.h"

struct json {
	struct sink sink;
	const struct run_info *run;
	FILE *out;
	bool bins;
};

static int json_interval(struct sink *s, const struct frames *interval)
{
	struct json *j = (struct json *)s;
	struct print_buffer buffer CLEANUP(print_buffer_close) = { 0 };
	int err = print_buffer_open(&buffer);

	err = err ?: json_lines_print(buffer.f, j->run, interval, j->bins);
	return err ?: print_buffer_write(&buffer, j->out);
}

static void json_close(struct sink *s)
{
	free(s);
}

static const struct sink_ops sink_json = {
	.interval = json_interval,
	.summary = sink_without_summary,
	.close = json_close,
};

static int json_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret)
{
	struct json *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = (struct json){ .sink.ops = &sink_json, .run = run, .out = out, .bins = bins };
	*ret = &j->sink;
	return 0;
}

const char *const format_names[FORMATS + 1] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",
};

int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret)
{
	switch (format) {
	case FORMAT_JSON:
		return json_open(run, look->out, bins, ret);
	case FORMAT_CSV:
		return csv_open(run, look->out, bins, ret);
	default:
		return text_open(run, look, ret);
	}
}
