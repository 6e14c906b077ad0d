// SPDX-License-Identifier: GPL-2.0-only
#include "service/member.h"

#include <errno.h>
#include <stdlib.h>

static int make_room(struct member *m, struct problem *p)
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
	err = err ?: make_room(m, p);
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
