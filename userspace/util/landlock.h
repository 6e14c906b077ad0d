/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets a process give up access to the file system, or to most of it, where the kernel supports that
 * (Landlock, Linux 5.13).
 */
#ifndef UTIL_LANDLOCK_H
#define UTIL_LANDLOCK_H

/*
 * From now on the calling thread, and those that it starts, can't open, make, remove or execute any
 * file. From Linux 6.7 on they can't bind or connect TCP sockets either; from 6.12 on they can't reach
 * abstract Unix sockets of other processes, or signal these. Open descriptors stay usable. Requires
 * no_new_privs. Returns 0, or a negative errno: -EOPNOTSUPP if the kernel can't do it.
 */
int landlock_shut_out(void);

/*
 * The same for a process that still has to read files: it can make, remove or execute no file, and
 * write to none but @file, as it exists now (NULL: to none at all).
 */
int landlock_write_only(const char *file);

#endif
