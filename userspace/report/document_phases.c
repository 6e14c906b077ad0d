// SPDX-License-Identifier: GPL-2.0-only
/* The phases of the report's document. */
#include "core/json_parts.h"
#include "report/document.h"
#include "report/phases.h"
#include "util/json.h"

struct described {
	const struct run *r;
	const struct phase *p;
};

static struct json_object *op_figures(const struct run *r, const struct watch_run *w, u32 op)
{
	struct json_object *to = json_new_object();

	json_add(to, "op", json_new_text(op_names[op]));
	document_total(to, r, w, op);
	json_add(to, "bins", json_bins(&w->total->ops[op].hist));
	return to;
}

static struct json_object *watch_figures(const struct run *r, const struct watch_run *w)
{
	struct json_object *to = json_new_object(), *ops = json_new_array(0);

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (w->total->ops[op].ios)
			json_append(ops, op_figures(r, w, op));
	json_add_text(to, "device", w->watch->device->name);
	json_add_text(to, "stage", stage_names[w->watch->stage]);
	if (w->watch->part)
		json_add(to, "part", json_part(w->watch->part));
	json_add_decimal(to, "queue_depth", w->total->queue_depth, 3);
	json_add(to, "ops", ops);
	return to;
}

/* The figures of watches with IO; none if the phase has no figures. */
static struct json_object *watches(const struct described *d)
{
	struct json_object *to = json_new_array(0);
	struct run part;

	if (!d->p->n)
		return to;
	if (phase_run_make(d->r, d->p, &part)) {
		json_lacks_memory();
		return to;
	}
	for (u32 i = 0; i < part.n_watches; i++)
		if (frame_has_ios(part.watches[i].total))
			json_append(to, watch_figures(&part, &part.watches[i]));
	phase_run_free(&part);
	return to;
}

static struct json_object *describe(const void *of)
{
	const struct described *d = of;
	struct json_object *to = json_new_object();

	json_add_text(to, "name", d->p->name);
	json_add_decimal(to, "from_s", d->p->from_s, 3);
	json_add_decimal(to, "to_s", d->p->to_s, 3);
	json_add_count(to, "intervals", d->p->n);
	json_add_decimal(to, "length_s", d->p->length_s, 6);
	json_add(to, "partial", json_new_boolean(d->p->partial));
	json_add(to, "watches", watches(d));
	return to;
}

struct json_object *document_phases(const struct run *r)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < r->phases.n; i++) {
		const struct described of = { r, &r->phases.p[i] };

		json_append(to, json_later(describe, &of, sizeof(of)));
	}
	return to;
}
