/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of a document that are made only when it is written, one after the other, and kept as text. As
 * objects, the numbers of a long run would take ten times as much memory.
 */
#ifndef UTIL_JSON_LATER_H
#define UTIL_JSON_LATER_H

#include <json-c/json.h>

#include "util/types.h"

/*
 * A part that @make will return for @of, a structure of @size bytes, which is copied; anything that it
 * points to must outlive the document. If @make returns NULL for lack of memory, writing the document
 * fails likewise. Returns NULL if there is no memory.
 */
struct json_object *json_later(struct json_object *(*make)(const void *of), const void *of, size_t size);

/*
 * An array of @n values. @value returns the one at an index: a number, or NULL for null. @of is copied,
 * as above.
 */
struct json_object *json_values_later(u32 n, struct json_object *(*value)(const void *of, u32 i), const void *of,
				      size_t size);

#endif
