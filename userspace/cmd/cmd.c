// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/ending.h"
#include "util/stream.h"

int command_fail(const char *who, int status, const struct problem *p)
{
	fprintf(stderr, "%s: %s\n", who, p->text);
	return status;
}

bool command_err_is_ours(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EIO || err == -ENOSPC || err == -EDQUOT || err == -EMFILE || err == -ENFILE ||
	       err == -EBADMSG;
}

int command_no_memory(const char *who)
{
	struct problem p;

	problem_set(&p, 0, "out of memory");
	return command_fail(who, STATUS_FAILED, &p);
}

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
