/* SPDX-License-Identifier: GPL-2.0-only */
/* What a machine and the rights of this process allow; facts for 'check', no judgement. */
#ifndef CMD_MACHINE_H
#define CMD_MACHINE_H

#include "util/types.h"

enum capability { CAPABILITY_BPF, CAPABILITY_PERFMON, CAPABILITY_SYS_ADMIN, CAPABILITIES };

/* "CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN" */
extern const char *const capability_names[CAPABILITIES];

struct machine {
	char release[128];		/* of the kernel; "" when unknown */
	u32 cpus;			/* possible ones: each has its rows of counters */
	bool btf;			/* the kernel describes its types */
	char lockdown[32];		/* none, integrity, confidentiality; "" when not built in */
	bool capable[CAPABILITIES];	/* effective */
	u64 locked_memory_bytes;	/* the soft limit; ~0: none */
	bool locks_bpf_memory;		/* before 5.11 that limit holds for BPF maps */
};

/* Reads the files below @root/proc and @root/sys; one that is missing leaves its fact at 0. */
void machine_read(struct machine *m, const char *root);

#endif
