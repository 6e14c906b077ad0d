/* SPDX-License-Identifier: GPL-2.0-only */
/* A copy of a file that has no name, so that nobody else can reach it, and that is gone when it is closed. */
#ifndef RECORDING_PRIVATE_COPY_H
#define RECORDING_PRIVATE_COPY_H

#include "util/problem.h"

/*
 * Copies what regular file @from has into a file in $TMPDIR, or /var/tmp; holes stay holes. It takes no more than half
 * of what is free there. @name stands in the sentence. Returns 0, or a negative errno and a sentence.
 */
int private_copy(int from, const char *name, int *ret_fd, struct problem *p);

#endif
