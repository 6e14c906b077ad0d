// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/phases.h"

/* Finds the phase of this name that has figures and @before others like it before it. */
static const struct phase *find(const struct run *r, const char *name, u32 before)
{
	for (u32 i = 0; i < r->phases.n; i++) {
		const struct phase *p = &r->phases.p[i];

		if (p->n && !strcmp(p->name, name) && !before--)
			return p;
	}
	return NULL;
}

static u32 namesakes_before(const struct run *r, const struct phase *p)
{
	u32 n = 0;

	for (const struct phase *other = r->phases.p; other < p; other++)
		n += other->n && !strcmp(other->name, p->name);
	return n;
}

static bool in_all(const struct comparison *c, const struct run *r, const struct phase *p)
{
	u32 before = namesakes_before(r, p);
	bool all = p->n > 0;

	for (u32 i = 0; i < c->n_runs; i++)
		all &= find(&c->runs[i], p->name, before) != NULL;
	return all;
}

/* After a failure, comparison_phases_uninit() frees what was made. */
static int phase_make(const struct comparison *c, const struct phase *p, struct compared_phase *of)
{
	u32 before = namesakes_before(&c->runs[0], p);
	int err = 0;

	of->name = p->name;
	of->runs = calloc(c->n_runs, sizeof(*of->runs));
	if (!of->runs)
		return -ENOMEM;
	for (u32 i = 0; !err && i < c->n_runs; i++)
		err = phase_run_make(&c->runs[i], find(&c->runs[i], p->name, before), &of->runs[i]);
	return err ?: comparison_make(of->runs, c->n_runs, c->n_base, c->maps, &of->c);
}

int comparison_phases_make(struct comparison *c)
{
	const struct phases *base = &c->runs[0].phases;
	int err = 0;

	if (!base->n)
		return 0;
	c->phases = calloc(base->n, sizeof(*c->phases));
	if (!c->phases)
		return -ENOMEM;
	for (u32 i = 0; !err && i < base->n; i++)
		if (in_all(c, &c->runs[0], &base->p[i]))
			err = phase_make(c, &base->p[i], &c->phases[c->n_phases++]);
	return err;
}

void comparison_phases_uninit(struct comparison *c)
{
	for (struct compared_phase *of = c->phases; of < c->phases + c->n_phases; of++) {
		comparison_uninit(&of->c);
		for (u32 i = 0; of->runs && i < c->n_runs; i++)
			phase_run_free(&of->runs[i]);
		free(of->runs);
	}
	free(c->phases);
}

void comparison_phases_unpaired(const struct comparison *c,
				void (*tell)(void *to, const struct run *run, const struct phase *p), void *to)
{
	for (u32 r = 0; r < c->n_runs; r++)
		for (u32 i = 0; i < c->runs[r].phases.n; i++)
			if (c->runs[r].phases.p[i].n && !in_all(c, &c->runs[r], &c->runs[r].phases.p[i]))
				tell(to, &c->runs[r], &c->runs[r].phases.p[i]);
}
