// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a device's directory in sysfs to the kernel's pointers for it.
 *
 * The capture recognises an IO's device by comparing one pointer with those found here. Userspace opens
 * the directories and reads this iterator over open files, which runs in the reader's context. The
 * device itself is neither opened nor read, and nothing waits for IO.
 *
 * There are two programs, since libbpf searches all modules for types that a program asks for and the kernel lacks.
 */
#include "kernel_types.h"
#include "find.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* The kernel object of an open directory in sysfs, if it is the reader's; else NULL. */
static __always_inline void *kobject_of(const struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct kernfs_node *node;

	if (!file || !task || (u32)task->tgid != bpf_get_current_pid_tgid() >> 32)
		return NULL;
	node = BPF_CORE_READ(file, f_inode, i_private);
	return BPF_CORE_READ(node, priv);
}

/* The directory of a block device belongs to the kobject inside its struct device. */
SEC("iter/task_file")
int find_devices(struct bpf_iter__task_file *ctx)
{
	void *kobj = kobject_of(ctx);
	struct block_device *bdev = kobj - bpf_core_field_offset(struct block_device, bd_device);
	struct found_device found = { .fd = ctx->fd };
	struct gendisk *disk;

	if (!kobj)
		return 0;
	disk = BPF_CORE_READ(bdev, bd_disk);
	found.dev = BPF_CORE_READ(bdev, bd_dev);
	found.part = (u64)bdev;
	found.disk = (u64)disk;
	found.queue = (u64)BPF_CORE_READ(disk, queue);
	if (bpf_core_field_exists(((struct blk_mq_tag_set *)0)->shared_tags))
		found.shared_tags = (u64)BPF_CORE_READ(disk, queue, tag_set, shared_tags);
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

SEC("iter/task_file")
int find_devices_before_5_11(struct bpf_iter__task_file *ctx)
{
	void *kobj = kobject_of(ctx);
	struct hd_struct *part = kobj - bpf_core_field_offset(struct hd_struct, __dev);
	struct gendisk *disk = (void *)part - bpf_core_field_offset(struct gendisk___before_5_11, part0);
	struct device___devt *dev = kobj;
	struct found_device found = { .fd = ctx->fd };

	if (!kobj)
		return 0;
	found.dev = BPF_CORE_READ(dev, devt);
	found.part = (u64)part;
	/* A partition has no pointer to its disk here, so userspace looks up the disk as well. */
	if (!BPF_CORE_READ(part, partno)) {
		found.disk = (u64)disk;
		found.queue = (u64)BPF_CORE_READ(disk, queue);
	}
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}
