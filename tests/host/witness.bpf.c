// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second opinion for the host tests: the same latencies as blklat's stage device, measured the
 * textbook way. Start times are in a hash by request pointer, devices are told apart by number, bins
 * are 1/1024 of an octave. On purpose it shares no line and no idea with bpf/.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "witness.h"

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int __data_len;
};
#pragma clang attribute pop

const volatile int cfg_major;
const volatile int cfg_minor;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WITNESS_BINS);
	__type(key, __u32);
	__type(value, __u64);
} bins SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct witness_totals);
} totals SEC(".maps");

static struct witness_totals *totals_of_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

static bool ours(struct request *rq)
{
	struct gendisk *disk = BPF_CORE_READ(rq, q, disk);

	return BPF_CORE_READ(disk, major) == cfg_major && BPF_CORE_READ(disk, first_minor) == cfg_minor;
}

static __u32 bin_of(__u64 ns)
{
	__u32 shift = 0;

	/* The verifier wants the loop bounded; above 2^36 ns (68 s) all share the last bin. */
	for (int i = 0; i < WITNESS_OCTAVES; i++)
		if (ns >> shift >= 2 * WITNESS_SUB)
			shift++;
	if (ns >> shift >= 2 * WITNESS_SUB)
		return WITNESS_BINS - 1;
	return shift * WITNESS_SUB + (ns >> shift);
}

SEC("tp_btf/block_rq_issue")
int on_issue(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct witness_totals *t = totals_of_this_cpu();
	__u64 key = (__u64)rq, now;

	if (!t || !ours(rq))
		return 0;
	t->issues++;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&starts, &key, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns(), *start, *bin, key = ctx[0], ns;
	struct request *rq = (void *)ctx[0];
	struct witness_totals *t = totals_of_this_cpu();
	__u32 bytes = ctx[2], i;

	if (!t || !ours(rq))
		return 0;
	t->bytes += bytes;
	if (bytes < rq->__data_len)
		return 0;
	t->completions++;
	start = bpf_map_lookup_elem(&starts, &key);
	if (!start) {
		t->unmatched++;
		return 0;
	}
	ns = now - *start;
	bpf_map_delete_elem(&starts, &key);
	i = bin_of(ns);
	bin = bpf_map_lookup_elem(&bins, &i);
	if (bin)
		++*bin;
	if (t->max_ns < ns)
		t->max_ns = ns;
	if (!t->min_ns || t->min_ns > ns)
		t->min_ns = ns;
	return 0;
}
