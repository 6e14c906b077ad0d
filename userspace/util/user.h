/* SPDX-License-Identifier: GPL-2.0-only */
/* Lets a process that root started become another user. */
#ifndef UTIL_USER_H
#define UTIL_USER_H

#include <sys/types.h>

#include "util/problem.h"

struct user {
	const char *name;	/* borrowed */
	uid_t uid;
	gid_t gid;		/* its own group */
};

/* Returns 0, or -EINVAL and a sentence: there is no such user, or it is root too. "nobody" always exists. */
int user_find(const char *name, struct user *ret, struct problem *p);

/*
 * Makes the calling process run as @u for good, without any supplementary group. Returns 0, or a
 * negative errno and a sentence.
 */
int user_become(const struct user *u, struct problem *p);

#endif
