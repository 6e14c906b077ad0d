/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands: each is a short file that reads its options and picks an engine and a sink. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "util/problem.h"
#include "util/types.h"

/* Exit statuses, for scripts to rely on. */
enum {
	STATUS_DONE = 0,	/* it did what was asked, even if Ctrl-C ended it */
	STATUS_FAILED = 1,	/* it failed while running */
	STATUS_USAGE = 2,	/* the command line is wrong; nothing was started */
	STATUS_FAIL_IF = 3,	/* a condition of --fail-if holds */
};

struct command {
	const char *name;
	const char *about;	/* a few words for 'blklat --help' */
	/* @argv[0] is its name in messages: "blklat NAME". Returns an exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_live;
extern const struct command command_top;
extern const struct command command_record;
extern const struct command command_mark;
extern const struct command command_serve;
extern const struct command command_list;
extern const struct command command_check;
extern const struct command command_report;
extern const struct command command_compare;
extern const struct command command_export;

/*
 * Prints "@who: sentence" on stderr, always on one line, whatever names it contains. Returns @status,
 * so that one can 'return command_fail(argv[0], STATUS_USAGE, &p)'.
 */
int command_fail(const char *who, int status, const struct problem *p);

/*
 * Whether the failure @err of a file named on the command line is not the user's fault: no memory, no
 * space, a broken device.
 */
bool command_err_is_ours(int err);

/* Prints that there is no memory, and returns STATUS_FAILED. */
int command_no_memory(const char *who);

#endif
