// SPDX-License-Identifier: GPL-2.0-only
#include "chardev.h"

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "bios.h"
#include "device.h"
#include "kernel.h"
#include "probe.h"
#include "session.h"

/* An open file. */
struct client {
	struct mutex lock;
	struct blklat_session *session;		/* NULL before BLKLAT_IOC_SETUP */
	bool started;
	bool mapped;
};

static int chardev_open(struct inode *inode, struct file *file)
{
	struct client *c;

	if ((file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return -EACCES;
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	file->private_data = c;
	return nonseekable_open(inode, file);
}

static void end_session(struct blklat_session *s)
{
	if (!s)
		return;
	blklat_probe_stop(s);
	blklat_device_leave(s);
	blklat_session_free(s);
}

/* A mapping holds its file, so nobody sees the region any more either. */
static int chardev_release(struct inode *inode, struct file *file)
{
	struct client *c = file->private_data;

	end_session(c->session);
	kfree(c);
	return 0;
}

/* --- BLKLAT_IOC_SETUP ---------------------------------------------------------------------- */

static int find_devices(struct blklat_watch *watch, u32 n, struct blklat_device *device)
{
	int err = 0;
	u32 i;

	for (i = 0; i < n && !err; i++)
		err = blklat_watch_check(&watch[i]);
	for (i = 0; i < n && !err; i++)
		err = blklat_device_of(watch[i].fd, &device[i]);
	return err;
}

static int make_session(struct blklat_setup *setup, struct blklat_watch *watch, struct blklat_session **ret)
{
	struct blklat_device *device = kvcalloc(setup->watches, sizeof(*device), GFP_KERNEL);
	struct blklat_session *s = NULL;
	int err;

	if (!device)
		return -ENOMEM;
	err = find_devices(watch, setup->watches, device);
	if (!err)
		err = blklat_session_new(setup, watch, device, &s);
	kvfree(device);
	if (err)
		return err;
	blklat_device_join(s);
	err = blklat_probe_ends(s);
	if (err)
		end_session(s);
	else
		*ret = s;
	return err;
}

static int setup_watches(struct client *c, struct blklat_setup *setup)
{
	void __user *from = u64_to_user_ptr(setup->watch);
	size_t bytes = setup->watches * sizeof(struct blklat_watch);
	struct blklat_watch *watch = vmemdup_user(from, bytes);
	struct blklat_session *s = NULL;
	int err;

	if (IS_ERR(watch))
		return PTR_ERR(watch);
	err = make_session(setup, watch, &s);
	if (!err && copy_to_user(from, watch, bytes)) {
		end_session(s);
		err = -EFAULT;
	}
	kvfree(watch);
	if (err)
		return err;
	c->session = s;
	setup->bytes = s->bytes;
	return 0;
}

static long setup(struct client *c, struct blklat_setup __user *arg)
{
	struct blklat_setup setup;
	int err;

	if (c->session)
		return -EBUSY;
	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	err = blklat_setup_check(&setup);
	if (!err)
		err = setup_watches(c, &setup);
	if (err)
		return err;
	/* The begin of the mapping says it too, but who maps has to know before. */
	return put_user(setup.bytes, &arg->bytes);
}

/* --- the others ---------------------------------------------------------------------------- */

static long start(struct client *c)
{
	int err;

	if (!c->session)
		return -EINVAL;
	if (c->started)
		return -EBUSY;
	err = blklat_probe_starts(c->session);
	if (!err) {
		c->started = true;
		return 0;
	}
	/* Half of a session counts nothing that makes sense. */
	end_session(c->session);
	c->session = NULL;
	return err;
}

static long count_bios(struct client *c, const struct blklat_bios __user *arg)
{
	struct blklat_bio_count *counts;
	struct blklat_bios bios;
	size_t bytes;
	long err = 0;

	if (copy_from_user(&bios, arg, sizeof(bios)))
		return -EFAULT;
	if (!c->session || !c->session->bios || bios.watches != c->session->watches || bios.reserved)
		return -EINVAL;
	bytes = bios.watches * sizeof(*counts);
	counts = kvzalloc(bytes, GFP_KERNEL);
	if (!counts)
		return -ENOMEM;
	blklat_bio_count(c->session->bios, counts, bios.watches);
	if (copy_to_user(u64_to_user_ptr(bios.counts), counts, bytes))
		err = -EFAULT;
	kvfree(counts);
	return err;
}

static long ioctl(struct client *c, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case BLKLAT_IOC_VERSION:
		return put_user((u32)BLKLAT_ABI_VERSION, (u32 __user *)arg);
	case BLKLAT_IOC_SETUP:
		return setup(c, arg);
	case BLKLAT_IOC_START:
		return start(c);
	case BLKLAT_IOC_BIOS:
		return count_bios(c, arg);
	default:
		return -ENOTTY;
	}
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct client *c = file->private_data;
	long ret;

	mutex_lock(&c->lock);
	ret = ioctl(c, cmd, (void __user *)arg);
	mutex_unlock(&c->lock);
	return ret;
}

static int map(struct client *c, struct vm_area_struct *vma)
{
	int err;

	if (!c->session || vma->vm_pgoff || !(vma->vm_flags & VM_SHARED) ||
	    vma->vm_end - vma->vm_start != c->session->bytes)
		return -EINVAL;
	if (c->mapped)
		return -EBUSY;
	err = remap_vmalloc_range(vma, c->session->header, 0);
	if (err)
		return err;
	/* A session is one process's: a child does not get the mapping. */
	blklat_vma_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	c->mapped = true;
	return 0;
}

static int chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct client *c = file->private_data;
	int err;

	mutex_lock(&c->lock);
	err = map(c, vma);
	mutex_unlock(&c->lock);
	return err;
}

static const struct file_operations chardev_ops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = chardev_mmap,
};

static struct miscdevice chardev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "blklat",
	.fops = &chardev_ops,
	.mode = 0600,
};

int blklat_chardev_init(void)
{
	return misc_register(&chardev);
}

void blklat_chardev_exit(void)
{
	misc_deregister(&chardev);
}
