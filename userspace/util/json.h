/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Documents of json-c that are whole or not there at all. To json-c no memory is NULL, and NULL is null: a document would have
 * lost some of its figures, and nobody would know. So whoever makes one does it by these functions. They go on where there is no
 * memory, and json_line() tells at the end.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <json-c/json.h>

#include "util/types.h"

struct json_object *json_new_object(void);

/* With @room for so many; 0 where that is not known. */
struct json_object *json_new_array(size_t room);

struct json_object *json_new_boolean(bool value);
struct json_object *json_new_int(int value);
struct json_object *json_new_count(u64 n);
struct json_object *json_new_text(const char *text);

/* With all its digits. */
struct json_object *json_new_double(double value);

/* @text is what is written. */
struct json_object *json_new_decimal(double value, const char *text);

/* These take @value over; NULL is null. */
void json_add(struct json_object *to, const char *key, struct json_object *value);
void json_append(struct json_object *to, struct json_object *value);

/* There was no memory for a part that is not made here. */
void json_lacks_memory(void);

/*
 * @o on one line, there as long as @o is. NULL: there was no memory for the line, or for anything that this thread made
 * since the last one.
 */
const char *json_line(struct json_object *o);

/* For CLEANUP(). */
static inline void cleanup_json(struct json_object **o)
{
	json_object_put(*o);
}

#endif
