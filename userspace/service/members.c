// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/scout.h"
#include "service/service_state.h"
#include "util/array.h"

static int begin_intervals(struct member *m, struct problem *p)
{
	const struct capture *c = m->capture;
	int err = intervals_init(&m->intervals, m->capture);

	if (err)
		return problem_set(p, err, "out of memory");
	m->present = c->n_watches;
	return c->live ? 0 : intervals_begin(&m->intervals, p);
}

int member_open(const struct capture_ops *engine, struct capture_config *cfg, struct device_table *devices,
		struct member **ret, struct problem *p)
{
	struct member *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		device_table_free(devices);
		return problem_set(p, -ENOMEM, "out of memory");
	}
	m->devices = *devices;
	*devices = (struct device_table){ 0 };
	cfg->devices = &m->devices;
	err = capture_open_present(engine, cfg, &m->capture, p);
	err = err ?: begin_intervals(m, p);
	if (err) {
		member_close(m);
		return err;
	}
	*ret = m;
	return 0;
}

int member_read(struct member *m, const struct percentiles *ps, struct problem *p)
{
	int err = intervals_next(&m->intervals, ps, p);

	if (err)
		return err;
	m->present = 0;
	for (u32 i = 0; i < m->capture->n_watches; i++)
		m->present += !m->intervals.frames.f[i].gone;
	return 0;
}

const struct device *member_outgrown(struct member *m)
{
	const struct frames *fs = &m->intervals.frames;

	for (u32 i = 0; i < fs->n; i++) {
		const struct frame *f = &fs->f[i];

		if ((f->tag_range || i == m->turn) && !f->gone && !capture_fits(m->capture, i))
			return f->watch->device;
	}
	do
		m->turn = (m->turn + 1) % fs->n;
	while (fs->f[m->turn].watch->part);
	return NULL;
}

void member_close(struct member *m)
{
	if (!m)
		return;
	if (m->capture)
		m->capture->ops->close(m->capture);
	intervals_uninit(&m->intervals);
	device_table_free(&m->devices);
	free(m);
}

u32 service_watches(const struct service *s)
{
	u32 n = 0;

	for (const struct member *m = s->members; m; m = m->next)
		n += m->capture->n_watches;
	return n;
}

static int make_slow_room(struct service *s, u32 n)
{
	struct slow_ios slow = { 0 };
	int err = s->info.slow_most ? slow_ios_init(&slow, n, s->info.slow_most) : 0;

	if (err)
		return err;
	slow_ios_uninit(&s->slow);
	s->slow = slow;
	return 0;
}

static int make_room(struct service *s)
{
	u32 n = service_watches(s);

	if (n <= s->room)
		return 0;
	if (array_grow(&s->frames.f, sizeof(*s->frames.f), n) || array_grow(&s->watches, sizeof(*s->watches), n) ||
	    array_grow(&s->numbers, sizeof(*s->numbers), n) || make_slow_room(s, n))
		return -ENOMEM;
	s->room = n;
	return 0;
}

/*
 * Makes the description of all members for the sinks. When the last member goes, everything that was
 * borrowed from it goes too.
 */
static int describe(struct service *s)
{
	static const struct device_table none;
	u32 n = 0;
	int err;

	for (const struct member *m = s->members; m; m = m->next)
		if (m->capture->slow)
			s->info.slow_most = m->capture->slow->most;
	err = make_room(s);
	if (err)
		return err;
	s->info.memory_bytes = 0;
	s->info.engine = s->cfg->scout->engine->name;
	s->info.devices = &none;
	s->info.origin = NULL;
	for (const struct member *m = s->members; m; m = m->next) {
		const struct capture *c = m->capture;

		memcpy(s->watches + n, c->watches, c->n_watches * sizeof(*c->watches));
		n += c->n_watches;
		s->info.memory_bytes += c->memory_bytes;
		s->info.engine = c->engine;
		s->info.cpus = c->cpus;
		s->info.scale = c->scale;
		s->info.devices = c->devices;
		s->info.origin = c->origin;
	}
	s->info.watches = s->watches;
	s->info.n_watches = n;
	return 0;
}

void service_close_sinks(struct service *s)
{
	for (u32 i = 0; i < s->cfg->n_sinks; i++) {
		sink_close(s->sinks[i]);
		s->sinks[i] = NULL;
	}
}

static int open_sinks(struct service *s)
{
	int err = 0;

	for (u32 i = 0; !err && i < s->cfg->n_sinks; i++)
		err = s->cfg->sinks[i]->open(s->cfg->sinks[i], &s->info, &s->sinks[i]);
	return err;
}

int service_members_changed(struct service *s, struct problem *p)
{
	int err = describe(s);

	if (!err && !s->sinks[0])
		err = open_sinks(s);
	return err ? problem_set(p, err, "could not show the devices: %s", strerror(-err)) : 0;
}

int service_add_member(struct service *s, struct member *m, struct problem *p)
{
	const struct capture *c = m->capture;
	struct member **end = &s->members;

	while (*end)
		end = &(*end)->next;
	m->next = NULL;
	*end = m;
	s->n_members++;
	for (u32 i = 0; i < c->n_watches; i++)
		if (!i || c->watches[i].device != c->watches[i - 1].device)
			s->cfg->hooks.came(s->cfg->hooks.into, c->watches[i].device);
	s->join = s->n_members > SERVICE_MEMBERS_MAX;
	return service_members_changed(s, p);
}

void service_end_member(struct service *s, struct member *m)
{
	if (s->scout)
		scout_close(s->scout, m);
	else
		member_close(m);
}

/* Closes members that have no device left. Returns 0 or a negative errno. */
int service_drop_members(struct service *s, struct problem *p)
{
	struct member **at = &s->members;
	bool any = false;

	while (*at) {
		struct member *m = *at;

		if (m->present || !m->capture->live) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		s->n_members--;
		s->skipped_before += m->intervals.frames.skipped_unexplained;
		service_end_member(s, m);
		any = true;
	}
	if (!s->members && !s->cfg->follow)
		service_stop_watching(s, "no watched device is left");
	return any ? service_members_changed(s, p) : 0;
}
