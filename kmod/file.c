// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nothing is held here that a process, or the memory's reclaim, could not take away, and nothing may be waited for. So
 * all is read under RCU: inodes, dentries and long names are freed after a grace period, and a page's inode, an inode's
 * dentry and a dentry's folder are there when they are found. Short names are part of their dentry and always end with
 * a 0.
 */
#include "file.h"

#include <linux/bio.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "kernel.h"

/* The sequence itself, as the functions that read it may wait. It is odd while the dentry's name or folder changes. */
static unsigned int sequence_of(const struct dentry *d)
{
	return READ_ONCE(d->d_seq.seqcount.sequence);
}

/* Its name is read as far as there is room; it may be another one meanwhile, but always ends with a 0. */
static void read_name(char to[BLKLAT_NAME], const struct dentry *d)
{
	const unsigned char *name = smp_load_acquire(&d->d_name.name);
	u32 i;

	for (i = 0; i < BLKLAT_NAME - 1; i++) {
		to[i] = READ_ONCE(name[i]);
		if (!to[i])
			return;
	}
}

/* Sets the names, from that of @d on. */
static void tell_names(struct blklat_slow *io, const struct dentry *d)
{
	const struct dentry *dentry[BLKLAT_NAMES];
	unsigned int seq[BLKLAT_NAMES], changed = 0;
	u32 i;

	for (i = 0; i < BLKLAT_NAMES; i++) {
		dentry[i] = d;
		seq[i] = sequence_of(d);
		smp_rmb();
		read_name(io->names[i], d);
		d = READ_ONCE(d->d_parent);
	}
	smp_rmb();
	for (i = 0; i < BLKLAT_NAMES; i++)
		changed |= (seq[i] & 1) | (sequence_of(dentry[i]) ^ seq[i]);
	if (!changed)
		io->known |= BLKLAT_SLOW_FILE;
}

/*
 * A process's buffer for direct IO may be a file that it has mapped, and so under write-back. Of all writes of pages
 * that files have, direct ones alone have both flags (as wbt_should_throttle() tells them).
 */
static bool writes_directly(const struct blklat_slow *io, const struct bio *bio)
{
	return io->op == BLKLAT_OP_WRITE && (bio->bi_opf & (REQ_SYNC | REQ_IDLE)) == (REQ_SYNC | REQ_IDLE);
}

/* Whether a page's content comes as by a read into the page cache, or goes as by write-back. */
static bool is_busy(struct page *page, u32 op)
{
	return op == BLKLAT_OP_WRITE ? PageWriteback(page) : PageLocked(page) && !PageUptodate(page);
}

static void tell_inode(struct blklat_slow *io, const struct inode *inode, bool direct, bool busy)
{
	const struct dentry *d;

	if (S_ISBLK(inode->i_mode)) {
		io->pages = BLKLAT_PAGES_DEVICE;
		io->file_dev = inode->i_rdev;
		return;
	}
	if (direct)
		io->pages = BLKLAT_PAGES_DIRECT;
	/* Inodes without a type are the file system's own, for its metadata. */
	if (direct || !busy || !(inode->i_mode & S_IFMT))
		return;
	io->pages = BLKLAT_PAGES_FILE;
	io->file_dev = inode->i_sb->s_dev;
	io->inode = inode->i_ino;
	if (!inode->i_nlink)
		io->known |= BLKLAT_SLOW_DELETED;
	d = blklat_first_alias(inode);
	/* Dentries of file systems that users do not see may be freed at once (DCACHE_NORCU). */
	if (d && !(inode->i_sb->s_flags & SB_NOUSER))
		tell_names(io, d);
}

static bool has_pages(const struct blklat_slow *io, const struct bio *bio)
{
	return bio && io->bytes && io->op <= BLKLAT_OP_WRITE && bio->bi_io_vec &&
	       (bio->bi_vcnt || bio->bi_flags & 1 << BIO_CLONED);
}

void blklat_tell_file(struct blklat_slow *io, const struct bio *bio)
{
	struct page *page = has_pages(io, bio) ? compound_head(bio->bi_io_vec->bv_page) : NULL;
	struct address_space *mapping;
	struct inode *inode;
	bool busy;

	/* The mapping of a slab's page is something else. */
	if (!page || blklat_is_of_slab(page))
		return;
	rcu_read_lock();
	mapping = READ_ONCE(page->mapping);
	busy = is_busy(page, io->op);
	if ((uintptr_t)mapping & 1)	/* PAGE_MAPPING_ANON */
		io->pages = BLKLAT_PAGES_DIRECT;
	/* A driver's page may have anything as its mapping. */
	else if (mapping && !((uintptr_t)mapping & 2) && !get_kernel_nofault(inode, &mapping->host) &&
		 mapping == &inode->i_data)
		tell_inode(io, inode, writes_directly(io, bio), busy);
	rcu_read_unlock();
}
