// SPDX-License-Identifier: GPL-2.0-only
#include "run/signals.h"

#include <errno.h>
#include <time.h>

#include "util/clock.h"

static bool is_ignored(int number)
{
	struct sigaction a;

	return !sigaction(number, NULL, &a) && a.sa_handler == SIG_IGN;
}

static void make_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGIO);
	if (!is_ignored(SIGHUP))
		sigaddset(set, SIGHUP);
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
