// SPDX-License-Identifier: GPL-2.0-only
/* The part of the report's document about the slow IOs of one device and stage. */
#include <errno.h>
#include <math.h>

#include "core/json_parts.h"
#include "report/document.h"
#include "report/slow_common.h"
#include "util/json.h"

struct listed {
	const struct slow_io *io;
};

static struct json_object *slow_at(const void *of, u32 i)
{
	const struct slow_io *io = &((const struct listed *)of)->io[i];
	struct json_object *to = json_slow(io);

	json_add_decimal(to, "t_s", io->told.end_ns / 1e9, 6);
	return to;
}

static struct json_object *common(const struct slow_common *c)
{
	struct json_object *to = json_new_object();

	json_add_text(to, "by", c->by);
	json_add_text(to, "value", c->value);
	json_add_count(to, "ios", c->ios);
	json_add_count(to, "of", c->of);
	json_add_decimal(to, "share_of_all", c->share_of_all < 0 ? NAN : c->share_of_all, 6);
	json_add(to, "p", c->p < 0 ? NULL : json_new_double(c->p));
	return to;
}

static struct json_object *all_common(const struct run *r, u32 watch)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int n = slow_common_of(r, watch, all);
	struct json_object *to;

	if (n < 0) {
		json_lacks_memory();
		return NULL;
	}
	to = json_new_array(n);
	for (int i = 0; i < n; i++)
		json_append(to, common(&all[i]));
	return to;
}

struct json_object *document_slow(const struct run *r, const struct watch_run *w)
{
	u32 watch = w - r->watches;
	const struct slow_of *of = &r->slow.of[watch];
	const struct listed all = { &r->slow.io[of->first] };
	struct json_object *to = json_new_object();

	json_add_count(to, "found", of->found);
	json_add(to, "common", all_common(r, watch));
	json_add(to, "ios", json_values_later(of->n, slow_at, &all, sizeof(all)));
	return to;
}
