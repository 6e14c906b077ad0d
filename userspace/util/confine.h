/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A service that runs for months needs little of what it took to start: the process that captures gives up the
 * rest. (The one that talks to the network has none of it: confine_server.h.)
 *
 * - Capabilities (libcap-ng): all are dropped, also from the bounding set where that may be done. What
 *   later captures take (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN where a kernel before 5.8 wants that) stays
 *   permitted if it is asked for, but in effect only in a thread that raises it, while it does so.
 * - no_new_privs: no program that is executed gets them back.
 * - A filter of system calls (libseccomp): no program is executed, no file is opened for writing but, where later captures
 *   are the kernel module's; no process is traced or signalled, no socket is made, no privilege is asked for.
 *   A call that is not allowed fails with EPERM.
 * - Landlock where the kernel has it: of files the module's device is the one that can be opened for writing, if any.
 */
#ifndef UTIL_CONFINE_H
#define UTIL_CONFINE_H

#include "util/problem.h"
#include "util/types.h"

struct confine {
	bool keep_capture;	/* later captures will be opened */
	const char *writes_to;	/* the one file that these open for writing; NULL: none */
	bool reads_need_bpf;	/* set by confine(): this kernel refuses every bpf() without CAP_BPF */
	bool filtered;		/* set by confine(): the filter of system calls is in place */
};

/*
 * Confines the calling thread and those that it starts from now on: to be called when the first capture is
 * open and there is no other thread. Returns 0, or a negative errno and a sentence; a kernel
 * without seccomp is no failure (see filtered).
 */
int confine(struct confine *c, struct problem *p);

/* The calling thread opens a capture: what was kept takes effect, or ceases to. Nothing when nothing was. */
void confine_raise(const struct confine *c);
void confine_lower(const struct confine *c);

/* The calling thread needs nothing at all, ever: gives up what was kept, too. */
void confine_thread(void);

#endif
