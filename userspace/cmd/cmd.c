// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/cmd.h"

#include <stdio.h>

int command_fail(const char *who, int status, const struct problem *p)
{
	fprintf(stderr, "%s: %s\n", who, p->text);
	return status;
}
