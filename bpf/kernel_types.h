/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, as far as the programs read them. Offsets are relocated at load time (CO-RE), so
 * only names and nesting matter. Differences between kernel versions are handled only in this file.
 * What a running kernel has is looked up in its BTF, never derived from its version, since stable
 * kernels backport.
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct block_device;
struct hd_struct;

struct kobject {
	const char *name;
};

struct device {
	struct kobject kobj;
};

struct blk_mq_tag_set {
	void *shared_tags;	/* since 5.16 (e155b0c238b2): of all hardware queues; NULL: each has tags of its own */
};

struct request_queue {
	struct blk_mq_tag_set *tag_set;		/* NULL: it has no requests */
};

struct gendisk {
	struct request_queue *queue;
};

/* Since 5.11 (0d02129e76ed "block: merge struct block_device and struct hd_struct"): also partitions. */
struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
	struct device bd_device;
};

/* Until 5.10. */
struct hd_struct {
	struct device __dev;
	int partno;
};

struct gendisk___before_5_11 {
	struct request_queue *queue;
	struct hd_struct part0;
};

struct device___devt {
	u32 devt;
};

struct blk_mq_hw_ctx {
	unsigned int queue_num;
};

struct blk_mq_ctx {
	unsigned int cpu;
};

struct bio;

struct request {
	struct request_queue *q;
	struct blk_mq_ctx *mq_ctx;
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags;
	int tag;
	int internal_tag;
	unsigned int __data_len;
	u64 __sector;
	unsigned int rq_flags;
	unsigned long deadline;
	struct bio *bio;
	void *part;		/* hd_struct until 5.10, block_device since */
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};

/* A directory or file of sysfs, or a cgroup's. */
struct kernfs_node {
	const char *name;
	u64 id;
	void *priv;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	unsigned short bi_ioprio;
	u8 bi_status;
	struct bio_vec *bi_io_vec;
	void *bi_private;
	struct blkcg_gq *bi_blkg;	/* with CONFIG_BLK_CGROUP */
	struct bvec_iter bi_iter;
};

/* Until 5.11 (309dca309fc3 "block: store a block_device pointer in struct bio"). */
struct bio___before_5_12 {
	struct gendisk *bi_disk;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct super_block {
	u32 s_dev;
};

struct address_space {
	struct inode *host;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_nlink;
	u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
	struct address_space i_data;
	void *i_private;	/* the object behind a directory of sysfs */
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct seqcount {
	unsigned int sequence;
};

struct seqcount_spinlock {
	struct seqcount seqcount;
};

struct dentry {
	struct seqcount_spinlock d_seq;
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
};

/* The union has no name in 7.2. */
struct dentry___since_7_2 {
	struct hlist_node d_alias;
};

struct page {
	unsigned long flags;
	unsigned long compound_head;	/* of a tail page: its head's address, plus 1 */
	struct address_space *mapping;
	unsigned int page_type;
};

/* Since 6.18 flags is a struct. */
struct page___since_6_18 {
	struct {
		unsigned long f;
	} flags;
};

/* In 7.2: also a mask for the tail's address, plus 1. */
struct page___since_7_2 {
	unsigned long compound_info;
};

struct bio_vec {
	struct page *bv_page;
};

struct file {
	struct inode *f_inode;
};

struct task_struct {
	unsigned int flags;
	int tgid;
	struct task_struct *group_leader;
	u64 start_boottime;
	char comm[16];
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

enum req_flag_bits {
	__REQ_SYNC = 11,	/* all are relocated */
	__REQ_META = 12,
	__REQ_IDLE = 16,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
};

enum pageflags {
	PG_locked = 0,
	PG_writeback = 1,
	PG_uptodate = 3,
	PG_slab = 9,		/* until 6.9 */
};

/* Since 6.0 (ff07a02e9e8e "treewide: Rename enum req_opf into enum req_op"); the op's number has changed, too. */
enum req_op {
	REQ_OP_ZONE_APPEND = 7,
	REQ_OP_ZONE_OPEN = 10,	/* odd numbers, too, since 19de03b312d6 */
	REQ_OP_ZONE_CLOSE = 11,
	REQ_OP_ZONE_FINISH = 12,
	REQ_OP_ZONE_RESET = 13,
	REQ_OP_ZONE_RESET_ALL = 15,
};

enum req_opf {
	REQ_OP_ZONE_APPEND___before_6_0 = 13,
	REQ_OP_ZONE_OPEN___before_6_0 = 10,
	REQ_OP_ZONE_CLOSE___before_6_0 = 11,
	REQ_OP_ZONE_FINISH___before_6_0 = 12,
	REQ_OP_ZONE_RESET___before_6_0 = 15,
	REQ_OP_ZONE_RESET_ALL___before_6_0 = 17,
};

/* A constant, relocated. */
#define REQ_OP_OF(name)											\
	(bpf_core_enum_value_exists(enum req_op, name) ? bpf_core_enum_value(enum req_op, name) :		\
							 bpf_core_enum_value(enum req_opf, name##___before_6_0))

/* include/linux/blk_types.h, the same in all kernels from 5.10 to 7.2. */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_WRITE_ZEROES 9
#define BLK_STS_AGAIN 12

#endif
