/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of a slow IO, as its first page tells: a page of the page cache belongs to an inode, that one has dentries,
 * and these have names. All is read from memory that may change or be freed meanwhile. A read that goes wrong gives 0,
 * and names that changed while they were read are left out.
 */
#ifndef FILE_BPF_H
#define FILE_BPF_H

#include "counters.bpf.h"
#include "blklat/slow.h"

#include <bpf/bpf_core_read.h>

#define S_IFMT 0170000
#define S_IFBLK 0060000
#define PAGES_MASK 7ULL

const volatile bool cfg_owners = false;		/* notes include process and cgroup; reports, the file */

u64 epoch_address;	/* of epoch, as a number: to the verifier, what was once in memory is no pointer */

/* The address of the object with this number, see number_of(). It can only be read from by the kernel's helpers. */
static __always_inline void *object_of(u64 number)
{
	volatile u64 *base = &epoch_address;

	*base = (u64)&epoch;
	return (void *)(number + *base);
}

/* The reverse. */
static __always_inline u64 number_at(const void *object)
{
	volatile u64 *base = &epoch_address;

	*base = (u64)&epoch;
	return (u64)object - *base;
}

/* Its head, if it is the tail of a folio. No address of a page is as high as the masks are. */
static __always_inline struct page *head_of(struct page *page)
{
	struct page___since_7_2 *p = (void *)page;
	u64 info = bpf_core_field_exists(p->compound_info) ? BPF_CORE_READ(p, compound_info)
							   : BPF_CORE_READ(page, compound_head);

	if (!(info & 1))
		return page;
	return (void *)((s64)info > -(1LL << 30) ? (u64)page & info : info - 1);
}

static __always_inline u64 flags_of(struct page *page)
{
	struct page___since_6_18 *p = (void *)page;

	return bpf_core_field_exists(p->flags.f) ? BPF_CORE_READ(p, flags.f) : BPF_CORE_READ(page, flags);
}

/* The mapping of a slab's page is something else. 46df8e73a4a3 "mm: free up PG_slab": since 6.10 that is a type. */
static __always_inline bool is_of_slab(struct page *page)
{
	if (bpf_core_enum_value_exists(enum pageflags, PG_slab))
		return flags_of(page) >> bpf_core_enum_value(enum pageflags, PG_slab) & 1;
	return (s32)BPF_CORE_READ(page, page_type) < -128;	/* page_type_has_type() */
}

/* Whether a page's content comes as by a read into the page cache, or goes as by write-back. */
static __always_inline bool is_busy(struct page *page, u32 op)
{
	u64 flags = flags_of(page);

	if (op == BLKLAT_OP_WRITE)
		return flags >> bpf_core_enum_value(enum pageflags, PG_writeback) & 1;
	return flags >> bpf_core_enum_value(enum pageflags, PG_locked) &
	       ~(flags >> bpf_core_enum_value(enum pageflags, PG_uptodate)) & 1;
}

/* Of all writes of pages that files have, direct ones alone have both flags (as wbt_should_throttle() tells them). */
static __always_inline bool writes_directly(u32 op, u32 flags)
{
	return op == BLKLAT_OP_WRITE && flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC) &
					flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_IDLE) & 1;
}

/*
 * The inode's address for pages of a file or device, plus enum blklat_pages. @number: of the bio; 0: there is none.
 * It is verified once, not at each call.
 */
__noinline u64 pages_of(u64 number, u32 bytes, u32 op)
{
	struct bio *bio = object_of(number);
	struct page *page = head_of(BPF_CORE_READ(bio, bi_io_vec, bv_page));
	u64 mapping = (u64)BPF_CORE_READ(page, mapping);
	struct inode *inode;
	u32 type;

	if (!number || !bytes || op > BLKLAT_OP_WRITE || is_of_slab(page))
		return BLKLAT_PAGES_UNKNOWN;
	if (mapping & 1)	/* PAGE_MAPPING_ANON */
		return BLKLAT_PAGES_DIRECT;
	inode = BPF_CORE_READ((struct address_space *)mapping, host);
	/* Else it was no mapping: a driver's page may have anything there. */
	if (mapping - (u64)inode != bpf_core_field_offset(inode->i_data))
		return BLKLAT_PAGES_UNKNOWN;
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFBLK)
		return (u64)inode | BLKLAT_PAGES_DEVICE;
	/* A process's buffer for direct IO may be a file that it has mapped. */
	if (writes_directly(op, BPF_CORE_READ(bio, bi_opf)))
		return BLKLAT_PAGES_DIRECT;
	/* Inodes without a type are the file system's own, for its metadata. */
	return type && is_busy(page, op) ? (u64)inode | BLKLAT_PAGES_FILE : BLKLAT_PAGES_UNKNOWN;
}

static __always_inline struct dentry *alias_of(struct inode *inode)
{
	struct dentry___since_7_2 *d = NULL;
	u64 node = (u64)BPF_CORE_READ(inode, i_dentry.first);

	if (!node)
		return NULL;
	return (void *)(node - (bpf_core_field_exists(d->d_alias) ? bpf_core_field_offset(d->d_alias)
								  : bpf_core_field_offset(struct dentry, d_u.d_alias)));
}

/*
 * Sets the names, from that of @d on. A dentry's d_seq is odd while its name or folder changes, and has changed
 * afterwards. Reads of the clock are barriers (smp_rmb() in ktime_get_mono_fast_ns()).
 */
static __always_inline void tell_names(struct blklat_slow *s, struct dentry *d)
{
	struct dentry *dentry[BLKLAT_NAMES];
	u32 seq[BLKLAT_NAMES], changed = 0;

#pragma unroll
	for (u32 i = 0; i < BLKLAT_NAMES; i++) {
		dentry[i] = d;
		seq[i] = BPF_CORE_READ(d, d_seq.seqcount.sequence);
		bpf_ktime_get_ns();
		bpf_probe_read_kernel_str(s->names[i], BLKLAT_NAME, BPF_CORE_READ(d, d_name.name));
		d = BPF_CORE_READ(d, d_parent);
	}
	bpf_ktime_get_ns();
#pragma unroll
	for (u32 i = 0; i < BLKLAT_NAMES; i++)
		changed |= (seq[i] & 1) | (BPF_CORE_READ(dentry[i], d_seq.seqcount.sequence) ^ seq[i]);
	if (!changed)
		s->known |= BLKLAT_SLOW_FILE;
}

/* Sets what is known of the file of the bio with this @number, whose notes @s has already; 0: there is none. */
static __noinline int tell_file(struct blklat_slow *s, u64 number)
{
	struct inode *inode;
	u64 found;

	if (!s)
		return 0;
	s->pages = BLKLAT_PAGES_UNKNOWN;
	s->pad = 0;
	s->file_dev = 0;
	s->inode = 0;
	if (!cfg_owners)
		return 0;
	found = pages_of(number, s->bytes, s->op);
	inode = (void *)(found & ~PAGES_MASK);
	s->pages = found & PAGES_MASK;
	s->file_dev = BPF_CORE_READ(inode, i_rdev);
	if (s->pages != BLKLAT_PAGES_FILE)
		return 0;
	s->file_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	s->inode = BPF_CORE_READ(inode, i_ino);
	if (!BPF_CORE_READ(inode, i_nlink))
		s->known |= BLKLAT_SLOW_DELETED;
	tell_names(s, alias_of(inode));
	return 0;
}

#endif
