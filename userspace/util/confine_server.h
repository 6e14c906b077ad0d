/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the process that talks to the network keeps: the connections that come in, the descriptors that it has, memory,
 * threads. Whoever gets the better of it can open no file, make no socket, reach no other process.
 *
 * - It is another user, when root started it, and in no other group.
 * - It has no capability, permitted, inheritable or ambient, nor in its bounding set as far as that may be emptied.
 * - no_new_privs, no core dump, and no other process of its user may look into it (not dumpable).
 * - Landlock where the kernel has it: see landlock.h.
 * - A filter of system calls (libseccomp). What is not allowed fails with EPERM.
 * - It is killed when its parent ends, where both are the same user. (The kernel asks whether the parent may, and
 *   root without CAP_KILL may not; then it has to see for itself.)
 *
 * There is no limit of processes (RLIMIT_NPROC): it counts whatever its user has on the host, threads too, and the
 * filter lets it make threads only.
 */
#ifndef UTIL_CONFINE_SERVER_H
#define UTIL_CONFINE_SERVER_H

#include <sys/types.h>

#include "util/problem.h"
#include "util/user.h"

/*
 * Confines the calling process, which has one thread, for good. @user is NULL when it stays who it is. @parent
 * is who started it. Returns 0, or a negative errno and a sentence; a kernel without seccomp or Landlock is no failure.
 */
int confine_server(const struct user *user, pid_t parent, struct problem *p);

#endif
