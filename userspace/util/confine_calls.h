/* SPDX-License-Identifier: GPL-2.0-only */
/* The system calls that the processes of a service keep; see confine.h and confine_server.h. */
#ifndef UTIL_CONFINE_CALLS_H
#define UTIL_CONFINE_CALLS_H

#include "util/types.h"

/*
 * Of the process that captures. @writes: it will open a file for writing, the kernel module's device. Returns 0 or a
 * negative errno. Takes no_new_privs.
 */
int confine_calls(bool writes);

/* Of the process that serves: of connections that come in, and of threads. The same. */
int confine_calls_server(void);

#endif
