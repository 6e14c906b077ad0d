/* SPDX-License-Identifier: GPL-2.0-only */
/* The system calls that a confined service keeps; see confine.h. */
#ifndef UTIL_CONFINE_CALLS_H
#define UTIL_CONFINE_CALLS_H

#include "util/types.h"

/* @capture: later captures will be opened. Returns 0 or a negative errno. Takes no_new_privs. */
int confine_calls(bool capture);

#endif
