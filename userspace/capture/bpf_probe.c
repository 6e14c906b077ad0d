// SPDX-License-Identifier: GPL-2.0-only
#include "capture/bpf_probe.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/bpf_find.h"
#include "util/cleanup.h"

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

int bpf_tracepoint_args(const char *name)
{
	struct btf *btf CLEANUP(cleanup_btf) = btf__load_vmlinux_btf();

	return btf ? args_in(btf, name) : -errno;
}

int bpf_enum_value(const char *name, int otherwise)
{
	struct btf *btf CLEANUP(cleanup_btf) = btf__load_vmlinux_btf();

	for (u32 id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (u32 i = 0; btf_is_enum(t) && i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
				return btf_enum(t)[i].val;
	}
	return otherwise;
}

bool bpf_struct_has(const char *type, const char *member)
{
	struct btf *btf CLEANUP(cleanup_btf) = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : -ENOENT;
	const struct btf_type *t;

	if (id < 0)
		return false;
	t = btf__type_by_id(btf, id);
	for (u32 i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

static u64 effective_capabilities(void)
{
	FILE *f CLEANUP(cleanup_fclose) = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	return caps;
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

static int check_lockdown(struct problem *p)
{
	FILE *f CLEANUP(cleanup_fclose) = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]"))
		return problem_set(p, -EPERM, "kernel lockdown is in confidentiality mode, which forbids BPF to "
				   "read kernel memory: boot with lockdown=integrity or lower");
	return 0;
}

static int check_tracepoints(struct problem *p)
{
	static const char *const needed[] = {
		"block_rq_insert", "block_rq_issue", "block_rq_requeue",
		"block_rq_complete", "block_bio_queue", "block_bio_complete",
	};
	struct btf *btf CLEANUP(cleanup_btf) = btf__load_vmlinux_btf();

	if (!btf)
		return problem_set(p, -errno, "the kernel gives no BTF type information (%s): use a kernel built "
				   "with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are",
				   strerror(errno));
	for (u32 i = 0; i < ARRAY_SIZE(needed); i++)
		if (args_in(btf, needed[i]) < 0)
			return problem_set(p, -ENOENT, "the kernel has no tracepoint %s: it is older than 5.10 or "
					   "built without the block layer's tracepoints", needed[i]);
	return 0;
}

static int no_log(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

void bpf_quiet(void)
{
	if (!getenv("BLKLAT_DEBUG"))
		libbpf_set_print(no_log);
}

int bpf_probe(struct problem *p)
{
	int err = check_capabilities(p);

	bpf_quiet();
	if (!err)
		err = check_lockdown(p);
	if (!err)
		err = check_tracepoints(p);
	/* The proof: a program of ours is loaded, run and unloaded. */
	return err ? err : bpf_find_devices(NULL, 0, NULL, p);
}
