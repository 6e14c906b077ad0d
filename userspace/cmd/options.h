/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines, parsed by argp. Unlike argp's own message, the one for a wrong command line takes one line instead
 * of two, and names the nearest option. --help, --usage and --version are added. The same table reads a file of
 * options.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <argp.h>

#include "util/problem.h"
#include "util/types.h"

#define OPTIONS_MAX 40

/* An option: how it is typed, its help, and where its value goes, in the structure that the options are read into. */
struct option_row {
	const char *name;
	int letter;			/* 0: it has none */
	const char *arg;		/* what the help calls its value; NULL: it takes none */
	const char *help;
	enum {
		OPTION_SWITCH,		/* bool: set */
		OPTION_WORD,		/* const char *: as typed */
		OPTION_COUNT,		/* u64, see parse_count(); likewise: */
		OPTION_SIZE,		/* u64 */
		OPTION_SECONDS,		/* double */
		OPTION_NAME,		/* u32 */
		OPTION_NAMES,		/* u32 */
		OPTION_OWN,		/* take() */
	} kind;
	size_t offset;
	const char *const *names;
	u32 n_names;
	/* @to: at the offset. Returns 0, or a negative errno and a sentence, which ends the parsing. */
	int (*take)(void *to, const char *value, struct problem *p);
};

#define OPTION(name_, letter_, arg_, help_, ...) \
	{ .name = name_, .letter = letter_, .arg = arg_, .help = help_, __VA_ARGS__ }

/* For the last arguments; INTO is the structure. */
#define TO(what, member) .kind = OPTION_##what, .offset = offsetof(INTO, member)
#define TO_NAME(member, list) TO(NAME, member), .names = list, .n_names = ARRAY_SIZE(list)
#define TO_STAGES(member) TO(NAMES, member), .names = stage_names, .n_names = BLKLAT_STAGES
#define TO_OWN(member, function) TO(OWN, member), .take = function

/*
 * A file with an option a line, "name", "name value" or "name = value", as on the command line but without dashes;
 * lines that begin with '#' are comments. What the command line gives wins, wherever it stands.
 */
struct option_file {
	const char *name;	/* NULL: none */
	char *text;		/* as it was read, of malloc(): values point into it. Equal texts say the same */
	size_t len;
};

struct options {
	const char *about;		/* what the command does; text after '\v' follows the options */
	const char *arguments;		/* for the usage line, e.g. "[DEV...]"; NULL: takes none */
	const struct option_row *list;	/* ended by { 0 }; NULL: none of its own */
	const struct option_row *shared;	/* options shared by commands; likewise. At most OPTIONS_MAX together */
	size_t shared_at;		/* where the structure of these is in the command's */
	/* the long names of those of the shared ones that it has, ended by NULL; NULL: all */
	const char *const *only;
	/* takes one; as struct option_row.take */
	int (*argument)(void *to, const char *value, struct problem *p);
	size_t argument_at;		/* where @to is */
	/* where its struct option_file is, after the option that names it was read; 0: it has none */
	size_t file_at;
	/* Takes the words after "--", ended by NULL, which are another program's. NULL: they are arguments as well. */
	void (*take_command)(char **words, void *into);
};

/*
 * Reads the command line into @into. Returns a negative number if the command is to run, else the exit status to end
 * with: STATUS_DONE (after --help and the like, printed on stdout) or STATUS_USAGE (the message was printed).
 */
int options_parse(const struct options *o, int argc, char **argv, void *into);

#endif
