// SPDX-License-Identifier: GPL-2.0-only
#include "util/json_later.h"

#include <json-c/printbuf.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/json.h"

struct later {
	struct json_object *(*make)(const void *of);
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

static int put_made(struct json_object *o, struct printbuf *to, int level, int flags)
{
	const struct later *l = json_object_get_userdata(o);
	struct json_object *made = l->make(l->of);

	(void)level;
	return made ? put(to, made, flags) : -1;
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

static struct json_object *make(const struct later *l, json_object_to_json_string_fn *write, const void *of, size_t size)
{
	struct json_object *o = json_new_object();
	struct later *copy = malloc(sizeof(*copy) + size);

	if (!o || !copy) {
		json_object_put(o);
		free(copy);
		json_lacks_memory();
		return NULL;
	}
	*copy = *l;
	memcpy(copy->of, of, size);
	json_object_set_serializer(o, write, copy, later_free);
	return o;
}

struct json_object *json_later(struct json_object *(*make_it)(const void *of), const void *of, size_t size)
{
	return make(&(struct later){ .make = make_it }, put_made, of, size);
}

struct json_object *json_values_later(u32 n, struct json_object *(*value)(const void *of, u32 i), const void *of,
				      size_t size)
{
	return make(&(struct later){ .value = value, .n = n }, put_values, of, size);
}
