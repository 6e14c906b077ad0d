/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of its watch in which an IO begins, and the count of IOs in flight that some divisions need.
 *
 * That count is the number of the watch's occupied slots, or of its entries in the table of bios. So an
 * IO whose end was missed counts until its tag, or its bio's address, is seen again, and no longer.
 */
#ifndef PARTS_BPF_H
#define PARTS_BPF_H

#include "counters.bpf.h"
#include "blklat/parts.h"

#include <bpf/bpf_core_read.h>

const volatile u32 cfg_by = BLKLAT_BY_NOTHING;	/* enum blklat_by */
const volatile u32 cfg_cgroups = 0;		/* number of cgroups or processes that can have a part of their own */
const volatile u32 cfg_rare_flags = -1;		/* see struct kernel_traits */
/* IOs in flight are counted, and slow IOs tell their company (parts.h) */
const volatile bool cfg_company = false;
/* IOs in flight are counted as one kind: by depth, and no company is kept */
const volatile bool cfg_one_kind = false;

/*
 * [watch], of which only wholes are used; a single entry if IOs in flight are not counted. All CPUs
 * write it. Its size is set before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct in_flight);
	__uint(map_flags, BPF_F_MMAPABLE);	/* aligns it, so that each entry has a cache line */
} in_flight SEC(".maps");

/*
 * [slot]: the company of the request in it, written before its time; a single entry if it is not kept.
 * Its size is set before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} request_company SEC(".maps");

/*
 * An id in the upper bits and its part below, written at once. So a reader notices if the number has
 * been given to another id in the meantime. An id too large for these bits never equals one in
 * cgroups_seen, and is always looked up.
 */
#define SEEN_PART_BITS 8
#define SEEN(id, part) ((id) << SEEN_PART_BITS | (part))
#define SEEN_PART(seen) ((seen) & ((1 << SEEN_PART_BITS) - 1))

/*
 * Which cgroup, or process, has which part, in both directions. All captures of a process share the two maps, so a
 * part's number means the same in each capture. A number belongs to the cgroup that is first put into
 * cgroups under it; cgroup_parts lists the known owners. Userspace removes an owner first from
 * cgroup_parts, then from cgroups (abi.h, enum blklat_step). Their sizes are set before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);	/* id of the cgroup or process */
	__type(value, u64);	/* SEEN() */
} cgroup_parts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);	/* number of the part */
	__type(value, struct blklat_cgroup);
} cgroups SEC(".maps");

u32 cgroups_full;	/* there is no room for another cgroup */

/* The latest lookups, SEEN(): one load instead of a hash lookup. */
u64 cgroups_seen[256];

/* From a watch (number + 1) to its whole, if watches have parts. */
static __always_inline u32 whole_watch(u32 watch)
{
	return watch - (watch - 1) % (1 + cfg_parts);
}

static __always_inline u32 flags_part(u32 op, u32 flags)
{
	u32 fua, preflush, meta, ahead;
	bool sync = op == BLKLAT_OP_READ || flags & 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC);

	/* One test for most IOs; each mask below takes three instructions. */
	if (!(flags & cfg_rare_flags))
		return blklat_flags_part(op, 0, 0, 0, sync);
	fua = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_FUA);
	preflush = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);
	meta = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_META);
	ahead = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD);
	return blklat_flags_part(op, !!(flags & (fua | preflush)), !!(flags & meta), !!(flags & ahead), sync);
}

static __always_inline u32 kind_of(u32 op, u32 bytes)
{
	return cfg_one_kind ? 1 : blklat_kind(op, bytes);
}

static __always_inline struct in_flight *in_flight_of(u32 whole)
{
	u32 number = whole - 1;

	return bpf_map_lookup_elem(&in_flight, &number);
}

/*
 * @n more IOs are in flight since @now: 1 or -1. @kind comes from memory, so the verifier knows nothing about it. On a
 * kernel that has only additions, @was is @n, so no period begins or ends. All inline, as fit_program() sees no
 * functions; one for such kernels alone has a constant 0 as @now.
 */
static __always_inline void count_in_flight(struct in_flight *f, u32 whole, u32 kind, u64 n, u64 now)
{
	u64 was;

	kind--;
	if (kind >= BLKLAT_KINDS)
		return;
	if (!cfg_one_kind)
		ADD_ATOMICALLY(&f->of_kind[kind], n);
	if (!now) {
		ADD_ATOMICALLY(&f->all, n);
		return;
	}
	was = __sync_fetch_and_add(&f->all, n);
	if (was == (n != 1))
		add_busy(whole, n == 1 ? -(now + BLKLAT_PERIOD) : now + BLKLAT_PERIOD);
}

static __always_inline u32 strongest(const struct in_flight *f)
{
#pragma unroll
	for (u32 kind = 1; kind <= BLKLAT_KINDS; kind++)
		if (f->of_kind[kind - 1])
			return kind;
	return BLKLAT_BESIDE_NOTHING;
}

/* The company of an IO that begins now and is not counted yet; or, if that is not kept, only its part. */
static __always_inline u32 company_in(const struct in_flight *f)
{
	if (cfg_one_kind)
		return blklat_depth_part(f->all + 1);
	return cfg_company ? blklat_company(f->all + 1, strongest(f)) : strongest(f);
}

/*
 * company_in() of a whole.
 *
 * Global functions, such as this one, are verified once, by themselves, and not for each path that
 * leads to them.
 */
__noinline int company_now(u32 whole)
{
	struct in_flight *f = in_flight_of(whole);

	return f ? company_in(f) : 0;
}

/*
 * The same for a request of @kind that begins in a slot, and is counted. If @was is a time, the slot's
 * previous request began at @was, and its end was missed.
 */
static __always_inline u32 enter(u32 whole, u32 kind, u64 was, u64 now)
{
	struct in_flight *f = in_flight_of(whole);
	u32 found;

	if (!f)
		return 0;
	if (was > BLKLAT_SLOT_VACANT)
		count_in_flight(f, whole, blklat_slot_kind(was), -1, now);
	found = company_in(f);
	count_in_flight(f, whole, kind, 1, now);
	return found;
}

static __always_inline void change_in_flight(u32 whole, u32 kind, u64 more, u64 now)
{
	struct in_flight *f = in_flight_of(whole);

	if (f)
		count_in_flight(f, whole, kind, more, now);
}

/* The number found for @id may belong to another one by now. Then @id has lost its part, and this IO gets none. */
static __always_inline u32 part_in(u64 found, u64 id)
{
	return found >> SEEN_PART_BITS == id << SEEN_PART_BITS >> SEEN_PART_BITS ? SEEN_PART(found)
										 : BLKLAT_CGROUP_REST;
}

/*
 * The part of a cgroup whose first IO this is. If two CPUs get here for the same cgroup, the second
 * gives its number back. A global function, as above.
 */
__noinline int new_cgroup(u64 id, u64 name)
{
	struct blklat_cgroup cgroup = { .id = id };
	u64 *known, part;
	int err = -1;

	bpf_probe_read_kernel_str(cgroup.name, sizeof(cgroup.name), (const void *)name);
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX && i < cfg_cgroups; i++) {
		/* a copy: the verifier loses the bounds of a variable whose address the kernel gets */
		u32 number = i;

		err = bpf_map_update_elem(&cgroups, &number, &cgroup, BPF_NOEXIST);
		if (err)
			continue;
		part = SEEN(id, BLKLAT_CGROUP_FIRST + number);
		err = bpf_map_update_elem(&cgroup_parts, &id, &part, BPF_NOEXIST);
		if (err) {
			bpf_map_delete_elem(&cgroups, &number);
			cgroups_full = 0;	/* another CPU may have found no room only because of this */
		}
		err = 0;
		break;
	}
	if (err)
		cgroups_full = 1;
	known = bpf_map_lookup_elem(&cgroup_parts, &id);
	return known ? part_in(*known, id) : BLKLAT_CGROUP_REST;
}

/* The part of the owner @id, if it has one; 0: it may get one. */
static __always_inline u32 known_part(u64 id)
{
	u64 *seen = &cgroups_seen[id % 256], *known, found;

	found = *(volatile u64 *)seen;
	if (found >> SEEN_PART_BITS == id)
		return SEEN_PART(found);
	known = bpf_map_lookup_elem(&cgroup_parts, &id);
	if (known) {
		found = *(volatile u64 *)known;
		if (part_in(found, id) != BLKLAT_CGROUP_REST)
			*(volatile u64 *)seen = found;
		return part_in(found, id);
	}
	return cgroups_full ? BLKLAT_CGROUP_REST : 0;
}

/* The part of the cgroup that is charged for a bio. */
static __always_inline u32 cgroup_part(struct bio *bio)
{
	struct kernfs_node *kn;
	u64 id, name = 0;
	u32 part;

	if (!bio || !bpf_core_field_exists(bio->bi_blkg) || !bio->bi_blkg)
		return BLKLAT_CGROUP_NONE;
	kn = bio->bi_blkg->blkcg->css.cgroup->kn;
	id = kn->id;
	if (!id)
		return BLKLAT_CGROUP_NONE;
	part = known_part(id);
	if (part)
		return part;
	/* A loaded value is a pointer to the verifier; one from a read helper is a number. */
	bpf_core_read(&name, sizeof(name), &kn->name);
	return new_cgroup(id, name);
}

#define PF_WQ_WORKER 0x20	/* include/linux/sched.h, the same in all kernels from 5.10 to 7.2; likewise: */
#define PF_KTHREAD 0x00200000

/*
 * The id of the current task's process; @ret_flags are the task's. With a typed pointer to the task plain loads do, at
 * a quarter of the cost of the helpers that 5.10 needs.
 */
static __always_inline u32 current_process(u32 *ret_flags)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

		*ret_flags = task->flags;
		return task->tgid;
	}
	*ret_flags = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags);
	return bpf_get_current_pid_tgid() >> 32;
}

/* When the current task's process began. */
static __always_inline u64 process_begin(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return ((struct task_struct *)bpf_get_current_task_btf())->group_leader->start_boottime;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), group_leader, start_boottime);
}

/* The part of the current process. */
static __always_inline u32 process_part(void)
{
	u32 flags, part, tgid = current_process(&flags);
	u64 leader = 0, id;

	if (!tgid || flags & PF_WQ_WORKER)
		return BLKLAT_PROCESS_WORKERS;
	id = blklat_process_id(tgid, process_begin());
	part = known_part(id);
	if (part)
		return part;
	bpf_core_read(&leader, sizeof(leader), &((struct task_struct *)bpf_get_current_task())->group_leader);
	return new_cgroup(id, leader + bpf_core_field_offset(struct task_struct, comm));
}

/* @op: the enum blklat_op in @flags. */
static __always_inline u32 operation_part(u32 op, u32 flags)
{
	u32 is = flags & REQ_OP_MASK;

	if (is == REQ_OP_OF(REQ_OP_ZONE_APPEND))
		return BLKLAT_OPERATION_ZONE_APPEND;
	if (op < BLKLAT_OP_OTHER)
		return BLKLAT_OPERATION_READ + op;
	if (is >= BLKLAT_REQ_OP_PASSTHROUGH)
		return BLKLAT_OPERATION_PASSTHROUGH_IN + is % 2;
	if (is == REQ_OP_WRITE_ZEROES)
		return BLKLAT_OPERATION_WRITE_ZEROES;
	if (is == REQ_OP_SECURE_ERASE)
		return BLKLAT_OPERATION_SECURE_ERASE;
	if (is == REQ_OP_OF(REQ_OP_ZONE_OPEN))
		return BLKLAT_OPERATION_ZONE_OPEN;
	if (is == REQ_OP_OF(REQ_OP_ZONE_CLOSE))
		return BLKLAT_OPERATION_ZONE_CLOSE;
	if (is == REQ_OP_OF(REQ_OP_ZONE_FINISH))
		return BLKLAT_OPERATION_ZONE_FINISH;
	if (is == REQ_OP_OF(REQ_OP_ZONE_RESET))
		return BLKLAT_OPERATION_ZONE_RESET;
	return is == REQ_OP_OF(REQ_OP_ZONE_RESET_ALL) ? BLKLAT_OPERATION_ZONE_RESET_ALL : BLKLAT_OPERATION_OTHER;
}

/* By cgroup, process or priority. */
static __always_inline u32 sender_part(struct bio *bio)
{
	if (cfg_by == BLKLAT_BY_PROCESS)
		return process_part();
	return cfg_by == BLKLAT_BY_CGROUP ? cgroup_part(bio) : blklat_priority_part(bio ? bio->bi_ioprio : 0);
}

/* NULL never happens: the number is that of a slot. */
static __always_inline u32 *company_at(const struct target *t, struct request *rq)
{
	u32 number;

	return slot_number(t, rq, t->queues, &number) ? bpf_map_lookup_elem(&request_company, &number) : NULL;
}

/* The start time of a request that begins @stage @now in a slot which holds @was. */
static __always_inline u64 begin_in_part(const struct target *t, struct request *rq, u32 stage, u64 now, u64 was)
{
	u32 op = op_of(rq->cmd_flags), kind, found, *keep;

	if (cfg_by == BLKLAT_BY_SIZE)
		return blklat_parted_start(now, blklat_size_part(rq->__data_len), 0);
	if (cfg_by == BLKLAT_BY_FLAGS)
		return blklat_parted_start(now, flags_part(op, rq->cmd_flags), 0);
	if (cfg_by == BLKLAT_BY_OPERATION)
		return blklat_parted_start(now, operation_part(op, rq->cmd_flags), 0);
	if (!blklat_counts_in_flight(cfg_by))
		return blklat_parted_start(now, sender_part(rq->bio), 0);
	kind = kind_of(op, rq->__data_len);
	/* A path of its own, so that the other one has to keep fewer values. */
	if (cfg_company) {
		keep = company_at(t, rq);
		found = enter(t->watch[stage], kind, was, now);
		if (keep)
			*keep = found;
		return blklat_parted_start(now, blklat_company_part(found, cfg_by), kind);
	}
	return blklat_parted_start(now, enter(t->watch[stage], kind, was, now), kind);
}

/* An IO that began at @start is no longer in flight since @now. */
static __always_inline void end_in_part(u32 whole, u64 start, u64 now)
{
	if (blklat_counts_in_flight(cfg_by))
		change_in_flight(whole, blklat_slot_kind(start), -1, now);
}

/* The part of a bio that is to be remembered. Sets @ret_company if company is kept. */
static __always_inline u32 bio_part(u32 whole, const struct bio_start *start, struct bio *bio, u32 *ret_company)
{
	u32 found;

	if (cfg_by == BLKLAT_BY_SIZE)
		return blklat_size_part(start->bytes);
	if (cfg_by == BLKLAT_BY_FLAGS)
		return flags_part(start->op, bio->bi_opf);
	if (cfg_by == BLKLAT_BY_OPERATION)
		return operation_part(start->op, bio->bi_opf);
	if (!blklat_counts_in_flight(cfg_by))
		return sender_part(bio);
	found = company_now(whole);
	if (!cfg_company)
		return found;
	*ret_company = found;
	return blklat_company_part(found, cfg_by);
}

/* Changes the watches of a bio that begins from wholes to its parts. Sets its company in each, if company is kept. */
static __always_inline void choose_parts(struct bio_start *start, struct bio *bio, u32 ret_company[2])
{
	if (start->watch[0])
		start->watch[0] += bio_part(start->watch[0], start, bio, &ret_company[0]);
	if (start->watch[1])
		start->watch[1] += bio_part(start->watch[1], start, bio, &ret_company[1]);
}

/* @n more bios like @start are in flight since @now: 1 or -1. */
static __always_inline void count_bio_in_flight(const struct bio_start *start, u64 n, u64 now)
{
	if (start->watch[0])
		change_in_flight(whole_watch(start->watch[0]), kind_of(start->op, start->bytes), n, now);
	if (start->watch[1])
		change_in_flight(whole_watch(start->watch[1]), kind_of(start->op, start->bytes), n, now);
}

#endif
