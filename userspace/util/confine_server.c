// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine_server.h"

#include <cap-ng.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/confine_calls.h"
#include "util/landlock.h"
#include "util/types.h"

/*
 * Must be done while we have CAP_SETPCAP, which goes with the change of user; a service without it has
 * the bounding set that its unit sets.
 */
static int drop_bounds(void)
{
	if (capng_get_caps_process())
		return -EPERM;
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

static int drop_capabilities(void)
{
	if (capng_get_caps_process())
		return -EPERM;
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/* Must come after the change of user, which resets some of this. Returns 0 or a negative errno. */
static int shut(pid_t parent)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	/* Otherwise the parent ended before the signal was asked for. */
	return getppid() == parent ? 0 : -ESRCH;
}

static bool is_missing(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSYS;
}

int confine_server(const struct user *user, pid_t parent, struct problem *p)
{
	int err = drop_bounds();

	if (err)
		return problem_set(p, err, "the web server could not give up capabilities");
	err = user ? user_become(user, p) : 0;
	if (err)
		return err;
	if (drop_capabilities())
		return problem_set(p, -EPERM, "the web server could not give up capabilities");
	err = shut(parent);
	if (err)
		return problem_set(p, err, "the web server could not be confined: %s", strerror(-err));
	err = landlock_shut_out();
	if (err && !is_missing(err))
		return problem_set(p, err, "the web server could not be shut out of files: %s", strerror(-err));
	err = confine_calls_server();
	if (err && !is_missing(err))
		return problem_set(p, err, "the web server's system calls could not be filtered: %s", strerror(-err));
	return 0;
}
