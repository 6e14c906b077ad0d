// SPDX-License-Identifier: GPL-2.0-only
#include "service/member.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/clock.h"

static int make_room(struct member *m, struct problem *p)
{
	const struct capture *c = m->capture;
	int err = snapshot_init(&m->snapshots[0], c->n_watches, c->scale);

	err = err ?: snapshot_init(&m->snapshots[1], c->n_watches, c->scale);
	err = err ?: frames_init(&m->frames, c->watches, c->n_watches, c->scale);
	if (err)
		return problem_set(p, err, "out of memory");
	snapshot_track(&m->snapshots[0]);
	snapshot_track(&m->snapshots[1]);
	frames_track(&m->frames);
	m->present = c->n_watches;
	m->snapshots[0].mono_ns = clock_ns(CLOCK_MONOTONIC);
	m->snapshots[0].wall_ns = clock_ns(CLOCK_REALTIME);
	return c->live ? 0 : member_begin(m, p);
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
	err = engine->open(cfg, &m->capture, p);
	err = err ?: make_room(m, p);
	if (err) {
		member_close(m);
		return err;
	}
	*ret = m;
	return 0;
}

int member_begin(struct member *m, struct problem *p)
{
	return m->capture->ops->read(m->capture, &m->snapshots[m->now], p);
}

int member_read(struct member *m, const struct percentiles *ps, struct problem *p)
{
	struct capture *c = m->capture;
	int err = c->ops->read(c, &m->snapshots[!m->now], p);

	if (err)
		return err;
	m->now = !m->now;
	frames_between(&m->frames, &m->snapshots[!m->now], &m->snapshots[m->now], ps, c->cpus);
	m->present = 0;
	for (u32 i = 0; i < c->n_watches; i++)
		m->present += !m->snapshots[m->now].w[i].gone;
	return 0;
}

const struct device *member_outgrown(struct member *m)
{
	const struct snapshot *now = &m->snapshots[m->now], *before = &m->snapshots[!m->now];

	for (u32 i = 0; i < now->n; i++) {
		bool lost = now->w[i].accounts[BLKLAT_TAG_RANGE] != before->w[i].accounts[BLKLAT_TAG_RANGE];

		if ((lost || i == m->turn) && !now->w[i].gone && !capture_fits(m->capture, i))
			return m->capture->watches[i].device;
	}
	m->turn = (m->turn + 1) % now->n;
	return NULL;
}

bool member_gone_before(const struct member *m, u32 i)
{
	return m->snapshots[!m->now].w[i].gone;
}

bool member_just_gone(const struct member *m, u32 i)
{
	return m->snapshots[m->now].w[i].gone && !member_gone_before(m, i);
}

void member_close(struct member *m)
{
	if (!m)
		return;
	if (m->capture)
		m->capture->ops->close(m->capture);
	snapshot_uninit(&m->snapshots[0]);
	snapshot_uninit(&m->snapshots[1]);
	frames_uninit(&m->frames);
	device_table_free(&m->devices);
	free(m);
}
