// SPDX-License-Identifier: GPL-2.0-only
#include "live/signals.h"

#include <errno.h>
#include <time.h>

#include "util/clock.h"

static bool is_ignored(int number)
{
	struct sigaction a;

	return !sigaction(number, NULL, &a) && a.sa_handler == SIG_IGN;
}

void signals_of_end(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
}

static void make_set(sigset_t *set)
{
	signals_of_end(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGIO);
}

void signals_block(void)
{
	sigset_t set;

	make_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int signals_wait(u64 deadline_ns, siginfo_t *ret)
{
	sigset_t set;

	make_set(&set);
	for (;;) {
		u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		struct timespec t = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };
		int number = sigtimedwait(&set, ret, &t);

		if (number > 0)
			return number;
		if (errno == EAGAIN)
			return 0;
	}
}
