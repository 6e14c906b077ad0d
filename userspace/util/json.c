// SPDX-License-Identifier: GPL-2.0-only
#include "util/json.h"

#include <errno.h>
#include <json-c/printbuf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/utf8.h"

/* Like errno: covers what this thread did since its last json_line(). */
static _Thread_local bool lacks_memory;

struct json_object *json_lacks_memory(void)
{
	lacks_memory = true;
	return NULL;
}

struct json_object *json_made(struct json_object *o)
{
	return o ?: json_lacks_memory();
}

static char absent;
struct json_object *const json_absent = (struct json_object *)&absent;

void json_add(struct json_object *to, const char *key, struct json_object *value)
{
	if (value == json_absent || (to && !json_object_object_add(to, key, value)))
		return;
	json_object_put(value);
	json_lacks_memory();
}

void json_append(struct json_object *to, struct json_object *value)
{
	if (value == json_absent || (to && !json_object_array_add(to, value)))
		return;
	json_object_put(value);
	json_lacks_memory();
}

struct json_object *json_written(const char *text)
{
	return json_made(json_object_new_double_s(0, text));	/* which is printed as this text, whatever it is */
}

struct json_object *json_decimal(double value, int digits)
{
	char text[340];		/* the longest double has 309 digits before the point */

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_written(text);
}

struct json_object *json_text(const char *text)
{
	size_t size = text ? 3 * strlen(text) + 1 : 0;
	char *clean CLEANUP(cleanup_free) = malloc(size);

	if (!text)
		return NULL;
	if (!clean)
		return json_lacks_memory();
	utf8_clean(clean, size, text);
	return json_made(json_object_new_string(clean));
}

struct json_object *json_add_members(struct json_object *to, const struct json_member *m)
{
	for (; m->key; m++)
		json_add(to, m->key, m->value);
	return to;
}

const char *json_line(struct json_object *o)
{
	const char *line = NULL;

	/* If its buffer can't grow, json-c drops text silently; only the allocator's errno tells. */
	errno = 0;
	if (o && !lacks_memory)
		line = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	/* Some values may have been made only now (json_values_later()). */
	if (errno == ENOMEM || lacks_memory)
		line = NULL;
	lacks_memory = false;
	return line;
}

struct later {
	struct json_object *(*value)(const void *of, u32 i);
	u32 n;
	_Alignas(max_align_t) char of[];
};

static void later_free(struct json_object *o, void *later)
{
	(void)o;
	free(later);
}

/* Prints @o into @to and releases it. NULL: null. */
static int put(struct printbuf *to, struct json_object *o, int flags)
{
	struct json_object *owned CLEANUP(cleanup_json) = o;
	const char *text = o ? json_object_to_json_string_ext(o, flags) : "null";

	if (text && printbuf_memappend(to, text, strlen(text)) >= 0)
		return 0;
	json_lacks_memory();
	return -1;
}

static int put_values(struct json_object *o, struct printbuf *to, int level, int flags)
{
	const struct later *l = json_object_get_userdata(o);
	int err = printbuf_memappend(to, "[", 1);

	(void)level;
	for (u32 i = 0; err >= 0 && i < l->n; i++) {
		if (i)
			err = printbuf_memappend(to, ",", 1);
		if (err >= 0)
			err = put(to, l->value(l->of, i), flags);
	}
	return err < 0 ? err : printbuf_memappend(to, "]", 1);
}

struct json_object *json_values_later(u32 n, struct json_object *(*value)(const void *of, u32 i), const void *of,
				      size_t size)
{
	struct json_object *o = json_new_object();
	struct later *copy = malloc(sizeof(*copy) + size);

	if (!o || !copy) {
		json_object_put(o);
		free(copy);
		return json_lacks_memory();
	}
	*copy = (struct later){ .value = value, .n = n };
	memcpy(copy->of, of, size);
	json_object_set_serializer(o, put_values, copy, later_free);
	return o;
}
