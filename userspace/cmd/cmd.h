/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands: each a short file that reads its options and picks the two ends. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "util/problem.h"
#include "util/types.h"

/* Exit statuses, for scripts to rely on. */
enum {
	STATUS_DONE = 0,	/* it did what was asked, also when ended by Ctrl-C */
	STATUS_FAILED = 1,	/* it failed while running */
	STATUS_USAGE = 2,	/* the command line is wrong; nothing was started */
	STATUS_FAIL_IF = 3,	/* a condition of --fail-if holds */
};

struct command {
	const char *name;
	const char *about;	/* a few words for 'blklat --help' */
	/* @argv[0] is what messages call it: "blklat NAME". Returns an exit status. */
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

/*
 * Prints "@who: sentence" on stderr, on one line whatever names it holds, and returns @status, so
 * that one can 'return command_fail(argv[0], STATUS_USAGE, &p)'.
 */
int command_fail(const char *who, int status, const struct problem *p);

/* Whether @err, of a file that the command line names, is no fault of the command line: memory, room, a device. */
bool command_err_is_ours(int err);

/* Says that there is no memory, and returns STATUS_FAILED. */
int command_no_memory(const char *who);

#endif
