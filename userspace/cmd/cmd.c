// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>

int command_fail(const char *who, int status, const struct problem *p)
{
	fprintf(stderr, "%s: %s\n", who, p->text);
	return status;
}

bool command_err_is_ours(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EIO || err == -ENOSPC || err == -EDQUOT || err == -EMFILE ||
	       err == -ENFILE || err == -EBADMSG || err == -ENODATA;
}

int command_no_memory(const char *who)
{
	struct problem p;

	problem_set(&p, 0, "out of memory");
	return command_fail(who, STATUS_FAILED, &p);
}
