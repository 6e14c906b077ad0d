/* SPDX-License-Identifier: GPL-2.0-only */
/* Describes where a recording is made. */
#ifndef CMD_ORIGIN_H
#define CMD_ORIGIN_H

#include "core/origin.h"

/*
 * Describes this machine; @command is the command line as typed. Unknown facts are "" or 0. Returns 0
 * or -ENOMEM.
 */
int origin_here(struct origin *o, const char *command);

/* Replaces one of its texts by @text, made printable. Returns 0 or -ENOMEM. */
int origin_text(char **ret, const char *text);

#endif
