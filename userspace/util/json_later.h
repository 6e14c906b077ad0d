/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of a document that are made when it is written, one after the other, and kept as text only. As objects the
 * numbers of a long run would take ten times as much.
 */
#ifndef UTIL_JSON_LATER_H
#define UTIL_JSON_LATER_H

#include <json-c/json.h>

#include "util/types.h"

/*
 * What @make gives for @of, a structure of @size bytes that is copied; what that points to outlives the document. When
 * @make gives NULL, as there is no memory, so does writing the document. Returns NULL when there is no memory.
 */
struct json_object *json_later(struct json_object *(*make)(const void *of), const void *of, size_t size);

/*
 * An array of @n values, of which @value gives the one at an index: a number, or NULL for null. @of is copied, as above.
 */
struct json_object *json_values_later(u32 n, struct json_object *(*value)(const void *of, u32 i), const void *of,
				      size_t size);

#endif
