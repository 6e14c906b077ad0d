// SPDX-License-Identifier: GPL-2.0-only
/* blklat export: a recording as other programs take it. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/run_capture.h"
#include "live/formats.h"
#include "util/cleanup.h"

enum { EXPORT_CSV, EXPORT_HLOG };
static const char *const formats[] = { "csv", "hlog" };

struct export {
	struct capture_options o;
	u32 format;
};

#define INTO struct export

static const struct option_row option_list[] = {
	OPTION("format", 'f', "FORMAT", "csv (default): a long table of figures and bins; hlog: a log of HdrHistograms",
	  TO_NAME(format, formats)),
	{ 0 },
};

static int take_file(void *to, const char *value, struct problem *p)
{
	const char **file = to;

	if (*file)
		return problem_set(p, -EINVAL, "unexpected argument '%s': one recording at a time", value);
	*file = value;
	return 0;
}

static const char *const shared[] = { "percentiles", NULL };

static const struct options options = {
	.about = "Prints every interval of the recording FILE for other programs."
		 "\v"
		 "'blklat report' and 'blklat compare' print figures of the whole run.",
	.arguments = "FILE",
	.list = option_list,
	.shared = capture_option_list,
	.shared_at = offsetof(struct export, o),
	.only = shared,
	.argument = take_file,
	.argument_at = offsetof(struct export, o.replay),
};

static void export_uninit(struct export *e)
{
	capture_options_uninit(&e->o);
}

static int print(struct run_capture *r, u32 format)
{
	struct look look = terminal_look(stdout);
	struct sink *sink = NULL;
	struct problem p;
	enum loop_end end;

	if (format_open(format == EXPORT_HLOG ? FORMAT_HLOG : FORMAT_CSV, &r->info, &look, true, &sink))
		return command_no_memory(r->who);
	end = run_capture_loop(r, sink, &p);
	sink_close(sink);
	/* Devices that went away while it was recorded are no failure now. */
	return end == LOOP_GONE ? STATUS_DONE : run_capture_status(r, end, &p);
}

static int run(int argc, char **argv)
{
	CLEANUP(export_uninit) struct export e = { 0 };
	CLEANUP(run_capture_end) struct run_capture r = { 0 };
	struct problem p;
	int status;

	capture_options_init(&e.o);
	status = options_parse(&options, argc, argv, &e);
	if (status >= 0)
		return status;
	if (!e.o.replay) {
		problem_set(&p, 0, "no recording given: 'blklat record' makes one");
		return command_fail(argv[0], STATUS_USAGE, &p);
	}
	status = run_capture_begin(&r, &e.o, NULL, argv[0]);
	return status >= 0 ? status : print(&r, e.format);
}

const struct command command_export = {
	.name = "export",
	.about = "print a recording for other programs: CSV, HdrHistogram logs",
	.run = run,
};
