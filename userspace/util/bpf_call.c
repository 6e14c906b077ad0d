// SPDX-License-Identifier: GPL-2.0-only
#include "util/bpf_call.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <sys/syscall.h>

bool bpf_call_refused(void)
{
	union bpf_attr attr = { .info.bpf_fd = -1 };

	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) >= 0)
		return false;
	/* Without a descriptor the command's own answer is EBADFD. The kernel refuses with EPERM, filters also with ENOSYS. */
	return errno == EPERM || errno == ENOSYS || errno == EACCES;
}
