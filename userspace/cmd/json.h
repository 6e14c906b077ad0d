/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON that several commands print once. */
#ifndef CMD_JSON_H
#define CMD_JSON_H

#include "util/json.h"

/* A string, or null for "". */
struct json_object *json_text(const char *text);

/* The names of a bit set of stages. */
struct json_object *json_stages(u32 stages);

/* Prints @o on one line of stdout and releases it. Returns 0 or -ENOMEM. */
int json_print(struct json_object *o);

#endif
