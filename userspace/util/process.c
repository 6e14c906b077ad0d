// SPDX-License-Identifier: GPL-2.0-only
#include "util/process.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_MAX_BYTES (4ULL << 30)

void limits_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	/* If raising it is not allowed, the old limit stays. */
	setrlimit(RLIMIT_NOFILE, &files);
}

u64 limits_memory(void)
{
	u64 half = (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;

	return half < MEMORY_MAX_BYTES ? half : MEMORY_MAX_BYTES;
}

bool bpf_call_refused(void)
{
	union bpf_attr attr = { .info.bpf_fd = -1 };

	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) >= 0)
		return false;
	/*
	 * If it is allowed, it fails with EBADFD for this descriptor. The kernel refuses with EPERM, filters also
	 * with ENOSYS.
	 */
	return errno == EPERM || errno == ENOSYS || errno == EACCES;
}
