// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor that a tool's cost is compared with: what two programs on a request's path cost when all
 * they do is read the clock. No tool that takes two time stamps can be cheaper.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Kept in a register: the CPUs would fight over a variable's cache line. */
static __always_inline int read_clock(void)
{
	__u64 now = bpf_ktime_get_ns();

	asm volatile("" : : "r"(now));
	return 0;
}

SEC("tp_btf/block_rq_issue")
int on_rq_issue(void *ctx __attribute__((unused)))
{
	return read_clock();
}

SEC("tp_btf/block_rq_complete")
int on_rq_complete(void *ctx __attribute__((unused)))
{
	return read_clock();
}
