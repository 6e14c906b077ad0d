/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A service that runs for months needs few of the privileges that it started with: the process that captures
 * gives up the rest. (The process that talks to the network keeps none of them: confine_server.h.)
 *
 * - Capabilities (libcap-ng): all are dropped, from the bounding set too if that is allowed. If later captures
 *   will be opened, the capabilities that these need (CAP_BPF and CAP_PERFMON; CAP_SYS_ADMIN on kernels before
 *   5.8) stay permitted, but are effective only in a thread that raises them, and only while it does.
 * - no_new_privs: executing a program does not give them back.
 * - A filter of system calls (libseccomp): it can't execute programs, trace or signal processes, make sockets or
 *   ask for privileges, nor open a file for writing, except for later captures of the kernel module. A call that
 *   is not allowed fails with EPERM.
 * - Landlock if the kernel has it: the module's device is the only file that can be opened for writing, if any.
 */
#ifndef UTIL_CONFINE_H
#define UTIL_CONFINE_H

#include "util/problem.h"
#include "util/types.h"

struct confine {
	bool keep_capture;	/* later captures will be opened */
	const char *writes_to;	/* the only file that captures open for writing; NULL: none */
	bool reads_need_bpf;	/* set by confine(): this kernel refuses every bpf() without CAP_BPF */
	bool filtered;		/* set by confine(): the filter of system calls is in place */
};

/*
 * Confines the calling thread and the threads that it starts from now on. Must be called after the
 * first capture was opened and before there is a second thread. Returns 0, or a negative errno and a
 * sentence. A kernel without seccomp is not an error (see filtered).
 */
int confine(struct confine *c, struct problem *p);

/*
 * Called by the thread that opens a capture, before and after: raises the capabilities that were kept,
 * or lowers them again, or ends the process with a line on stderr. Does nothing if none were kept.
 */
void confine_raise(const struct confine *c);
void confine_lower(const struct confine *c);

/*
 * For a thread that never needs any privilege: gives up the capabilities that were kept, too, or ends the
 * process with a line on stderr. Not for the server's process: it has none to give up, and may not ask.
 */
void confine_thread(void);

#endif
