/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

/* Starts a detached thread that runs @work on @of. Returns 0 or a negative errno. */
int thread_start_detached(void *(*work)(void *of), void *of);

#endif
