/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether this kernel and this process can run the BPF engine, and how its tracepoints look. */
#ifndef ENGINE_BPF_PROBE_H
#define ENGINE_BPF_PROBE_H

#include "util/problem.h"
#include "util/types.h"

/*
 * Keeps libbpf from printing, since an engine's failure is one sentence; the verifier's words fill
 * pages. BLKLAT_DEBUG in the environment lets whoever works on the programs see them.
 */
void bpf_quiet(void);

/* capture_engine.probe of the BPF engine. */
int bpf_probe(struct problem *p);

/*
 * Where the kernel's own type information is, NULL where it is not in sysfs. For bpf_object_open_opts: libbpf
 * then looks for a type that the kernel lacks, which is how a program learns that it lacks it, nowhere else.
 * Else it goes through the modules' as well, and that takes CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID). It reads the file for
 * each object that it loads, and once more for what programs attach to; what was read before it can't be given.
 */
const char *bpf_kernel_types(void);

/* What the programs have to know of the kernel that runs them. Its version tells nothing: stable kernels backport. */
struct kernel_traits {
	/* A tracepoint's second argument is the request or bio; else its first is. */
	bool insert_arg1, issue_arg1, requeue_arg1, merge_arg1, bio_queue_arg1;
	bool traces_merges;		/* it has block_rq_merge */
	bool bios_know_partition;	/* struct bio has bi_bdev */
	u32 flush_seq;			/* RQF_FLUSH_SEQ */
	bool unguarded;			/* it runs a raw tracepoint's program on top of itself */
	bool preemptible;		/* who runs one may be preempted by another that comes to it */
	bool compares_and_exchanges;	/* the verifier knows BPF_CMPXCHG */
	u32 bio_traced;			/* 1 << BIO_TRACE_COMPLETION */
	/* The function that may hold a bio back for its cgroup's limit; NULL: none that a program can be attached to. */
	const char *throttle;
};

/*
 * Asks the kernel's BTF, for compare-and-exchange the verifier; and for the function that throttles, but only if @bios are
 * watched, by attaching a program to it for a moment. Returns 0 or a negative errno.
 */
int bpf_kernel_traits(bool bios, struct kernel_traits *ret);

#endif
