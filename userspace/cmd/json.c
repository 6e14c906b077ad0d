// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/json.h"

#include <errno.h>
#include <stdio.h>

#include "core/snapshot.h"
#include "util/json.h"

struct json_object *json_text(const char *text)
{
	return text[0] ? json_new_text(text) : NULL;
}

struct json_object *json_stages(u32 stages)
{
	struct json_object *a = json_new_array(BLKLAT_STAGES);

	for (u32 s = 0; s < BLKLAT_STAGES; s++)
		if (stages >> s & 1)
			json_append(a, json_new_text(stage_names[s]));
	return a;
}

int json_print(struct json_object *o)
{
	const char *text = json_line(o);

	if (text)
		puts(text);
	json_object_put(o);
	return text ? 0 : -ENOMEM;
}
