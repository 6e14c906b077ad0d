// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "core/json_lines.h"
#include "live/formats.h"
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

int json_open(const struct run_info *run, FILE *out, bool bins, struct sink **ret)
{
	struct json *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = (struct json){ .sink.ops = &sink_json, .run = run, .out = out, .bins = bins };
	*ret = &j->sink;
	return 0;
}
