// SPDX-License-Identifier: GPL-2.0-only
/* blklat top: shows the devices on the whole terminal, the worst one first. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/run_capture.h"
#include "core/cgroup.h"
#include "live/formats.h"

static int show(struct run_capture *r)
{
	const struct look look = terminal_look(stdout);
	struct sink *sink = NULL;
	struct problem p;
	int err = top_open(&r->info, &look, &sink, &r->input, &p);
	enum loop_end end;

	if (err)
		return command_fail(r->who, err == -ENOTTY ? STATUS_USAGE : STATUS_FAILED, &p);
	end = run_capture_loop(r, sink, &p);
	sink_close(sink);
	return run_capture_status(r, end, &p);
}

#define OWNERS 16		/* cgroups with a part of their own, unless the user says otherwise */

#define SLOW_Q 0.999

/*
 * A key shows whose IOs they are, another one the slow ones. So IOs are divided from the start, where that can be
 * told, and the slowest are taken; who sent each of them, only if the user says so, as that is to be noted for every
 * IO.
 */
static void want_more(struct capture_options *o)
{
	bool owners = !o->slow.no_owners;
	char file[PATH_MAX];

	if (!o->slow.wanted) {
		o->slow.wanted = o->slow.no_owners = o->may_lack_slow = true;
		o->slow.q = SLOW_Q;
	}
	if (!o->wanted.by && owners && cgroups_charged("", file, sizeof(file))) {
		o->wanted.by = BLKLAT_BY_CGROUP;
		o->wanted.max_parts = OWNERS;
		o->may_lack_by = true;
	}
}

static int check(struct capture_options *o, struct problem *p)
{
	int err = o->wanted.n || o->replay ? 0 : capture_options_take_device(&o->wanted, "all", p);

	if (!o->replay)
		want_more(o);
	err = err ?: capture_options_check(o, p);
	if (!err && !isatty(STDOUT_FILENO))
		err = problem_set(p, -ENOTTY, "standard output is not a terminal: 'blklat live' writes text, "
				  "'blklat live --format json' figures for programs");
	return err;
}

static int run(int argc, char **argv)
{
	static const char *const names[] = { "dev", "interval", "count", "duration", "stage", "engine", "scale", "max-memory",
					     "max-bios", "by", "max-parts", "slow", "slow-max", "no-owners", "kubernetes", "replay", NULL };
	static const struct options options = {
		.about = "Shows block devices on the whole terminal, the worst first, with the last minutes of the "
			 "selected one; all devices, unless some are named."
		 "\v"
		 "'?' shows the keys, 'q' quits. An "
			 "interval of a replay takes as long as --interval says. Exit status: 0 done, 1 it failed "
			 "while running, 2 the command line is wrong or there is no terminal.",
		.arguments = "[DEV...]",
		.shared = capture_option_list,
		.only = names,
		.argument = capture_options_take_device,
		.argument_at = offsetof(struct capture_options, wanted),
	};

	return run_capture_command(&options, argc, argv, check, show);
}

const struct command command_top = {
	.name = "top",
	.about = "the devices on the whole terminal, the worst first, with keys",
	.run = run,
};
