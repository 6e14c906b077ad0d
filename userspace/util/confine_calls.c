// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>

#include "util/cleanup.h"

/* By what they are for. Names that an architecture does not have are left out by the library. */
static const char *const always[] = {
	/* memory */
	"brk", "mmap", "munmap", "mremap", "madvise", "mprotect",
	/* threads, waiting, clocks; their signals among themselves */
	"futex", "futex_time64", "rseq", "set_robust_list", "set_tid_address", "sched_yield", "sched_getaffinity",
	"setpriority", "getpriority", "gettid", "getpid", "tgkill", "exit", "exit_group", "restart_syscall",
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_gettime64", "clock_getres", "gettimeofday", "time",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "membarrier",
	"prctl", "capget", "capset", "getrandom", "uname", "getrlimit", "prlimit64", "getrusage", "sysinfo",
	"getuid", "geteuid", "getgid", "getegid",
	/* files that are open, and reading others */
	"read", "readv", "pread64", "write", "writev", "close", "lseek", "fstat", "fstat64", "newfstatat", "stat",
	"stat64", "lstat", "lstat64", "fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64", "access",
	"faccessat", "faccessat2", "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "fcntl", "fcntl64",
	"dup", "dup2", "dup3", "ioctl", "pipe2", "eventfd2", "signalfd4",
	/* connections that come in, and datagrams to whom we are connected already */
	"poll", "ppoll", "ppoll_time64", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"epoll_pwait2", "accept", "accept4", "recv", "recvfrom", "recvmsg", "send", "sendto", "sendmsg", "sendfile",
	"shutdown", "getsockname", "getpeername", "getsockopt", "setsockopt",
	/* counters of captures that are open */
	"bpf",
};

/* Names and addresses in the flags: a thread is made, a process is not. */
static int allow_threads(scmp_filter_ctx filter)
{
	/* Its flags lie in memory, out of the filter's sight. libc then takes clone(). */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
}

static int allow_reading(scmp_filter_ctx filter)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				   SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));

	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
}

static int allow(scmp_filter_ctx filter, bool capture)
{
	int err = 0;

	for (u32 i = 0; !err && i < ARRAY_SIZE(always); i++) {
		int number = seccomp_syscall_resolve_name(always[i]);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	err = err ?: allow_threads(filter);
	err = err ?: allow_reading(filter);
	/* The module's device is opened for writing, since it is mapped so. */
	if (capture)
		err = err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
					      SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDWR));
	return err;
}

static void cleanup_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

int confine_calls(bool capture)
{
	scmp_filter_ctx filter CLEANUP(cleanup_filter) = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!filter)
		return -ENOMEM;
	/* We have set no_new_privs, or are told that it is wanted. */
	err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
	err = err ?: allow(filter, capture);
	return err ?: seccomp_load(filter);
}
