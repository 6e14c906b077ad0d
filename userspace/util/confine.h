/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A service that runs for months needs few of the privileges that it started with: the process that captures
 * gives up the rest. (The process that talks to the network keeps none of them: confine_server().)
 *
 * - Capabilities (libcap-ng): all are dropped, from the bounding set too if that is allowed. If devices will be
 *   added, the capabilities that this needs (CAP_BPF and CAP_PERFMON; CAP_SYS_ADMIN on kernels before
 *   5.8) stay permitted, but are effective only in a thread that raises them, and only while it does.
 * - no_new_privs: executing a program does not give them back.
 * - A filter of system calls (libseccomp): it can't execute programs, trace or signal processes, make sockets or
 *   ask for privileges, nor open a file for writing, except for another capture of the kernel module. A call that
 *   is not allowed fails with EPERM.
 * - Landlock if the kernel has it: the module's device is the only file that can be opened for writing, if any.
 */
#ifndef UTIL_CONFINE_H
#define UTIL_CONFINE_H

#include <sys/types.h>

#include "util/problem.h"
#include "util/types.h"

struct confine {
	bool keep_capture;	/* devices will be added, or another capture opened */
	const char *writes_to;	/* the only file that captures open for writing; NULL: none */
	bool reads_need_bpf;	/* set by confine(): this kernel refuses every bpf() without CAP_BPF */
	bool filtered;		/* set by confine(): the filter of system calls is in place */
};

/*
 * Confines the calling thread and the threads that it starts from now on. Must be called after the
 * capture was opened and before there is a second thread. Returns 0, or a negative errno and a
 * sentence. A kernel without seccomp is not an error (see filtered).
 */
int confine(struct confine *c, struct problem *p);

/*
 * Called by the thread that captures, before and after it adds devices: raises the capabilities that were kept,
 * or lowers them again, or ends the process with a line on stderr. Does nothing if none were kept.
 */
void confine_raise(const struct confine *c);
void confine_lower(const struct confine *c);

/*
 * For a thread that never needs any privilege: gives up the capabilities that were kept, too, or ends the
 * process with a line on stderr. Not for the server's process: it has none to give up, and may not ask.
 */
void confine_thread(void);

/* Another user, whom a process that root started becomes. */
struct user {
	const char *name;	/* borrowed */
	uid_t uid;
	gid_t gid;		/* its own group */
};

/* Returns 0, or -EINVAL and a sentence: there is no such user, or it is root too. "nobody" always exists. */
int user_find(const char *name, struct user *ret, struct problem *p);

/*
 * What the process that talks to the network keeps: the connections that come in, the descriptors that
 * it has, memory, threads. An attacker who takes it over can open no file, make no socket, and reach no
 * other process.
 *
 * - If root started it, it runs as another user, without supplementary groups.
 * - It has no permitted, inheritable or ambient capabilities, and its bounding set is emptied as far as allowed.
 * - no_new_privs, no core dump, and no other process of its user may look into it (not dumpable).
 * - Landlock if the kernel has it: see landlock_only_below().
 * - A filter of system calls (libseccomp). What is not allowed fails with EPERM.
 * - It is killed when its parent ends, if both run as the same user. (The kernel checks whether the parent may
 *   signal it, and root without CAP_KILL may not.)
 *
 * The number of processes (RLIMIT_NPROC) is not limited: that limit counts all processes and threads of
 * its user on the host, and the filter lets it create threads only.
 *
 * Confines the calling process, which has only one thread, for good. @user: the user to become, or NULL
 * to stay the same. @parent: the process that started it. Returns 0, or a negative errno and a
 * sentence. A kernel without seccomp or Landlock is not an error.
 */
int confine_server(const struct user *user, pid_t parent, struct problem *p);

/*
 * The same for a process that makes connections, and takes none: it can make sockets of IP, and read @files, or what
 * is below them, those of them that exist (ended by NULL).
 */
int confine_client(const struct user *user, pid_t parent, const char *const *files, struct problem *p);

/*
 * The same for a process that keeps files in @folder, as that exists now: it stays the same user, and can make no
 * connections and open no files elsewhere.
 */
int confine_to_folder(const char *folder, pid_t parent, struct problem *p);

/*
 * Landlock (Linux 5.13): from now on the calling thread, and those that it starts, can't open, make, remove
 * or execute any file, but those in @folder, as it exists now (NULL: none), which they read, write, make and remove.
 * From Linux 6.7 on they can't bind or connect TCP sockets either; from 6.12 on they can't reach abstract Unix sockets
 * of other processes, or signal these. Open descriptors stay usable. Requires no_new_privs. Returns 0, or a negative
 * errno: -EOPNOTSUPP if the kernel can't do it.
 */
int landlock_only_below(const char *folder);

/*
 * The same for a process that still has to read files: it can make, remove or execute no file, and
 * write to none but @file, as it exists now (NULL: to none at all).
 */
int landlock_write_only(const char *file);

/*
 * The same, but TCP can be connected, and @files, and what is below those that are folders, can be read. Ended by
 * NULL.
 */
int landlock_connect(const char *const *files);

#endif
