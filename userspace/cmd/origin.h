/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording tells of where it is made. */
#ifndef CMD_ORIGIN_H
#define CMD_ORIGIN_H

#include "core/origin.h"

/* This machine, and @command, a line as typed. What is not known here is "" or 0. Returns 0 or -ENOMEM. */
int origin_here(struct origin *o, const char *command);

/* Replaces one of its texts, by what can be shown of @text. Returns 0 or -ENOMEM. */
int origin_text(char **ret, const char *text);

#endif
