/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that differs between the kernels that the module builds for, 5.10 to 7.2, is in this file.
 * A tracepoint with a prototype that is not known here fails to compile, see probe.c.
 */
#ifndef KMOD_KERNEL_H
#define KMOD_KERNEL_H

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/dcache.h>
#include <linux/device.h>
#include <linux/kernfs.h>
#include <linux/mm.h>
#include <linux/version.h>

/* The error that block_rq_complete passes; 0: none (include/trace/events/block.h; an errno until 5.15). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
typedef blk_status_t blklat_rq_error;
#define BLKLAT_RQ_AGAIN ((__force int)BLK_STS_AGAIN)
#else
typedef int blklat_rq_error;
#define BLKLAT_RQ_AGAIN (-EAGAIN)
#endif

/* 309dca309fc3 "block: store a block_device pointer in struct bio"; block_bio_queue lost its queue with it. */
#define BLKLAT_BIO_HAS_BDEV (LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0))

static inline const void *blklat_bio_disk(const struct bio *bio)
{
#if BLKLAT_BIO_HAS_BDEV
	return bio->bi_bdev->bd_disk;
#else
	return bio->bi_disk;
#endif
}

/* NULL if the bio is remapped to the whole device before the module can see it. */
static inline const void *blklat_bio_part(const struct bio *bio)
{
#if BLKLAT_BIO_HAS_BDEV
	return bio->bi_bdev;
#else
	return NULL;
#endif
}

/* 0d02129e76ed "block: merge struct block_device and struct hd_struct": what request.part points to. */
static inline const void *blklat_bdev_part(struct block_device *bdev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	return bdev;
#else
	return bdev->bd_part;
#endif
}

static inline struct device *blklat_bdev_device(struct block_device *bdev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	return &bdev->bd_device;
#else
	return part_to_dev(bdev->bd_part);
#endif
}

/*
 * The cgroup that is charged for a bio: its id, and the name of its directory, valid as long as the bio
 * is. Returns 0 if there is none, or if @bio is NULL. bbb1ebe7a909 "blk-cgroup: replace bio_blkcg with
 * bio_blkcg_css", 5.19.
 */
static inline u64 blklat_bio_cgroup(struct bio *bio, const char **name)
{
#ifdef CONFIG_BLK_CGROUP
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
	struct cgroup_subsys_state *css = bio ? bio_blkcg_css(bio) : NULL;
#else
	struct blkcg *blkcg = bio_blkcg(bio);
	struct cgroup_subsys_state *css = blkcg ? &blkcg->css : NULL;
#endif
	if (css && css->cgroup) {
		*name = (const char *)css->cgroup->kn->name;
		return css->cgroup->kn->id;
	}
#endif
	*name = "";
	return 0;
}

static inline void blklat_vma_flags(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);	/* the member is const since "mm: introduce vma->vm_flags wrapper functions" */
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* 7b230db3b8d3 "mm: Introduce struct folio", 5.16. @page is no tail. */
static inline bool blklat_is_of_slab(struct page *page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
	return folio_test_slab(page_folio(page));
#else
	return PageSlab(page);
#endif
}

/* The macro came when the union lost its name, in 7.2. */
static inline const struct dentry *blklat_first_alias(const struct inode *inode)
{
	struct hlist_node *first = READ_ONCE(inode->i_dentry.first);

#ifdef for_each_alias
	return first ? hlist_entry(first, struct dentry, d_alias) : NULL;
#else
	return first ? hlist_entry(first, struct dentry, d_u.d_alias) : NULL;
#endif
}

/*
 * Memory of a session is charged to its user's memory cgroup. If there is no room, the allocation
 * fails; no process is killed for it, and nothing is logged.
 */
#define BLKLAT_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Before 18b2db3b0385 "mm: Convert page kmemcg type to a page memcg flag", a charged page can't be mapped. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define BLKLAT_GFP_MAPPED BLKLAT_GFP
#else
#define BLKLAT_GFP_MAPPED (BLKLAT_GFP & ~__GFP_ACCOUNT)
#endif

/* "driver core: class: remove struct class_interface * from callbacks", 6.4 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define BLKLAT_REMOVE_DEV(name) void name(struct device *dev)
#else
#define BLKLAT_REMOVE_DEV(name) void name(struct device *dev, struct class_interface *unused)
#endif

#endif
