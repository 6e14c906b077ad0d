// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/service_state.h"
#include "util/cleanup.h"

#define HEIR_PATIENCE 10		/* intervals */

/* --- one capture in place of several ------------------------------------------------------- */

/*
 * Whether everything that was in flight when the heir opened has ended: all IOs in flight began later.
 * The heir does not know of earlier ones.
 */
static bool settled(const struct service *s)
{
	u64 opened_ns = intervals_read_ns(&s->heir->intervals);

	for (const struct member *m = s->members; m; m = m->next) {
		const struct frames *fs = &m->intervals.frames;

		for (u32 i = 0; i < fs->n; i++)
			if (!fs->f[i].gone && fs->f[i].in_flight && fs->f[i].oldest_ns > fs->mono_ns - opened_ns)
				return false;
	}
	return true;
}

int service_heir_read(struct service *s, struct problem *p)
{
	struct intervals *in = &s->heir->intervals;

	return in->capture->ops->read(in->capture, &in->snapshots[!in->now], p);
}

bool service_heir_begins(struct service *s)
{
	if (!s->heir || (!settled(s) && ++s->heir_waited < HEIR_PATIENCE))
		return false;
	s->slow_until_ns = s->heir->capture->slow_ns - CAPTURE_SLOW_TOLD_NS;
	return true;
}

static int join(struct service *s, u64 *ret_gap_ns)
{
	struct capture_end *from CLEANUP(cleanup_free) = calloc(s->n_members + 1, sizeof(*from));
	struct intervals *in = &s->heir->intervals;
	struct snapshot *begin = &in->snapshots[in->now];
	u32 n = 0;
	int err;

	if (!from)
		return -ENOMEM;
	for (const struct member *m = s->members; m; m = m->next)
		from[n++] = (struct capture_end){ m->capture, &m->intervals.snapshots[m->intervals.now] };
	err = capture_join(in->capture, &in->snapshots[!in->now], from, n, begin, ret_gap_ns);
	for (u32 i = 0; !err && i < begin->n; i++)
		in->frames.f[i].gone = begin->w[i].gone;
	return err;
}

int service_heir_takes_over(struct service *s, struct problem *p)
{
	struct member *old = s->members;
	u64 gap_ns;
	int err = join(s, &gap_ns);

	if (err)
		return problem_set(p, err, "out of memory");
	s->members = TAKE(s->heir);
	s->n_members = 1;
	s->heir_waited = 0;
	s->outgrown_ns = 0;
	s->cfg->hooks.joined(s->cfg->hooks.into, gap_ns);
	while (old) {
		struct member *next = old->next;

		frames_inherit(&s->members->intervals.frames, &old->intervals.frames);
		service_end_member(s, old);
		old = next;
	}
	err = service_members_changed(s, p);
	if (!err)
		service_begin_slow(s);
	s->slow_until_ns = UINT64_MAX;
	return err;
}

/* --- devices ------------------------------------------------------------------------------- */

/* The memory left for more devices; never 0, which would mean the default. */
static u64 room_beside(u64 limit, u64 used)
{
	return limit > used ? limit - used : 1;
}

void service_look(struct service *s)
{
	struct known *known CLEANUP(cleanup_free) = calloc(service_watches(s) + 1, sizeof(*known));
	u64 limit = s->cfg->scout->capture.max_memory, used = s->info.memory_bytes;
	u32 n = 0;

	s->look_ns = now_ns() + SERVICE_LOOK_NS;
	if (!known || s->heir)
		return;
	for (const struct member *m = s->members; m; m = m->next) {
		for (u32 i = 0; i < m->capture->n_watches; i++) {
			const struct watch *w = &m->capture->watches[i];

			if (m->intervals.frames.f[i].gone || w->part)
				continue;
			known[n] = (struct known){ .major = w->device->major, .minor = w->device->minor, .stage = w->stage };
			strcpy(known[n++].name, w->device->name);
		}
	}
	if (limit && !s->join && s->members)
		limit = room_beside(limit, used);
	scout_limit(s->scout, limit);
	if (scout_look(s->scout, known, n, s->join))
		s->join = false;
	else
		s->look_ns = now_ns() + SERVICE_SETTLE_NS;
}

void service_outgrown(struct service *s)
{
	const struct device *d = NULL;
	struct problem p;

	if (s->heir || s->join || now_ns() < s->outgrown_ns)
		return;
	for (struct member *m = s->members; !d && m; m = m->next)
		if (m->capture->live)
			d = member_outgrown(m);
	if (!d)
		return;
	s->outgrown_ns = s->scout ? now_ns() + SERVICE_OUTGROWN_NS : UINT64_MAX;
	s->look_ns = now_ns();
	s->join = s->scout;
	problem_set(&p, 0, "%s has more tags now than there is room for, and IOs with tags beyond that are lost: %s", d->name,
		    s->scout ? "a larger capture will take over" : "restart the service, which has given up the privileges that "
		    "opening another capture takes");
	service_tell_failure(s, &p);
}

int service_take_scouted(struct service *s, struct problem *p)
{
	struct scouted found;

	if (!scout_take(s->scout, &found))
		return 0;
	if (found.err == -E2BIG && !found.anew) {
		/* There is no room beside the others, whose CPUs have series of their own, but there may be for all at once. */
		s->join = true;
		s->look_ns = now_ns();
		return 0;
	}
	if (found.err)
		service_tell_failure(s, &found.problem);
	else
		s->told[0] = '\0';
	if (!found.member)
		return 0;
	if (found.anew) {
		s->heir = found.member;
		return 0;
	}
	return service_add_member(s, found.member, p);
}
