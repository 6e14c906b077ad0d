/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the process that talks to the network keeps: the connections that come in, the descriptors that
 * it has, memory, threads. An attacker who takes it over can open no file, make no socket, and reach no
 * other process.
 *
 * - If root started it, it runs as another user, without supplementary groups.
 * - It has no permitted, inheritable or ambient capabilities, and its bounding set is emptied as far as allowed.
 * - no_new_privs, no core dump, and no other process of its user may look into it (not dumpable).
 * - Landlock if the kernel has it: see landlock.h.
 * - A filter of system calls (libseccomp). What is not allowed fails with EPERM.
 * - It is killed when its parent ends, if both run as the same user. (The kernel checks whether the parent may
 *   signal it, and root without CAP_KILL may not. Then it has to notice the parent's end by itself.)
 *
 * The number of processes (RLIMIT_NPROC) is not limited: that limit counts all processes and threads of
 * its user on the host, and the filter lets it create threads only.
 */
#ifndef UTIL_CONFINE_SERVER_H
#define UTIL_CONFINE_SERVER_H

#include <sys/types.h>

#include "util/problem.h"
#include "util/user.h"

/*
 * Confines the calling process, which has only one thread, for good. @user: the user to become, or NULL
 * to stay the same. @parent: the process that started it. Returns 0, or a negative errno and a
 * sentence. A kernel without seccomp or Landlock is not an error.
 */
int confine_server(const struct user *user, pid_t parent, struct problem *p);

#endif
