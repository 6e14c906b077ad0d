/* SPDX-License-Identifier: GPL-2.0-only */
/* Scope cleanup: variables that release what they own when they go out of scope. */
#ifndef UTIL_CLEANUP_H
#define UTIL_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Returns @begin followed by @end, to be freed with free(); NULL: out of memory. */
static inline char *joined(const char *begin, const char *end)
{
	char *text;

	return asprintf(&text, "%s%s", begin, end) < 0 ? NULL : text;
}

/* Hands the owned pointer to the caller: the variable no longer releases it. */
#define TAKE(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })

#endif
