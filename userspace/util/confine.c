// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/bpf_call.h"
#include "util/confine_calls.h"
#include "util/landlock.h"

/* New in Linux 5.8; libcap-ng's header may be older than the kernel. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const unsigned int for_capture[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };

/* With CAP_BPF there is no need for CAP_SYS_ADMIN, which permits nearly everything. */
static u32 n_for_capture(void)
{
	return capng_have_capability(CAPNG_PERMITTED, CAP_BPF) ? 2 : 3;
}

static void change(capng_act_t act, capng_type_t type, unsigned int capability)
{
	if (act == CAPNG_DROP || capng_have_capability(CAPNG_PERMITTED, capability))
		capng_update(act, type, capability);
}

static int drop(struct confine *c)
{
	bool keep[3] = { false };
	u32 n = n_for_capture();

	for (u32 i = 0; i < n; i++)
		keep[i] = capng_have_capability(CAPNG_PERMITTED, for_capture[i]);
	/*
	 * Possible only while we have CAP_SETPCAP; a service without it has the bounding set that its
	 * unit sets.
	 */
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)) {
		capng_clear(CAPNG_SELECT_BOUNDS);
		if (capng_apply(CAPNG_SELECT_BOUNDS))
			return -EPERM;
	}
	capng_clear(CAPNG_SELECT_CAPS);
	for (u32 i = 0; c->keep_capture && i < n; i++)
		if (keep[i])
			capng_update(CAPNG_ADD, CAPNG_PERMITTED, for_capture[i]);
	if (keep[0])
		capng_update(CAPNG_ADD, CAPNG_PERMITTED, CAP_BPF);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	c->reads_need_bpf = bpf_call_refused();
	if (c->reads_need_bpf)
		change(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_BPF);
	else if (!c->keep_capture)
		capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int confine(struct confine *c, struct problem *p)
{
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return problem_set(p, -errno, "could not give up privileges: %s", strerror(errno));
	if (capng_get_caps_process() || drop(c))
		return problem_set(p, -EPERM, "could not give up capabilities");
	err = landlock_write_only(c->keep_capture ? c->writes_to : NULL);
	if (err && err != -EOPNOTSUPP)
		return problem_set(p, err, "could not give up writing to files: %s", strerror(-err));
	err = confine_calls(c->keep_capture && c->writes_to);
	c->filtered = !err;
	if (err && err != -EINVAL && err != -EOPNOTSUPP && err != -ENOSYS)
		return problem_set(p, err, "could not filter system calls: %s", strerror(-err));
	return 0;
}

static int in_effect(const struct confine *c, capng_act_t act)
{
	if (!c->keep_capture)
		return 0;
	if (capng_get_caps_process())
		return -1;
	for (u32 i = 0; i < n_for_capture(); i++)
		if (act == CAPNG_ADD || !c->reads_need_bpf || for_capture[i] != CAP_BPF)
			change(act, CAPNG_EFFECTIVE, for_capture[i]);
	return capng_apply(CAPNG_SELECT_CAPS);
}

static int none_left(void)
{
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS);
}

/* A thread may always give up capabilities (capabilities(7)). If not, we had rather end than run with them. */
static void must(int err)
{
	if (!err)
		return;
	fputs("blklat: a thread could not give up its capabilities\n", stderr);
	abort();
}

/* Without them the capture can't be opened, and says why. */
void confine_raise(const struct confine *c)
{
	in_effect(c, CAPNG_ADD);
}

void confine_lower(const struct confine *c)
{
	must(in_effect(c, CAPNG_DROP));
}

void confine_thread(void)
{
	must(none_left());
}
