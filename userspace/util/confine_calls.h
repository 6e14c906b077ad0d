/* SPDX-License-Identifier: GPL-2.0-only */
/* The system call filters of the two processes of a service; see confine.h and confine_server.h. */
#ifndef UTIL_CONFINE_CALLS_H
#define UTIL_CONFINE_CALLS_H

#include "util/types.h"

/*
 * Filters the calls of the process that captures. @writes: it will open a file for writing, the kernel
 * module's device. Requires no_new_privs. Returns 0 or a negative errno.
 */
int confine_calls(bool writes);

/*
 * Filters the calls of the process that serves: it may accept connections and start threads. Requires
 * and returns the same.
 */
int confine_calls_server(void);

#endif
