// SPDX-License-Identifier: GPL-2.0-only
#include "service/frames_wire.h"

#include <errno.h>
#include <stdlib.h>

#include "util/wire.h"

#define DEVICES_MOST (1u << 20)
#define PART_TEXT 32

/* --- devices -------------------------------------------------------------------------------- */

/* A device without its indices in the table. */
static const struct wire_field device_fields[] = {
	WIRE_FIELD(device, name), WIRE_FIELD(device, mapper), WIRE_FIELD(device, kind), WIRE_FIELD(device, model),
	WIRE_FIELD(device, serial), WIRE_FIELD(device, wwid), WIRE_FIELD(device, scheduler),
	WIRE_FIELD(device, sysfs), WIRE_FIELD(device, major), WIRE_FIELD(device, minor), WIRE_FIELD(device, node),
	WIRE_FIELD(device, diskseq), WIRE_FIELD(device, size_bytes), WIRE_FIELD(device, hw_queues),
	WIRE_FIELD(device, tags), WIRE_FIELD(device, nr_requests), WIRE_FIELD(device, iostats),
	WIRE_FIELD(device, hidden), WIRE_FIELD(device, stages),
};

static void put_table(struct wire_out *to, const struct device_table *t)
{
	u32 n = t ? t->n : 0;

	wire_put(to, n);
	for (u32 i = 0; i < n; i++) {
		const struct device *d = &t->d[i];

		WIRE_PUT_FIELDS(to, d, device_fields);
		wire_put(to, d->parent);
		wire_put(to, d->n_lower);
		for (u32 j = 0; j < d->n_lower; j++)
			wire_put(to, d->lower[j]);
	}
}

static int get_table(struct wire_in *from, struct device_table *t)
{
	u32 n = wire_get_count(from, DEVICES_MOST);

	t->d = calloc(n + 1, sizeof(*t->d));
	if (!t->d)
		return -ENOMEM;
	t->n = n;
	for (u32 i = 0; i < n; i++) {
		struct device *d = &t->d[i];

		WIRE_GET_FIELDS(from, d, device_fields);
		d->parent = wire_get_most(from, n - 1);
		d->n_lower = wire_get_count(from, ARRAY_SIZE(d->lower));
		for (u32 j = 0; j < d->n_lower; j++)
			d->lower[j] = wire_get_most(from, n - 1);
	}
	return 0;
}

/* --- a run ---------------------------------------------------------------------------------- */

/* Sinks compare addresses to see whether two watches are of the same device. */
static void put_watches(struct wire_out *to, const struct watch *w, u32 n)
{
	wire_put(to, n);
	for (u32 i = 0; i < n; i++) {
		bool same = i && w[i].device == w[i - 1].device;

		wire_put(to, w[i].stage);
		wire_put(to, same);
		if (!same)
			WIRE_PUT_FIELDS(to, w[i].device, device_fields);
		wire_put(to, w[i].part != NULL);
		if (w[i].part) {
			wire_put_text(to, w[i].part->by);
			wire_put_text(to, w[i].part->label);
		}
	}
}

/* Reads a part, which must be one that we know, behind its whole or another part of it. */
static bool get_part(struct wire_in *from, struct watch *w, bool first)
{
	char by[PART_TEXT], label[PART_LABEL_MAX];

	wire_get_text(from, by, sizeof(by));
	wire_get_text(from, label, sizeof(label));
	w->part = part_find(by, label);
	return w->part && !first && w->device == w[-1].device && w->stage == w[-1].stage;
}

static int get_watches(struct wire_in *from, struct wired_run *r)
{
	u32 n = wire_get_count(from, BLKLAT_MAX_WATCHES);
	struct device *next;

	r->watched = next = calloc(n + 1, sizeof(*r->watched));
	r->watches = calloc(n + 1, sizeof(*r->watches));
	if (!r->watched || !r->watches)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		r->watches[i].stage = wire_get_most(from, BLKLAT_STAGES - 1);
		/* The first can't have the same device as a previous one. */
		if (!wire_get_most(from, i ? 1 : 0))
			WIRE_GET_FIELDS(from, next++, device_fields);
		r->watches[i].device = next - 1;
		if (wire_get_most(from, 1) && !get_part(from, &r->watches[i], !i))
			return -EBADMSG;
	}
	r->info.watches = r->watches;
	r->info.n_watches = n;
	return 0;
}

static void put_percentiles(struct wire_out *to, const struct percentiles *ps)
{
	wire_put(to, ps->n);
	for (u32 i = 0; i < ps->n; i++) {
		wire_put_double(to, ps->p[i].q);
		wire_put_text(to, ps->p[i].name);
	}
}

static void get_percentiles(struct wire_in *from, struct percentiles *ps)
{
	ps->n = wire_get_count(from, PERCENTILES_MAX);
	for (u32 i = 0; i < ps->n; i++) {
		ps->p[i].q = wire_get_double(from);
		wire_get_text(from, ps->p[i].name, sizeof(ps->p[i].name));
	}
}

void wire_put_run(struct wire_out *to, const struct run_info *run, const struct watch *watches, u32 n)
{
	wire_put_text(to, run->version);
	wire_put_text(to, run->engine);
	wire_put(to, run->cpus);
	wire_put(to, run->scale);
	wire_put(to, run->memory_bytes);
	wire_put_double(to, run->interval_s);
	wire_put(to, run->slow_most);
	put_percentiles(to, &run->percentiles);
	put_table(to, run->devices);
	put_watches(to, watches, n);
}

static int get_run(struct wire_in *from, struct wired_run *r)
{
	struct run_info *info = &r->info;
	int err;

	info->version = r->version = wire_dup_text(from);
	info->engine = r->engine = wire_dup_text(from);
	info->cpus = wire_get_most(from, UINT32_MAX);
	info->scale = wire_get_most(from, BLKLAT_SCALE_MAX);
	info->memory_bytes = wire_get(from);
	info->interval_s = wire_get_double(from);
	info->slow_most = wire_get_most(from, UINT32_MAX);
	get_percentiles(from, &info->percentiles);
	err = get_table(from, &r->devices);
	err = err ?: get_watches(from, r);
	info->devices = &r->devices;
	return err ?: wire_ended(from) && r->version && r->engine ? 0 : -EBADMSG;
}

int wire_get_run(struct wire_in *from, struct wired_run *ret)
{
	int err;

	*ret = (struct wired_run){ 0 };
	err = get_run(from, ret);
	if (err)
		wired_run_free(ret);
	return err;
}

void wired_run_free(struct wired_run *r)
{
	free(r->version);
	free(r->engine);
	free(r->devices.d);
	free(r->watched);
	free(r->watches);
	*r = (struct wired_run){ 0 };
}
