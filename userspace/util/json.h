/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json-c documents that are either complete or not made at all. json-c reports a failed allocation as NULL, and takes
 * NULL for null, so a document could silently lose some of its figures. So documents are made only with these
 * functions. After a failed allocation they carry on, and json_line() reports it at the end.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <json-c/json.h>

#include "util/types.h"

/* @o; NULL is noted as a failed allocation. */
struct json_object *json_made(struct json_object *o);

#define json_new_object() json_made(json_object_new_object())
#define json_new_array(room) json_made(json_object_new_array_ext((room) ?: 32))	/* @room: 0: not known */
#define json_bool(value) json_made(json_object_new_boolean(value))
#define json_count(n) json_made(json_object_new_uint64(n))
#define json_double(value) json_made(json_object_new_double(value))	/* with all its digits */

/* A value that is JSON text already. */
struct json_object *json_written(const char *text);

/* With @digits digits after the point; null if it is not finite. */
struct json_object *json_decimal(double value, int digits);

/* Valid UTF-8, whatever @text contains; NULL is null. */
struct json_object *json_text(const char *text);

/* These take ownership of @value; NULL becomes null, and json_absent is left out. */
void json_add(struct json_object *to, const char *key, struct json_object *value);
void json_append(struct json_object *to, struct json_object *value);

extern struct json_object *const json_absent;

struct json_member {
	const char *key;
	struct json_object *value;
};

/* Adds members, up to one without a key; returns @to. */
struct json_object *json_add_members(struct json_object *to, const struct json_member *m);

/* JSON_ADD(to, { "ios", json_count(n) }, ...); JSON() makes an object of them. */
#define JSON_ADD(to, ...) json_add_members(to, (const struct json_member[]){ __VA_ARGS__, { NULL, NULL } })
#define JSON(...) JSON_ADD(json_new_object(), __VA_ARGS__)

/* An array of @value for each @i below @n. */
#define JSON_LIST(i, n, value) ({						\
	struct json_object *list_of_##i = json_new_array(n);			\
	for (u32 i = 0; i < (n); i++)						\
		json_append(list_of_##i, value);				\
	list_of_##i;								\
})

/* Notes an allocation that failed elsewhere; json_line() will report it. Returns NULL. */
struct json_object *json_lacks_memory(void);

/*
 * @o as one line, which is valid as long as @o is. NULL: an allocation failed, for the line or for
 * anything that this thread made since its last line.
 */
const char *json_line(struct json_object *o);

/* For CLEANUP(). */
static inline void cleanup_json(struct json_object **o)
{
	json_object_put(*o);
}

/*
 * An array of @n values that are made only when it is written, one after the other, and kept as text: as objects, the
 * numbers of a long run would take ten times as much memory. @value returns the one at an index; NULL is null. @of is
 * a structure of @size bytes, which is copied; anything that it points to must outlive the document. Returns NULL if
 * there is no memory.
 */
struct json_object *json_values_later(u32 n, struct json_object *(*value)(const void *of, u32 i), const void *of,
				      size_t size);

#endif
