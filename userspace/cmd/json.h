/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON helpers for commands that print one document. */
#ifndef CMD_JSON_H
#define CMD_JSON_H

#include "util/json.h"

/* A string, or null for "". */
struct json_object *json_text(const char *text);

/* An array with the names of the stages in a bit set. */
struct json_object *json_stages(u32 stages);

/* Prints @o as one line on stdout and releases it. Returns 0 or -ENOMEM. */
int json_print(struct json_object *o);

#endif
