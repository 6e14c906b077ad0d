// SPDX-License-Identifier: GPL-2.0-only
#include "util/problem.h"

#include <stdarg.h>
#include <stdio.h>

int problem_set(struct problem *p, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->text, sizeof(p->text), format, args);
	va_end(args);

	/* Names come from users and files: a newline or an escape would spoil the one line. */
	for (char *c = p->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\177')
			*c = '?';
	return err;
}
