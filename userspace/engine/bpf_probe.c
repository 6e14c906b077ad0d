// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../bpf/capture.h"
#include "engine/bpf_engine.h"
#include "util/cleanup.h"
#include "util/process.h"
#include "util/sysfs.h"

static void cleanup_btf(struct btf **b)
{
	btf__free(*b);
}

static int args_in(const struct btf *btf, const char *name)
{
	const struct btf_type *type;
	char typedef_name[64];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);	/* a pointer to ... */
	if (!type || !btf_is_ptr(type))
		return -EINVAL;
	type = btf__type_by_id(btf, type->type);			/* ... a function */
	if (!type || !btf_is_func_proto(type))
		return -EINVAL;
	return btf_vlen(type) - 1;
}

const char *bpf_kernel_types(void)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";

	return access(path, R_OK) ? NULL : path;
}

/* See struct kernel_traits. If only one were missing, the programs would not load (CO-RE). */
static u32 rare_flags(const struct btf *btf)
{
	static const char *const names[] = { "__REQ_FUA", "__REQ_PREFLUSH", "__REQ_META", "__REQ_RAHEAD" };
	int id = btf__find_by_name_kind(btf, "req_flag_bits", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	u32 mask = 0;

	for (u32 i = 0; t && i < btf_vlen(t); i++)
		for (u32 n = 0; n < ARRAY_SIZE(names); n++)
			if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), names[n]))
				mask |= 1U << btf_enum(t)[i].val;
	return t ? mask : UINT32_MAX;
}

/* The value of @name in whichever enum has it, named or not, or @otherwise. */
static int enum_value(const struct btf *btf, const char *name, int otherwise)
{
	for (u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (u32 i = 0; btf_is_enum(t) && i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
				return btf_enum(t)[i].val;
	}
	return otherwise;
}

/* NULL: the kernel has no such struct, or it has no such member. */
static const struct btf_member *member_of(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t;

	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	for (u32 i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return &btf_members(t)[i];
	return NULL;
}

static bool struct_has(const struct btf *btf, const char *type, const char *member)
{
	return member_of(btf, type, member);
}

bool bpf_ring_sleeps(const struct btf *btf)
{
	const struct btf_member *lock = member_of(btf, "bpf_ringbuf", "spinlock");
	const struct btf_type *type = lock ? btf__type_by_id(btf, lock->type) : NULL;

	/* With PREEMPT_RT, a spinlock_t is a mutex called lock; otherwise its members are in a union without a name. */
	return type && struct_has(btf, "spinlock", "lock") && !strcmp(btf__name_by_offset(btf, type->name_off), "spinlock_t");
}

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

bool bpf_preemptible(const struct btf *btf)
{
	return has_function(btf, "init_srcu_struct_fast") || has_function(btf, "__init_srcu_struct_fast");
}

/* Loads a program that does nothing but a compare-and-exchange on its stack. */
static bool takes_cmpxchg(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_1, .off = -8,
		  .imm = BPF_CMPXCHG },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd CLEANUP(cleanup_close) = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "cmpxchg", "GPL", insns,
						      ARRAY_SIZE(insns), NULL);

	return fd >= 0;
}

/* Loads a program that does nothing for a function or tracepoint. Returns a descriptor or a negative errno. */
static int load_program(enum bpf_attach_type type, int id)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type, .attach_btf_id = id);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", insns, ARRAY_SIZE(insns), &opts);
}

/* Briefly attaches a program to a function. Not every kernel has trampolines. */
static bool takes_program(int function)
{
	int prog CLEANUP(cleanup_close) = load_program(BPF_TRACE_FENTRY, function);
	int link CLEANUP(cleanup_close) = prog < 0 ? -1 : bpf_raw_tracepoint_open(NULL, prog);

	return link >= 0;
}

/* A function @name with one argument, presumably a bio. Returns its BTF id or a negative errno. */
static int function_of_bio(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	const struct btf_type *proto = id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

	return proto && btf_vlen(proto) == 1 ? id : -ENOENT;
}

/*
 * Since a7b36ee6ba29, in 5.16, the check made for every bio comes before this function, which is called
 * only for bios under a limit.
 */
static const char *find_throttle(const struct btf *btf)
{
	static const char *const names[] = { "__blk_throtl_bio", "blk_throtl_bio" };

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		int id = function_of_bio(btf, names[i]);

		if (id > 0)
			return takes_program(id) ? names[i] : NULL;
	}
	return NULL;
}

static int standbys_asked(int *ret, struct problem *p)
{
	const char *said = getenv("BLKLAT_STANDBY");

	*ret = -1;
	if (!said)
		return 0;
	if (said[0] < '0' || said[0] > '0' + BPF_STANDBYS || said[1])
		return problem_set(p, -EINVAL, "BLKLAT_STANDBY is '%s', but has to be a number of standby programs, 0 to %d", said, BPF_STANDBYS);
	*ret = said[0] - '0';
	return 0;
}

/*
 * Reads the kernel's types, if they have all tracepoints that are needed. Types from elsewhere would not do: the kernel
 * looks up attach targets in its own (bpf_get_btf_vmlinux()).
 */
static int read_types(struct btf **ret, struct problem *p)
{
	static const char *const needed[] = {
		"block_rq_insert", "block_rq_issue", "block_rq_requeue",
		"block_rq_complete", "block_bio_queue", "block_bio_complete",
		"block_getrq", "block_bio_backmerge", "block_bio_frontmerge",
	};

	*ret = btf__load_vmlinux_btf();
	if (!*ret)
		return problem_set(p, -errno, "the kernel gives no BTF type information: use the kernel module, which needs none, or "
				   "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are");
	for (u32 i = 0; i < ARRAY_SIZE(needed); i++)
		if (args_in(*ret, needed[i]) < 0)
			return problem_set(p, -ENOENT, "the kernel has no tracepoint %s: it is older than 5.10 or "
					   "built without the block layer's tracepoints", needed[i]);
	return 0;
}

int bpf_kernel_traits(bool bios, struct kernel_traits *ret, struct problem *p)
{
	struct btf *btf CLEANUP(cleanup_btf) = NULL;
	int err = read_types(&btf, p);

	if (err)
		return err;
	*ret = (struct kernel_traits){
		.insert_arg1 = args_in(btf, "block_rq_insert") == 2,
		.issue_arg1 = args_in(btf, "block_rq_issue") == 2,
		.requeue_arg1 = args_in(btf, "block_rq_requeue") == 2,
		.merge_arg1 = args_in(btf, "block_rq_merge") == 2,
		.bio_queue_arg1 = args_in(btf, "block_bio_queue") == 2,
		.getrq_arg1 = args_in(btf, "block_getrq") == 3,
		.bio_merge_arg2 = args_in(btf, "block_bio_backmerge") == 3,
		.bio_split_arg1 = args_in(btf, "block_split") == 3,
		.bio_remap_arg1 = args_in(btf, "block_bio_remap") == 4,
		.traces_merges = args_in(btf, "block_rq_merge") > 0,
		.before_5_11 = !struct_has(btf, "block_device", "bd_device"),
		.bios_know_partition = struct_has(btf, "bio", "bi_bdev"),
		.rare_flags = rare_flags(btf),
		/* A bit's number since 6.10 (5f89154e8e9e, in an enum without a name), a macro before: 1 << 4. */
		.flush_seq = 1U << enum_value(btf, "__RQF_FLUSH_SEQ", 4),
		/* Became global with 05b24ff9b2cf, which guards raw tracepoints. */
		.unguarded = !has_function(btf, "bpf_prog_inc_misses_counter"),
		.preemptible = bpf_preemptible(btf),
		.ring_sleeps = bpf_ring_sleeps(btf),
		.compares_and_exchanges = takes_cmpxchg() && enum_value(btf, "BPF_FUNC_for_each_map_elem", 0),
		.bio_traced = 1U << enum_value(btf, "BIO_TRACE_COMPLETION", 31),
		.throttle = bios ? find_throttle(btf) : NULL,
	};
	return standbys_asked(&ret->standbys, p);
}

static u64 effective_capabilities(void)
{
	char status[4096], *at;

	sysfs_text(AT_FDCWD, "/proc/self/status", status, sizeof(status));
	at = strstr(status, "CapEff:");
	return at ? strtoull(at + strlen("CapEff:?"), NULL, 16) : 0;
}

static int check_capabilities(struct problem *p)
{
	u64 caps = effective_capabilities();
	bool bpf = caps >> CAP_BPF & 1, perfmon = caps >> CAP_PERFMON & 1;

	if (caps >> CAP_SYS_ADMIN & 1 || (bpf && perfmon))
		return 0;
	return problem_set(p, -EPERM, "not permitted to load BPF programs, %s%s%s missing: run it as root, for "
			   "example with sudo", bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			   perfmon ? "" : "CAP_PERFMON");
}

/* With the capabilities, nothing but a filter refuses every command. */
static int check_filter(struct problem *p)
{
	if (!bpf_call_refused())
		return 0;
	return problem_set(p, -EPERM, "not permitted to call bpf(): a seccomp filter refuses it in spite of the capabilities, as the "
			   "default profile of an older container engine does: give the container another profile");
}

/* The kernel itself does not refuse such a map with EACCES. What else may be wrong, loading the programs will say. */
static int check_security_module(struct problem *p)
{
	CLEANUP(cleanup_close) int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(u32), sizeof(u32), 1, NULL);

	if (fd >= 0 || errno != EACCES)
		return 0;
	return problem_set(p, -EPERM, "not permitted to make a BPF map: a security module forbids it (the kernel's audit log has more), "
			   "as SELinux does to containers: give the container the type spc_t");
}

static int check_lockdown(struct problem *p)
{
	char lockdown[32];

	sysfs_choice(AT_FDCWD, "/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	if (!strcmp(lockdown, "confidentiality"))
		return problem_set(p, -EPERM, "kernel lockdown is in confidentiality mode, which forbids BPF to "
				   "read kernel memory: boot with lockdown=integrity or lower");
	return 0;
}

static int no_log(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

void bpf_prepare(void)
{
	if (!getenv("BLKLAT_DEBUG"))
		libbpf_set_print(no_log);
}

int bpf_probe(struct problem *p)
{
	struct btf *btf CLEANUP(cleanup_btf) = NULL;
	int prog CLEANUP(cleanup_close) = -1;
	int err = check_capabilities(p);

	bpf_prepare();
	if (!err)
		err = check_filter(p);
	if (!err)
		err = check_security_module(p);
	if (!err)
		err = check_lockdown(p);
	if (!err)
		err = read_types(&btf, p);
	/* The real test. With a program of ours libbpf would read the kernel's types once more, and search them. */
	if (err)
		return err;
	prog = load_program(BPF_TRACE_RAW_TP, btf__find_by_name_kind(btf, "btf_trace_block_rq_issue", BTF_KIND_TYPEDEF));
	return prog < 0 ? problem_set(p, prog, "the kernel refused a BPF program on a tracepoint: %s", strerror(-prog)) : 0;
}
