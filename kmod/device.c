// SPDX-License-Identifier: GPL-2.0-only
/*
 * No reference to a watched device is held, so it can be removed like any other. The kernel announces a
 * removal through the interface of the device's class. Sessions only compare addresses: without this
 * news they could take a new device at an old address for the one that they watch.
 */
#include "device.h"

#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "kernel.h"

static DEFINE_MUTEX(sessions_lock);
static LIST_HEAD(sessions);

static BLKLAT_REMOVE_DEV(on_removed)
{
	struct blklat_session *s;
	u32 i;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list) {
		/* A target that gets another device meanwhile gets it after a grace period (targets.h). */
		rcu_read_lock();
		for (i = 0; i < s->buckets; i++)
			if (READ_ONCE(s->numbers[i]) == dev->devt)
				blklat_target_gone(&s->targets[i]);
		rcu_read_unlock();
	}
	mutex_unlock(&sessions_lock);
}

/* The class of block devices is not exported, so it is taken from the first device that is watched. */
static struct class_interface removals = { .remove_dev = on_removed };
static DEFINE_MUTEX(removals_lock);

static int watch_removals(struct device *dev)
{
	int err = 0;

	mutex_lock(&removals_lock);
	if (!removals.class) {
		removals.class = dev->class;
		err = class_interface_register(&removals);
		if (err)
			removals.class = NULL;
	}
	mutex_unlock(&removals_lock);
	return err;
}

void blklat_device_exit(void)
{
	if (removals.class)
		class_interface_unregister(&removals);
}

static bool is_named(const struct gendisk *disk, const char *prefix)
{
	return !strncmp(disk->disk_name, prefix, strlen(prefix));
}

/*
 * Of the devices without requests, md, nvme multipath, bcache and perhaps some that are not known here pass bios on.
 * These never do: dm sends clones, and the others have no device below.
 */
static bool passes_bios_on(const struct gendisk *disk)
{
	return !is_named(disk, "dm-") && !is_named(disk, "zram") && !is_named(disk, "ram") && !is_named(disk, "pmem");
}

/*
 * When a device is removed, its inode goes first, before the interfaces of its class are told
 * (del_gendisk()).
 */
static int describe(struct inode *inode, struct blklat_device *ret)
{
	struct block_device *bdev = I_BDEV(inode);
	struct request_queue *q = bdev_get_queue(bdev);

	if (inode_unhashed(inode) || !bdev->bd_disk || !q)
		return -ENODEV;
	*ret = (struct blklat_device){
		.queue = queue_is_mq(q) ? q : NULL,
		.disk = bdev->bd_disk,
		.part = blklat_bdev_part(bdev),
		.number = bdev->bd_dev,
		.partition = bdev_is_partition(bdev),
		.passes_bios_on = !queue_is_mq(q) && passes_bios_on(bdev->bd_disk),
		.hides_splits = is_named(bdev->bd_disk, "md"),	/* raid0, until 6.17 */
	};
	return watch_removals(blklat_bdev_device(bdev));
}

int blklat_device_of(int fd, struct blklat_device *ret)
{
	struct file *file = fget(fd);
	int err;

	if (!file)
		return -EBADF;
	if (S_ISBLK(file_inode(file)->i_mode))
		err = describe(file->f_mapping->host, ret);
	else
		err = -ENOTBLK;
	fput(file);
	return err;
}

void blklat_device_join(struct blklat_session *s)
{
	mutex_lock(&sessions_lock);
	list_add(&s->list, &sessions);
	mutex_unlock(&sessions_lock);
}

void blklat_device_leave(struct blklat_session *s)
{
	mutex_lock(&sessions_lock);
	list_del_init(&s->list);
	mutex_unlock(&sessions_lock);
}
