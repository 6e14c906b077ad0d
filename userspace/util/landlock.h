/* SPDX-License-Identifier: GPL-2.0-only */
/* A process shuts itself out of the file system, or of most of it, where the kernel can do that (Landlock, Linux 5.13). */
#ifndef UTIL_LANDLOCK_H
#define UTIL_LANDLOCK_H

/*
 * From now on the calling thread, and those that it starts, can open, make, remove or execute no file; from Linux
 * 6.7 on they can't bind or connect TCP sockets, from 6.12 on reach no abstract Unix socket, and signal no process, of
 * others. What is open stays usable. Takes no_new_privs. Returns 0, or a negative errno: -EOPNOTSUPP
 * where the kernel can't.
 */
int landlock_shut_out(void);

/*
 * The same for who has to read: it can make, remove or execute no file, and write to none but @file, as it is now (NULL: to
 * none at all).
 */
int landlock_write_only(const char *file);

#endif
