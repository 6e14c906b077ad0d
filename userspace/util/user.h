/* SPDX-License-Identifier: GPL-2.0-only */
/* Another user for a process that root started. */
#ifndef UTIL_USER_H
#define UTIL_USER_H

#include <sys/types.h>

#include "util/problem.h"

struct user {
	const char *name;	/* borrowed */
	uid_t uid;
	gid_t gid;		/* its own group */
};

/* Returns 0, or -EINVAL and a sentence: there is no such user, or it is root too. There always is a nobody. */
int user_find(const char *name, struct user *ret, struct problem *p);

/* The calling process becomes @u, for good and in no other group. Returns 0, or a negative errno and a sentence. */
int user_become(const struct user *u, struct problem *p);

#endif
