/* SPDX-License-Identifier: GPL-2.0-only */
/* What every user of json-c needs. */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <json-c/json.h>

/* @o on one line, there as long as @o is. NULL: there is no memory, for @o (then NULL) or the line. */
static inline const char *json_line(struct json_object *o)
{
	return o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
}

/* For CLEANUP(). */
static inline void cleanup_json(struct json_object **o)
{
	json_object_put(*o);
}

#endif
