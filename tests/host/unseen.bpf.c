// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the requests of every disk whose end no BPF program saw: some kernels run none at some completions. Such a
 * request is still remembered when it starts again, or when the test ends.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "unseen.h"

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int __data_len;
};
#pragma clang attribute pop

/* By request: the disk that it belongs to. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct disk);
} starts SEC(".maps");

/* By disk: missed ends, found when the request starts again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct disk);
	__type(value, __u64);
} unseen SEC(".maps");

SEC("tp_btf/block_rq_issue")
int on_issue(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct disk disk = {}, *before;
	__u64 key = ctx[0], one = 1, *count;

	BPF_CORE_READ_STR_INTO(&disk.name, rq, q, disk, disk_name);
	before = bpf_map_lookup_elem(&starts, &key);
	if (before) {
		count = bpf_map_lookup_elem(&unseen, before);
		if (count)
			__sync_fetch_and_add(count, 1);
		else
			bpf_map_update_elem(&unseen, before, &one, BPF_NOEXIST);
	}
	bpf_map_update_elem(&starts, &key, &disk, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	__u64 key = ctx[0];

	if ((__u32)ctx[2] >= rq->__data_len)
		bpf_map_delete_elem(&starts, &key);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int on_requeue(__u64 *ctx)
{
	__u64 key = ctx[0];

	bpf_map_delete_elem(&starts, &key);
	return 0;
}
