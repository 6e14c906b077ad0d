// SPDX-License-Identifier: GPL-2.0-only
/* Attaches the two programs of floor.bpf.c until it is told to stop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "floor.skel.h"

int main(void)
{
	struct floor *skel;
	sigset_t ends;
	int sig;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);

	skel = floor__open_and_load();
	if (!skel || floor__attach(skel)) {
		fprintf(stderr, "floor: could not attach its BPF programs: %s\n", strerror(errno));
		floor__destroy(skel);
		return 1;
	}
	sigwait(&ends, &sig);
	floor__destroy(skel);
	return 0;
}
