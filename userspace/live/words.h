/* SPDX-License-Identifier: GPL-2.0-only */
/* Wording shared by the text output and the screen of top. */
#ifndef LIVE_WORDS_H
#define LIVE_WORDS_H

#include <stdio.h>

#include "core/slow.h"

/*
 * A cgroup's path. If it is longer than @columns, the container that it belongs to, or the end of the path, which
 * says most.
 */
void words_short_path(char *ret, size_t size, const char *path, u32 columns);

/*
 * When a slow IO completed, how long it took, what it was and where, in WORDS_SLOW_FIGURES columns, including two
 * blanks at the end.
 */
#define WORDS_SLOW_FIGURES 51
void words_slow_figures(FILE *f, const struct slow_io *io);

/*
 * Who issued it, its cgroup in at most @columns, and what else is known about it. Without control characters; only
 * ASCII unless @utf8.
 */
void words_slow_rest(FILE *f, const struct slow_io *io, u32 columns, bool utf8);

#endif
