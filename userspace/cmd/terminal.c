// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cmd.h"

u32 terminal_columns(int fd)
{
	struct winsize w = { 0 };

	return ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col ? 80 : w.ws_col;
}

bool terminal_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

struct look terminal_look(FILE *out)
{
	/* stdout is a stream of our own (util/stream.h) without a descriptor. */
	int fd = out == stderr ? STDERR_FILENO : STDOUT_FILENO;

	return (struct look){
		.out = out,
		.colour = terminal_colour(fd),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.columns = terminal_columns(fd),
	};
}

void size_text(u64 bytes, char *ret, size_t size)
{
	static const char units[] = "BKMGTPE";
	unsigned __int128 tenths;
	u32 unit = 0;

	/* Rounded before it is compared, so that 1023.96 of one unit becomes 1 of the next. */
	for (;; unit++) {
		tenths = ((unsigned __int128)bytes * 10 + (1ULL << 10 * unit >> 1)) >> 10 * unit;
		if (tenths < 10240 || !units[unit + 1])
			break;
	}
	if (tenths % 10)
		snprintf(ret, size, "%llu.%llu%c", (u64)tenths / 10, (u64)tenths % 10, units[unit]);
	else
		snprintf(ret, size, "%llu%c", (u64)tenths / 10, units[unit]);
}

int finish_output(const char *who)
{
	struct problem p;

	if (!fflush(stdout) && !ferror(stdout))
		return STATUS_DONE;
	if (errno == EPIPE)
		return STATUS_DONE;
	problem_set(&p, 0, "can't write the output: %s", strerror(errno));
	return command_fail(who, STATUS_FAILED, &p);
}
