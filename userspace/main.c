// SPDX-License-Identifier: GPL-2.0-only
/* blklat: picks the subcommand. */
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/watches.h"
#include "util/parse.h"
#include "util/stream.h"
#include "util/types.h"

#define HEAP_KEEPS (128 << 10)	/* bytes */

static const struct command *const commands[] = {
	&command_live,	 &command_top,	   &command_record, &command_mark, &command_serve,
	&command_report, &command_compare, &command_export, &command_list, &command_check,
};

static int help(void)
{
	puts("Usage: blklat [COMMAND] [OPTION...]\n"
	     "Shows what every IO of a block device costs: latency distribution and percentiles,\n"
	     "live, with no change to the workload.\n\n"
	     "  sudo blklat --dev nvme0n1 --interval 1\n");
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->about);
	puts("\n'blklat help COMMAND' shows a command's options, 'man blklat' the manual.");
	return finish_output("blklat");
}

static int unknown_command(const char *name)
{
	struct nearest nearest = { .typed = name };
	struct problem p;

	for (u32 i = 0; i < ARRAY_SIZE(commands); i++)
		nearest_look(&nearest, commands[i]->name);
	if (nearest.name)
		problem_set(&p, 0, "unknown command '%s', did you mean '%s'?", name, nearest.name);
	else
		problem_set(&p, 0, "unknown command '%s'; 'blklat --help' shows all (to watch a device: "
			    "blklat --dev %s)", name, name);
	return command_fail("blklat", STATUS_USAGE, &p);
}

static int run_command(const struct command *c, int argc, char **argv)
{
	char name[32];

	/* What messages and the help call it. */
	snprintf(name, sizeof(name), "blklat %s", c->name);
	argv[0] = name;
	return c->run(argc, argv);
}

/*
 * A standard stream that was closed would be the next file that is opened, and what is printed would end up in a
 * recording. Opened the wrong way round, it fails as a closed one does; commands that are started find it closed.
 */
static bool open_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "--help";

	if (!open_standard_streams())
		return STATUS_FAILED;
	if (streams_begin())
		return command_no_memory("blklat");
	/* Large blocks go back to the kernel at once, and large tables are of pages that it has not filled yet. */
	mallopt(M_MMAP_THRESHOLD, HEAP_KEEPS);
	mallopt(M_TRIM_THRESHOLD, HEAP_KEEPS);
	/* The terminal's characters; numbers keep their point, whatever the language. */
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	/* A file that grows beyond what 'ulimit -f' allows is an error with a sentence. */
	signal(SIGXFSZ, SIG_IGN);
	if (!strcmp(first, "help") && argc == 3) {
		first = argv[1] = argv[2];
		argv[2] = "--help";
	}
	if (!strcmp(first, "--help") || !strcmp(first, "-h") || !strcmp(first, "-?") || !strcmp(first, "help"))
		return help();
	if (first[0] == '-')
		return run_command(&command_live, argc, argv);
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(first, commands[i]->name))
			return run_command(commands[i], argc - 1, argv + 1);
	return means_devices(first) ? run_command(&command_live, argc, argv) : unknown_command(first);
}
