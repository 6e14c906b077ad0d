/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether this kernel and this process can run the BPF engine, and what the kernel's tracepoints look like. */
#ifndef ENGINE_BPF_PROBE_H
#define ENGINE_BPF_PROBE_H

#include "util/problem.h"
#include "util/types.h"

struct btf;

/*
 * Before libbpf is used. It does not print: an engine's failure is one sentence, while the verifier's log fills
 * pages. With BLKLAT_DEBUG in the environment, developers of the programs can see it. And it reads the kernel's
 * types, some MB, several times: blocks of this size are returned when they are freed. To trim the heap afterwards
 * would lock it for ms, with another thread waiting.
 */
void bpf_prepare(void);

/* capture_ops.probe of the BPF engine. */
int bpf_probe(struct problem *p);

/*
 * The path of the kernel's own type information, or NULL if it is not in sysfs. For bpf_object_open_opts. With it,
 * libbpf searches only this file when a program asks for a type that the kernel lacks. Otherwise it also searches the
 * modules' types, which takes CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID). libbpf reads the file for each object that it loads,
 * and once more for the attach targets; it can't be given types that were read before. Programs that ask for no type
 * that may be missing do without the path, and the file is read once.
 */
const char *bpf_kernel_types(void);

/*
 * What the programs have to know about the kernel that runs them. Its version does not say, as stable kernels backport.
 */
struct kernel_traits {
	/* A tracepoint's second argument is the request or bio; else its first is. */
	bool insert_arg1, issue_arg1, requeue_arg1, merge_arg1, bio_queue_arg1, bio_split_arg1, bio_remap_arg1,
		getrq_arg1;
	/* of block_bio_backmerge and block_bio_frontmerge, the third argument is the bio; else the first */
	bool bio_merge_arg2;
	bool traces_merges;		/* it has block_rq_merge */
	bool before_5_11;		/* partitions are struct hd_struct, not block_device */
	bool bios_know_partition;	/* struct bio has bi_bdev */
	u32 rare_flags;			/* REQ_FUA, REQ_PREFLUSH, REQ_META and REQ_RAHEAD; all ones: not known */
	u32 flush_seq;			/* RQF_FLUSH_SEQ */
	bool unguarded;			/* the kernel may run a raw tracepoint's program on top of itself */
	bool preemptible;		/* a task inside a program may be preempted by another one that runs it too */
	int standbys;			/* BLKLAT_STANDBY: standbys of each tracepoint; -1: as the kernel needs */
	bool ring_sleeps;		/* a program that uses a ring buffer may sleep where it must not */
	/* The verifier accepts BPF_CMPXCHG, and references to functions (5.13, 69c087ba6225). */
	bool compares_and_exchanges;
	u32 bio_traced;			/* 1 << BIO_TRACE_COMPLETION */
	/* The function that may hold a bio back for its cgroup's limit; NULL: no program can be attached to it. */
	const char *throttle;
};

/*
 * Determines the traits from the kernel's BTF, and compare-and-exchange by asking the verifier. If @bios are watched,
 * it also tries to attach a program to the function that throttles. Returns 0, or a negative errno and a sentence.
 */
int bpf_kernel_traits(bool bios, struct kernel_traits *ret, struct problem *p);

/*
 * Whether the lock of BPF's ring buffer sleeps. It did on real-time kernels until 8b62645b09f8 "bpf: Use
 * raw_spinlock_t in ringbuf", which is in 6.1.115 and 6.12.
 */
bool bpf_ring_sleeps(const struct btf *btf);

/*
 * Whether a tracepoint's programs may be preempted. They run with preemption off until a46023d5616e, which protects
 * tracepoints by fast SRCU. The function that this looks for is at most one release older; with lockdep
 * (CONFIG_DEBUG_LOCK_ALLOC) it has another name.
 */
bool bpf_preemptible(const struct btf *btf);

#endif
