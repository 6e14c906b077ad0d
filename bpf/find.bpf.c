// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a device's directory in sysfs to the kernel's pointers for it.
 *
 * The capture recognises an IO's device by comparing one pointer with those found here. Userspace opens
 * the directories and reads this iterator over open files, which runs in the reader's context. The
 * device itself is neither opened nor read, and nothing waits for IO.
 */
#include "kernel_types.h"
#include "find.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* The directory of a block device belongs to the kobject inside its struct device. */
static __always_inline bool find_by_kobject(void *kobj, struct found_device *found)
{
	if (bpf_core_field_exists(((struct block_device *)0)->bd_device)) {
		struct block_device *bdev = kobj - bpf_core_field_offset(struct block_device, bd_device);
		struct gendisk *disk = BPF_CORE_READ(bdev, bd_disk);

		found->dev = BPF_CORE_READ(bdev, bd_dev);
		found->part = (u64)bdev;
		found->disk = (u64)disk;
		found->queue = (u64)BPF_CORE_READ(disk, queue);
		if (bpf_core_field_exists(((struct blk_mq_tag_set *)0)->shared_tags))
			found->shared_tags = (u64)BPF_CORE_READ(disk, queue, tag_set, shared_tags);
		return true;
	}
	if (bpf_core_type_exists(struct hd_struct)) {
		struct hd_struct *part = kobj - bpf_core_field_offset(struct hd_struct, __dev);
		struct gendisk *disk = (void *)part -
				       bpf_core_field_offset(struct gendisk___before_5_11, part0);
		struct device___devt *dev = kobj;

		found->dev = BPF_CORE_READ(dev, devt);
		found->part = (u64)part;
		/* A partition has no pointer to its disk here, so userspace looks up the disk as well. */
		if (!BPF_CORE_READ(part, partno)) {
			found->disk = (u64)disk;
			found->queue = (u64)BPF_CORE_READ(disk, queue);
		}
		return true;
	}
	return false;
}

SEC("iter/task_file")
int find_devices(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct found_device found = {};
	struct file *file = ctx->file;
	struct kernfs_node *node;
	void *kobj;

	if (!file || !task || (u32)task->tgid != bpf_get_current_pid_tgid() >> 32)
		return 0;
	node = BPF_CORE_READ(file, f_inode, i_private);
	kobj = BPF_CORE_READ(node, priv);
	found.fd = ctx->fd;
	if (kobj && find_by_kobject(kobj, &found))
		bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}
