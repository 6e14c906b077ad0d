// SPDX-License-Identifier: GPL-2.0-only
/* blklat live: watches devices and prints each interval. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/run_capture.h"
#include "live/formats.h"

static const struct options options = {
	.about = "Shows the latency of every IO of block devices, each interval."
		 "\v"
		 "'blklat list' shows the devices, "
		 "'blklat check' whether blklat works on this machine. Ctrl-C ends it with a summary. Exit status: 0 "
		 "done, 1 it failed while running, 2 the command line is wrong.",
	.arguments = "[DEV...] [S [N]]",
	.shared = capture_option_list,
	.argument = capture_options_take_argument,
};

static int show(struct run_capture *r)
{
	struct look look = terminal_look(stdout);
	struct sink *sink = NULL;
	struct problem p;
	enum loop_end end;
	int err;

	look.devices = r->o->top;
	err = format_open(r->o->format, &r->info, &look, r->o->bins, &sink);
	if (err) {
		problem_set(&p, err, "could not write the output: %s", strerror(-err));
		return command_fail(r->who, STATUS_FAILED, &p);
	}
	end = run_capture_loop(r, sink, &p);
	sink_close(sink);
	return run_capture_status(r, end, &p);
}

static int run(int argc, char **argv)
{
	return run_capture_command(&options, argc, argv, capture_options_check, show);
}

const struct command command_live = {
	.name = "live",
	.about = "watch devices and print each interval (the default)",
	.run = run,
};
