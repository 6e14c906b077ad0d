/* SPDX-License-Identifier: GPL-2.0-only */
/* What this machine and the privileges of this process allow; only facts, which 'check' judges. */
#ifndef CMD_MACHINE_H
#define CMD_MACHINE_H

#include "util/types.h"

enum capability { CAPABILITY_BPF, CAPABILITY_PERFMON, CAPABILITY_SYS_ADMIN, CAPABILITIES };

/* "CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN" */
extern const char *const capability_names[CAPABILITIES];

struct machine {
	char release[128];		/* of the kernel; "" if unknown */
	u32 cpus;			/* see sysfs_cpus() */
	bool btf;			/* the kernel describes its types (BTF) */
	char lockdown[32];		/* none, integrity, confidentiality; "" if not built in */
	bool capable[CAPABILITIES];	/* effective */
	u64 locked_memory_bytes;	/* the soft limit; ~0: none */
	bool locks_bpf_memory;		/* that limit applies to BPF maps (before 5.11) */
};

/* Reads the files below @root/proc and @root/sys; if one is missing, its fact stays 0. */
void machine_read(struct machine *m, const char *root);

#endif
