// SPDX-License-Identifier: GPL-2.0-only
#include "util/json.h"

#include <errno.h>

/* Like errno: covers what this thread did since its last json_line(). */
static _Thread_local bool lacks_memory;

void json_lacks_memory(void)
{
	lacks_memory = true;
}

static struct json_object *made(struct json_object *o)
{
	if (!o)
		json_lacks_memory();
	return o;
}

struct json_object *json_new_object(void)
{
	return made(json_object_new_object());
}

struct json_object *json_new_array(size_t room)
{
	return made(room ? json_object_new_array_ext(room) : json_object_new_array());
}

struct json_object *json_new_boolean(bool value)
{
	return made(json_object_new_boolean(value));
}

struct json_object *json_new_int(int value)
{
	return made(json_object_new_int(value));
}

struct json_object *json_new_count(u64 n)
{
	return made(json_object_new_uint64(n));
}

struct json_object *json_new_text(const char *text)
{
	return made(json_object_new_string(text));
}

struct json_object *json_new_double(double value)
{
	return made(json_object_new_double(value));
}

struct json_object *json_new_decimal(double value, const char *text)
{
	return made(json_object_new_double_s(value, text));
}

void json_add(struct json_object *to, const char *key, struct json_object *value)
{
	if (to && !json_object_object_add(to, key, value))
		return;
	json_object_put(value);
	json_lacks_memory();
}

void json_append(struct json_object *to, struct json_object *value)
{
	if (to && !json_object_array_add(to, value))
		return;
	json_object_put(value);
	json_lacks_memory();
}

const char *json_line(struct json_object *o)
{
	const char *line = NULL;

	/* If its buffer can't grow, json-c drops text silently; only the allocator's errno tells. */
	errno = 0;
	if (o && !lacks_memory)
		line = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	/* Some parts may have been made only now (util/json_later.h). */
	if (errno == ENOMEM || lacks_memory)
		line = NULL;
	lacks_memory = false;
	return line;
}
