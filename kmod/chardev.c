// SPDX-License-Identifier: GPL-2.0-only
#include "chardev.h"

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "bios.h"
#include "cgroups.h"
#include "device.h"
#include "kernel.h"
#include "probe.h"
#include "session.h"
#include "targets.h"

/*
 * A file's life goes one way. Each step is claimed by an atomic exchange, with no lock held: a caller
 * may wait for a page of userspace that never comes (userfaultfd(2)), and must not block others, least
 * of all mmap, whose caller holds the lock of its address space.
 */
enum step { FRESH, SETTING_UP, SET_UP, STARTED };

/* An open file. */
struct client {
	atomic_t step;
	atomic_t mapped;
	struct blklat_session *session;		/* NULL until SET_UP; then it lives as long as the file */
	struct mutex changes;			/* held while a watch comes, goes or moves */
};

static bool claim(struct client *c, enum step from, enum step to)
{
	return atomic_cmpxchg(&c->step, from, to) == from;
}

/* NULL: there is no session yet. */
static struct blklat_session *session_of(const struct client *c)
{
	return smp_load_acquire(&c->session);
}

static int chardev_open(struct inode *inode, struct file *file)
{
	struct client *c;

	if ((file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return -EACCES;
	c = kzalloc(sizeof(*c), BLKLAT_GFP);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->changes);
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

/* A mapping holds its file open, so nobody can access the region any more either. */
static int chardev_release(struct inode *inode, struct file *file)
{
	struct client *c = file->private_data;

	end_session(c->session);
	kfree(c);
	return 0;
}

/* --- BLKLAT_IOC_SETUP ---------------------------------------------------------------------- */

static int find_devices(const struct blklat_watch *watch, u32 n, struct blklat_device *device)
{
	int err = 0;
	u32 i;

	for (i = 0; i < n && !err; i++)
		err = blklat_device_of(watch[i].fd, &device[i]);
	return err;
}

static int make_session(const struct blklat_setup *setup, const struct blklat_watch *watch, struct blklat_session **ret)
{
	u32 n = setup->watches;
	struct blklat_device *device = kvcalloc(n, sizeof(*device), BLKLAT_GFP);
	struct blklat_session *s = NULL;
	int err;

	if (!device)
		return -ENOMEM;
	err = find_devices(watch, n, device) ?: blklat_session_new(setup, watch, device, &s);
	if (!err) {
		blklat_device_join(s);
		/* Look once more: nobody has told the session of devices removed before it joined. */
		err = find_devices(watch, n, device) ?: blklat_probe_ends(s);
	}
	kvfree(device);
	if (err)
		end_session(s);
	else
		*ret = s;
	return err;
}

static int setup_watches(const struct blklat_setup *setup, void __user *arg, struct blklat_session **ret)
{
	struct blklat_watch *watch = vmemdup_user(u64_to_user_ptr(setup->watch), setup->watches * sizeof(*watch));
	struct blklat_session *s = NULL;
	int err;

	if (IS_ERR(watch))
		return PTR_ERR(watch);
	err = make_session(setup, watch, &s);
	/*
	 * The header has this too, but it has to be known before the mapping is made. It is written before the
	 * session can be used, so a session for which it can't be written is never used.
	 */
	if (!err)
		err = copy_to_user(arg + offsetof(struct blklat_setup, bytes), &s->bytes, sizeof(s->bytes)) ?
			      -EFAULT : 0;
	kvfree(watch);
	if (err)
		end_session(s);
	else
		*ret = s;
	return err;
}

/* @arg: a struct blklat_setup, perhaps not aligned. */
static int new_session(void __user *arg, struct blklat_session **ret)
{
	struct blklat_setup setup;
	int err;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	err = blklat_setup_check(&setup);
	return err ?: setup_watches(&setup, arg, ret);
}

static long setup(struct client *c, void __user *arg)
{
	struct blklat_session *s;
	int err;

	if (!claim(c, FRESH, SETTING_UP))
		return -EBUSY;
	err = new_session(arg, &s);
	if (err) {
		atomic_set(&c->step, FRESH);
		return err;
	}
	smp_store_release(&c->session, s);
	atomic_set(&c->step, SET_UP);
	return 0;
}

/* --- the other ioctls ---------------------------------------------------------------------- */

static long start(struct client *c)
{
	int err;

	if (!session_of(c))
		return -EINVAL;
	if (!claim(c, SET_UP, STARTED))
		return -EBUSY;
	err = blklat_probe_starts(c->session);
	/* The counts of a half-started session would make no sense. */
	if (err)
		blklat_probe_stop(c->session);
	return err ?: !!c->session->throttle;
}

static long count_bios(const struct blklat_session *s, const struct blklat_bios __user *arg)
{
	struct blklat_bio_count *counts;
	struct blklat_bios bios;
	size_t bytes;
	long err = 0;

	if (copy_from_user(&bios, arg, sizeof(bios)))
		return -EFAULT;
	if (!s || !s->bios || bios.watches != s->watches || bios.reserved)
		return -EINVAL;
	bytes = bios.watches * sizeof(*counts);
	counts = kvzalloc(bytes, GFP_KERNEL);
	if (!counts)
		return -ENOMEM;
	blklat_bio_count(s->bios, counts, bios.watches);
	if (copy_to_user(u64_to_user_ptr(bios.counts), counts, bytes))
		err = -EFAULT;
	kvfree(counts);
	return err;
}

static long list_cgroups(const struct blklat_session *s, const struct blklat_cgroups __user *arg)
{
	struct blklat_cgroups cgroups;
	struct blklat_cgroup *list;
	long err = 0;

	if (copy_from_user(&cgroups, arg, sizeof(cgroups)))
		return -EFAULT;
	if (!s || !s->cgroups || cgroups.n != s->cgroups || cgroups.reserved)
		return -EINVAL;
	list = kvcalloc(cgroups.n, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	blklat_cgroups_list(s->by, list, cgroups.n);
	if (copy_to_user(u64_to_user_ptr(cgroups.cgroups), list, cgroups.n * sizeof(*list)))
		err = -EFAULT;
	kvfree(list);
	return err;
}

static long check_leaving(const struct blklat_session *s, const struct blklat_leaving *list, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!list[i].id || list[i].number >= s->cgroups || list[i].step >= BLKLAT_STEP_FREE)
			return -EINVAL;
	return 0;
}

static long leave_cgroups(struct blklat_session *s, const struct blklat_leave __user *arg)
{
	struct blklat_leaving *list;
	struct blklat_leave leave;
	size_t bytes;
	long err;

	if (copy_from_user(&leave, arg, sizeof(leave)))
		return -EFAULT;
	if (!s || !s->cgroups || !leave.n || leave.n > s->cgroups || leave.reserved)
		return -EINVAL;
	bytes = leave.n * sizeof(*list);
	list = memdup_user(u64_to_user_ptr(leave.leaving), bytes);
	if (IS_ERR(list))
		return PTR_ERR(list);
	err = check_leaving(s, list, leave.n);
	if (!err) {
		blklat_cgroups_leave(s->by, &s->cgroups_user, list, leave.n);
		if (copy_to_user(u64_to_user_ptr(leave.leaving), list, bytes))
			err = -EFAULT;
	}
	kfree(list);
	return err;
}

static long wait_for_events(const struct blklat_session *s)
{
	if (!s)
		return -EINVAL;
	blklat_probe_wait();
	return 0;
}

/* --- watches come, go and move ------------------------------------------------------------- */

static int add(struct blklat_session *s, const struct blklat_watch *watch)
{
	struct blklat_device d;
	struct blklat_entry e;
	int err = blklat_device_of(watch->fd, &d) ?: blklat_entry_check(s, watch, &d) ?:
		  blklat_entry_add(s, watch, &d, &e);

	if (err)
		return err;
	blklat_probe_wait_now();
	/*
	 * Look again: only if the device is still there, a target with its address that is gone was another device's.
	 */
	err = blklat_device_of(watch->fd, &d);
	if (!err) {
		blklat_entry_show(s, &e);
		/* And again: if it was removed in between, it was shown although it is gone. */
		err = blklat_device_of(watch->fd, &d);
	}
	if (err)
		blklat_entry_remove(s, &e);
	return err;
}

static long change_watches(struct client *c, unsigned int cmd, unsigned long arg)
{
	union {
		struct blklat_watch watch;
		struct blklat_move move;
	} change;
	struct blklat_session *s = session_of(c);
	struct blklat_entry e;
	int err;

	if (cmd != BLKLAT_IOC_REMOVE && copy_from_user(&change, (void __user *)arg, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (!s || atomic_read(&c->step) != STARTED || (cmd == BLKLAT_IOC_REMOVE && arg > U32_MAX))
		return -EINVAL;
	mutex_lock(&c->changes);
	if (cmd == BLKLAT_IOC_ADD) {
		err = add(s, &change.watch);
	} else if (cmd == BLKLAT_IOC_MOVE) {
		err = blklat_entry_find(s, change.move.number, &e) ?: blklat_entry_move(s, &e, &change.move);
	} else {
		err = blklat_entry_find(s, arg, &e);
		if (!err)
			blklat_entry_remove(s, &e);
	}
	mutex_unlock(&c->changes);
	return err;
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct client *c = file->private_data;
	void __user *at = (void __user *)arg;

	switch (cmd) {
	case BLKLAT_IOC_VERSION:
		return put_user((u32)BLKLAT_ABI_VERSION, (u32 __user *)at);
	case BLKLAT_IOC_SETUP:
		return setup(c, at);
	case BLKLAT_IOC_START:
		return start(c);
	case BLKLAT_IOC_BIOS:
		return count_bios(session_of(c), at);
	case BLKLAT_IOC_CGROUPS:
		return list_cgroups(session_of(c), at);
	case BLKLAT_IOC_LEAVE:
		return leave_cgroups(session_of(c), at);
	case BLKLAT_IOC_WAIT:
		return wait_for_events(session_of(c));
	case BLKLAT_IOC_ADD:
	case BLKLAT_IOC_REMOVE:
	case BLKLAT_IOC_MOVE:
		return change_watches(c, cmd, arg);
	default:
		return -ENOTTY;
	}
}

/* --- the mapping --------------------------------------------------------------------------- */

/*
 * A session belongs to one process. A child does not get the mapping, and because of VM_IO,
 * madvise(MADV_DOFORK) can't change that (madvise_vma_behavior()). The mapping can't grow
 * (VM_DONTEXPAND), be dumped or be executed, now or later.
 */
static int map(struct vm_area_struct *vma, const struct blklat_session *s)
{
	u64 at;
	int err = 0;

	blklat_vma_flags(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	for (at = 0; at < s->bytes && !err; at += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + at, vmalloc_to_page((void *)s->header + at));
	return err;
}

static int chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct client *c = file->private_data;
	const struct blklat_session *s = session_of(c);
	int err;

	if (!s || vma->vm_pgoff || !(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start != s->bytes)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (atomic_xchg(&c->mapped, 1))
		return -EBUSY;
	err = map(vma, s);
	/* The pages that were inserted are removed with the vma. */
	if (err)
		atomic_set(&c->mapped, 0);
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
