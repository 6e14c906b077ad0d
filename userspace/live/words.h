/* SPDX-License-Identifier: GPL-2.0-only */
/* What text and the screen of top say in the same words. */
#ifndef LIVE_WORDS_H
#define LIVE_WORDS_H

#include <stdio.h>

#include "core/slow.h"

/* A path of a cgroup; of one that has more than @columns whose container it is, or its end, which says most. */
void words_short_path(char *ret, size_t size, const char *path, u32 columns);

/* When a slow IO ended, what it took, what and where it was; in so many columns, with two blanks behind. */
#define WORDS_SLOW_FIGURES 51
void words_slow_figures(FILE *f, const struct slow_io *io);

/* Who sent it, its cgroup in at most @columns, and what else there is to say of it. No control characters; without @utf8 ASCII alone. */
void words_slow_rest(FILE *f, const struct slow_io *io, u32 columns, bool utf8);

#endif
