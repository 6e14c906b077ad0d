// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

/*
 * Where a task can be preempted within a program, any program may run on top of itself, at any depth. Elsewhere only
 * an interrupt does that. It hardly ever starts an IO, but completes some: on top of a completion in a task, of one
 * that another CPU asked this one for, or of another device's.
 */
#define AT_FIRST_IF_PREEMPTIBLE 2
#define AT_FIRST_FOR_ENDS 1

/* A load may begin long after the capture, so time alone is no rest. */
#define REST_NS 10000000000ULL
#define REST_IOS 1000000

void standbys_init(struct standbys *s, const struct standby_need *need)
{
	*s = (struct standbys){
		.at_first = need->preemptible ? AT_FIRST_IF_PREEMPTIBLE : need->starts ? 0 : AT_FIRST_FOR_ENDS,
		.at_rest = need->preemptible,
	};
	if (need->asked >= 0)
		s->at_first = s->at_rest = need->asked;
	if (need->unguarded)
		s->at_first = s->at_rest = 0;
}

void standbys_changed(struct standbys *s, u64 now_ns, u64 ios)
{
	s->since_ns = now_ns;
	s->since_ios = ios;
}

u32 standbys_wanted(struct standbys *s, u32 n, bool first_skipped, bool last_skipped, u64 now_ns, u64 ios)
{
	if (first_skipped) {
		/* What was skipped once will be skipped again. */
		if (!s->at_rest)
			s->at_rest = 1;
		standbys_changed(s, now_ns, ios);
	}
	if (last_skipped)
		return n + 1;
	if (n > s->at_rest && now_ns > s->since_ns + REST_NS && ios > s->since_ios + REST_IOS)
		return n - 1;
	return n;
}
