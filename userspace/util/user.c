// SPDX-License-Identifier: GPL-2.0-only
#include "util/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

/*
 * If there is no list of users, as in a container with a single program, this is the kernel's own
 * nobody (DEFAULT_OVERFLOWUID).
 */
static const struct passwd kernels_nobody = { .pw_uid = 65534, .pw_gid = 65534 };

int user_find(const char *name, struct user *ret, struct problem *p)
{
	const struct passwd *found = getpwnam(name);

	if (!found && !strcmp(name, "nobody"))
		found = &kernels_nobody;
	if (!found)
		return problem_set(p, -EINVAL, "there is no user '%.60s' that the web server could run as: --user names one",
				   name);
	if (!found->pw_uid || !found->pw_gid)
		return problem_set(p, -EINVAL, "the web server must not run as '%.60s', which is root or in root's group: "
				   "--user names an ordinary user", name);
	*ret = (struct user){ .name = name, .uid = found->pw_uid, .gid = found->pw_gid };
	return 0;
}

int user_become(const struct user *u, struct problem *p)
{
	if (setgroups(0, NULL) || setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid))
		return problem_set(p, -errno, "the web server could not become user '%.60s': %s; that takes CAP_SETUID and "
				   "CAP_SETGID, or start the service as an ordinary user", u->name, strerror(errno));
	return 0;
}
