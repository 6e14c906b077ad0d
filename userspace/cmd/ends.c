// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/ends.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/ending.h"
#include "util/stream.h"
#include "util/tty.h"

static struct ending ending;
static const char *name;

/* Runs in a separate thread: the thread that runs the command may hold the lock of stderr. */
static void held_up(const char *where)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: can't end in order, since something that it waits for hangs%s%s%s: it is "
		 "cut off\n", name, *where ? " (in the kernel: " : "", where, *where ? ")" : "");
	tty_give_back();
	streams_try_error(text);
	_exit(STATUS_FAILED);
}

int ends_begin(const char *who, const sigset_t *signals, bool again, struct problem *p)
{
	int err;

	name = who;
	ending = (struct ending){ .signals = *signals, .again = again, .held_up = held_up };
	err = ending_start(&ending);
	return err ? problem_set(p, err, "could not start a thread: %s", strerror(-err)) : 0;
}
