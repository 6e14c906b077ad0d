/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

/* Has a thread do @work on @of, for which nobody waits. Returns 0 or a negative errno. */
int thread_start_detached(void *(*work)(void *of), void *of);

#endif
