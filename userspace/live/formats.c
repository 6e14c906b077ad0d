// SPDX-License-Identifier: GPL-2.0-only
#include "live/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/stream.h"

/* A sink of lines for programs. */
struct lines {
	struct sink sink;
	const struct run_info *run;
	FILE *out;
	enum format format;	/* any but text */
	bool bins;
	bool begun;		/* an interval was printed */
};

static int lines_interval(struct sink *s, const struct frames *interval)
{
	struct lines *l = (struct lines *)s;
	struct print_buffer buffer CLEANUP(print_buffer_close) = { 0 };
	int err = print_buffer_open(&buffer);

	if (!err && l->format == FORMAT_CSV)
		csv_print(buffer.f, l->run, interval, l->bins, !l->begun);
	else if (!err && l->format == FORMAT_HLOG)
		err = hlog_print(buffer.f, interval, !l->begun);
	else if (!err)
		err = json_lines_print(buffer.f, l->run, interval, l->bins);
	err = err ?: print_buffer_write(&buffer, l->out);
	/* A log begins with its first interval of a device. */
	l->begun |= !err && (interval->n || l->format != FORMAT_HLOG);
	return err;
}

static int lines_summary(struct sink *s, const struct frames *run)
{
	(void)s, (void)run;
	return 0;
}

static void lines_close(struct sink *s)
{
	free(s);
}

static const struct sink_ops sink_lines = { lines_interval, lines_summary, lines_close };

static int lines_open(const struct run_info *run, FILE *out, enum format format, bool bins, struct sink **ret)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct lines){ .sink.ops = &sink_lines, .run = run, .out = out, .format = format, .bins = bins };
	*ret = &l->sink;
	return 0;
}

const char *const format_names[FORMATS + 1] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",
};

int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret)
{
	if (format == FORMAT_TEXT)
		return text_open(run, look, ret);
	return lines_open(run, look->out, format, bins, ret);
}
