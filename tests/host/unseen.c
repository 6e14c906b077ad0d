// SPDX-License-Identifier: GPL-2.0-only
/*
 * unseen: says "ready" once it watches all disks. At SIGTERM or SIGINT it prints, as one JSON object, how many requests
 * of each disk ended without running any BPF program. The disks must be at rest by then: what is in flight counts too.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unseen.h"
#include "unseen.skel.h"

/* Adds the requests that are still remembered to the missed ends already found. */
static int add_left(struct unseen *u)
{
	int starts = bpf_map__fd(u->maps.starts), counts = bpf_map__fd(u->maps.unseen);
	__u64 key, next, *from = NULL;

	for (; !bpf_map_get_next_key(starts, from, &next); from = &key) {
		struct disk disk;
		__u64 count = 0;

		key = next;
		if (bpf_map_lookup_elem(starts, &key, &disk))
			return -1;
		bpf_map_lookup_elem(counts, &disk, &count);
		count++;
		if (bpf_map_update_elem(counts, &disk, &count, BPF_ANY))
			return -1;
	}
	return 0;
}

static void print(struct unseen *u)
{
	int counts = bpf_map__fd(u->maps.unseen);
	struct disk disk, *from = NULL, next;
	const char *comma = "";

	printf("{");
	for (; !bpf_map_get_next_key(counts, from, &next); from = &disk) {
		__u64 count = 0;

		disk = next;
		bpf_map_lookup_elem(counts, &disk, &count);
		printf("%s\"%.31s\":%llu", comma, disk.name, (unsigned long long)count);
		comma = ",";
	}
	puts("}");
}

int main(void)
{
	struct unseen *u = unseen__open_and_load();
	sigset_t ends;
	int signal;

	setlinebuf(stdout);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/* Attach to the end first, so that every request that is seen to start is seen to end. */
	if (!u || !(u->links.on_complete = bpf_program__attach(u->progs.on_complete)) ||
	    !(u->links.on_requeue = bpf_program__attach(u->progs.on_requeue)) ||
	    !(u->links.on_issue = bpf_program__attach(u->progs.on_issue))) {
		perror("unseen");
		unseen__destroy(u);
		return EXIT_FAILURE;
	}
	puts("ready");
	sigwait(&ends, &signal);
	unseen__detach(u);
	if (add_left(u)) {
		perror("unseen");
		return EXIT_FAILURE;
	}
	print(u);
	unseen__destroy(u);
	return EXIT_SUCCESS;
}
