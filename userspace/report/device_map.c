// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <errno.h>
#include <string.h>

const char *device_maps_other(const struct device_maps *m, const char *base)
{
	for (u32 i = 0; i < m->n; i++)
		if (!strcmp(m->m[i].base, base))
			return m->m[i].other;
	return NULL;
}

bool device_maps_has_other(const struct device_maps *m, const char *other)
{
	for (u32 i = 0; i < m->n; i++)
		if (!strcmp(m->m[i].other, other))
			return true;
	return false;
}

static int take_pair(struct device_maps *m, const char *pair, int len, struct problem *p)
{
	const char *equals = memchr(pair, '=', len);
	int base = equals ? equals - pair : 0, other = equals ? len - base - 1 : 0;

	if (!base || !other || base >= DEVICE_NAME_MAX || other >= DEVICE_NAME_MAX || memchr(equals + 1, '=', other))
		return problem_set(p, -EINVAL, "--map '%.*s' must be a device of the baseline and one of the others, as in nullb0=md0",
				   len, pair);
	if (m->n == DEVICE_MAPS_MAX)
		return problem_set(p, -EINVAL, "--map takes at most %d pairs: name fewer", DEVICE_MAPS_MAX);
	memcpy(m->m[m->n].base, pair, base);
	memcpy(m->m[m->n].other, equals + 1, other);
	m->m[m->n].base[base] = m->m[m->n].other[other] = '\0';
	if (device_maps_other(m, m->m[m->n].base) || device_maps_has_other(m, m->m[m->n].other))
		return problem_set(p, -EINVAL, "--map '%.*s': one of the two is in a pair already; name each device once", len, pair);
	m->n++;
	return 0;
}

int device_maps_take(struct device_maps *m, const char *value, struct problem *p)
{
	for (;;) {
		int len = strcspn(value, ","), err = take_pair(m, value, len, p);

		if (err || !value[len])
			return err;
		value += len + 1;
	}
}

/* The stages at which a run has a device, as a bit set. */
static u32 stages_of(const struct run *r, const char *name)
{
	u32 stages = 0;

	for (u32 i = 0; i < r->n_watches; i++)
		if (!strcmp(r->watches[i].watch->device->name, name))
			stages |= 1u << r->watches[i].watch->stage;
	return stages;
}

int device_maps_check(const struct device_maps *m, const struct run *base, const struct run *others, u32 n,
		      struct problem *p)
{
	for (u32 i = 0; i < m->n; i++) {
		const char *a = m->m[i].base, *b = m->m[i].other;
		u32 stages = 0, of_base = stages_of(base, a);

		for (u32 r = 0; r < n; r++)
			stages |= stages_of(&others[r], b);
		if (!of_base)
			return problem_set(p, -EINVAL, "--map '%s=%s': the baseline, %s, has no '%s'; 'blklat report -f json' lists its "
					   "devices", a, b, base->origin.file, a);
		if (!stages)
			return problem_set(p, -EINVAL, "--map '%s=%s': no recording beside the baseline has '%s'; 'blklat report -f json' "
					   "lists their devices", a, b, b);
		if (!(stages & of_base))
			return problem_set(p, -EINVAL, "--map '%s=%s': they were recorded at different stages, which can't be compared; "
					   "record both with --stage total", a, b);
	}
	return 0;
}
