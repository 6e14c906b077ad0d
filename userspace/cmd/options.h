/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines, parsed by argp. Unlike argp's own message, the one for a wrong command line takes one
 * line instead of two, and names the nearest option. --help, --usage and --version are added.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <argp.h>

#include "util/problem.h"

#define OPTIONS_MAX 40

/* Keys for options that have no short form start here. */
#define OPTIONS_LONG 0x100

struct options {
	const char *about;		/* what the command does; text after '\v' follows the options */
	const char *arguments;		/* for the usage line, e.g. "[DEV...]"; NULL: takes none */
	const struct argp_option *list;	/* ended by { 0 }; NULL: none of its own */
	const struct argp_option *shared;	/* options shared by commands; likewise. At most OPTIONS_MAX together */
	const char *const *only;	/* the long names of those of the shared ones that it has, ended by NULL; NULL: all */
	/*
	 * Takes one option, or with ARGP_KEY_ARG one argument. Returns 0, or a negative errno and a
	 * sentence, which ends the parsing.
	 */
	int (*take)(int key, const char *value, void *into, struct problem *p);
	/* Takes the words after "--", ended by NULL, which are another program's. NULL: they are arguments as well. */
	void (*take_command)(char **words, void *into);
};

/*
 * Reads the command line into @into. Returns a negative number if the command is to run, else the exit status to end
 * with: STATUS_DONE (after --help and the like, printed on stdout) or STATUS_USAGE (the message was printed).
 */
int options_parse(const struct options *o, int argc, char **argv, void *into);

#endif
