// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Grouped by purpose. The library leaves out names that an architecture does not have. */
static const char *const both[] = {
	/* memory */
	"brk", "munmap", "mremap", "madvise",
	/* threads, waiting, clocks */
	"futex", "futex_time64", "rseq", "set_robust_list", "set_tid_address", "sched_yield", "sched_getaffinity",
	"gettid", "getpid", "exit", "exit_group", "restart_syscall",
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_gettime64", "clock_getres", "gettimeofday", "time",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "membarrier",
	"getrandom", "uname", "getrlimit", "getrusage", "sysinfo", "getuid", "geteuid", "getgid", "getegid",
	/* open descriptors */
	"read", "readv", "write", "writev", "close", "fstat", "fstat64", "eventfd2", "poll", "ppoll", "ppoll_time64",
	"recv", "recvfrom", "recvmsg", "send", "sendto", "sendmsg", "shutdown",
};

static const char *const of_captures[] = {
	"mmap", "mmap2", "mprotect", "prctl", "capget", "capset", "rt_sigtimedwait",
	/* open files, and reading others */
	"pread64", "lseek", "newfstatat", "stat", "stat64", "lstat", "lstat64", "fstatat64", "statx", "statfs", "statfs64",
	"fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents", "getdents64",
	"getcwd", "fcntl", "fcntl64", "dup", "dup2", "dup3", "ioctl", "pipe2", "signalfd4",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	/* the end of the process that serves */
	"waitid",
	/* counters of open captures */
	"bpf",
};

static const char *const of_server[] = {
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "accept", "accept4",
	"getsockname", "getpeername", "getsockopt", "setsockopt",
	/* to end after a time limit */
	"alarm", "setitimer",
};

static int allow_named(scmp_filter_ctx filter, const char *const *names, u32 n)
{
	int err = 0;

	for (u32 i = 0; !err && i < n; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	return err;
}

/* Allows clone() by its flags: making a thread, but not a process. */
static int allow_threads(scmp_filter_ctx filter)
{
	/* clone3() has its flags in memory, where a filter can't see them. On ENOSYS libc uses clone(). */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
}

/* Allows signals to its own threads (abort), reading its own limits, and setting a thread's own niceness. */
static int allow_own(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, getpid()));

	err = err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				      SCMP_A2(SCMP_CMP_EQ, 0));
	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2, SCMP_A0(SCMP_CMP_EQ, PRIO_PROCESS),
				       SCMP_A1(SCMP_CMP_EQ, 0));
}

/* Allows a thread to give up its real-time priority, see realtime_end(). */
static int allow_lower_priority(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setscheduler), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				SCMP_A1(SCMP_CMP_EQ, SCHED_NORMAL | SCHED_RESET_ON_FORK));
}

static int allow_opening(scmp_filter_ctx filter, int flags)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, writes, flags));

	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, writes, flags));
}

/* Allows memory that is not executable. */
static int allow_data(scmp_filter_ctx filter)
{
	static const int calls[] = { SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect) };
	int err = 0;

	for (u32 i = 0; !err && i < ARRAY_SIZE(calls); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

/* Allows a descriptor's flags and copies, but not F_SETOWN and the like, which could signal others. */
static int allow_descriptors(scmp_filter_ctx filter)
{
	static const int commands[] = { F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC };
	int err = 0;

	for (u32 i = 0; !err && i < ARRAY_SIZE(commands); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, commands[i])) ?:
		      seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl64), 1, SCMP_A1(SCMP_CMP_EQ, commands[i]));
	return err;
}

static int allow_captures(scmp_filter_ctx filter, bool writes)
{
	int err = allow_named(filter, of_captures, ARRAY_SIZE(of_captures));

	err = err ?: allow_lower_priority(filter) ?: allow_opening(filter, O_RDONLY);
	/*
	 * The module's device is opened for writing, as it is mapped writable. A filter can't see which
	 * file is opened.
	 */
	return err || !writes ? err : allow_opening(filter, O_RDWR);
}

static int allow_server(scmp_filter_ctx filter)
{
	int err = allow_named(filter, of_server, ARRAY_SIZE(of_server));

	return err ?: allow_data(filter) ?: allow_descriptors(filter);
}

static void cleanup_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/*
 * Makes a filter that refuses everything but the calls of both processes of a service. NULL if there is
 * no memory.
 */
static scmp_filter_ctx new_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!filter)
		return NULL;
	/* We have set no_new_privs already, or are told that it is needed. */
	if (!seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1) && !allow_named(filter, both, ARRAY_SIZE(both)) &&
	    !allow_threads(filter) && !allow_own(filter))
		return filter;
	seccomp_release(filter);
	return NULL;
}

int confine_calls(bool writes)
{
	scmp_filter_ctx filter CLEANUP(cleanup_filter) = new_filter();

	return !filter ? -ENOMEM : allow_captures(filter, writes) ?: seccomp_load(filter);
}

int confine_calls_server(void)
{
	scmp_filter_ctx filter CLEANUP(cleanup_filter) = new_filter();

	return !filter ? -ENOMEM : allow_server(filter) ?: seccomp_load(filter);
}
