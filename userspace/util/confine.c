// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/process.h"

/*
 * If there is no list of users, as in a container with a single program, this is the kernel's own
 * nobody (DEFAULT_OVERFLOWUID).
 */
static const struct passwd kernels_nobody = { .pw_uid = 65534, .pw_gid = 65534 };

int user_find(const char *name, struct user *ret, struct problem *p)
{
	const struct passwd *found = getpwnam(name);

	if (!found && !strcmp(name, "nobody"))
		found = &kernels_nobody;
	if (!found)
		return problem_set(p, -EINVAL, "there is no user '%.60s' that the web server could run as: --user names one",
				   name);
	if (!found->pw_uid || !found->pw_gid)
		return problem_set(p, -EINVAL, "the web server must not run as '%.60s', which is root or in root's group: "
				   "--user names an ordinary user", name);
	*ret = (struct user){ .name = name, .uid = found->pw_uid, .gid = found->pw_gid };
	return 0;
}

/*
 * Makes the calling process run as @u for good, without any supplementary group. Returns 0, or a
 * negative errno and a sentence.
 */
static int user_become(const struct user *u, struct problem *p)
{
	if (setgroups(0, NULL) || setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid))
		return problem_set(p, -errno, "the web server could not become user '%.60s': %s; that takes CAP_SETUID and "
				   "CAP_SETGID, or start the service as an ordinary user", u->name, strerror(errno));
	return 0;
}

/* --- the system call filters of the processes of a service --- */

/* Calls, grouped by purpose. The library leaves out names that an architecture does not have. */
static const char *const of_all[] = {
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
	NULL
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
	NULL
};

static const char *const of_server[] = {
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "accept", "accept4",
	"getsockname", "getpeername", "getsockopt", "setsockopt",
	NULL
};

/* What an HTTP client does, with its resolver. */
static const char *const of_client[] = {
	"connect", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendmmsg", "recvmmsg", "socketpair", "pipe2",
	"pread64", "lseek", "_llseek", "newfstatat", "stat", "stat64", "fstatat64", "statx", "access", "faccessat", "faccessat2", "readlink",
	"readlinkat", NULL
};

static const char *const of_files[] = {
	"pread64", "pwrite64", "lseek", "_llseek", "fsync", "fdatasync", "ftruncate", "ftruncate64", "fchmod", "flock", "umask",
	"unlink", "unlinkat", "mknod", "mknodat", "newfstatat", "stat", "stat64", "lstat", "lstat64", "fstatat64", "statx",
	"access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents", "getdents64", "open", "openat",
	NULL
};

/* Calls that are allowed if their arguments have these values. */
struct rule {
	int call;
	u32 n;				/* 0: after the last rule */
	struct scmp_arg_cmp args[2];
};
#define RULE(call, arg) { SCMP_SYS(call), 1, { arg } }
#define RULE_2(call, arg, more) { SCMP_SYS(call), 2, { arg, more } }

static const struct rule rules_of_all[] = {
	/* making a thread, but not a process */
	RULE(clone, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)),
	/* reading its own limits, and setting a thread's own niceness */
	RULE_2(prlimit64, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0)),
	RULE_2(setpriority, SCMP_A0(SCMP_CMP_EQ, PRIO_PROCESS), SCMP_A1(SCMP_CMP_EQ, 0)),
	{ 0 }
};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC)
#define OPENING(flags)                                                                                                 \
	RULE(open, SCMP_A1(SCMP_CMP_MASKED_EQ, WRITES, flags)), RULE(openat, SCMP_A2(SCMP_CMP_MASKED_EQ, WRITES, flags))

/* A thread gives up its real-time priority, see realtime_end(). */
#define LOWERING                                                                                                       \
	RULE_2(sched_setscheduler, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A1(SCMP_CMP_EQ, SCHED_NORMAL | SCHED_RESET_ON_FORK))

static const struct rule rules_of_captures[] = { LOWERING, OPENING(O_RDONLY), { 0 } };

/* The module's device is opened for writing, as it is mapped writable. A filter can't see which file is opened. */
static const struct rule rules_of_module_captures[] = { LOWERING, OPENING(O_RDONLY), OPENING(O_RDWR), { 0 } };

/* Memory that is not executable. */
#define NO_CODE SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)
#define DATA RULE(mmap, NO_CODE), RULE(mmap2, NO_CODE), RULE(mprotect, NO_CODE)

/* Not F_SETOWN and the like, which could signal others. */
#define FCNTL(command) RULE(fcntl, SCMP_A1(SCMP_CMP_EQ, command)), RULE(fcntl64, SCMP_A1(SCMP_CMP_EQ, command))
#define DESCRIPTORS FCNTL(F_GETFD), FCNTL(F_SETFD), FCNTL(F_GETFL), FCNTL(F_SETFL), FCNTL(F_DUPFD_CLOEXEC)

static const struct rule rules_of_server[] = { DATA, DESCRIPTORS, { 0 } };
static const struct rule rules_of_client[] = { DATA,
					       DESCRIPTORS,
					       OPENING(O_RDONLY),
					       RULE(socket, SCMP_A0(SCMP_CMP_EQ, AF_INET)),
					       RULE(socket, SCMP_A0(SCMP_CMP_EQ, AF_INET6)),
					       RULE(ioctl, SCMP_A1(SCMP_CMP_EQ, FIONREAD)),
					       { 0 } };
static const struct rule rules_of_files[] = { DATA, DESCRIPTORS, FCNTL(F_GETLK), FCNTL(F_SETLK), FCNTL(F_SETPIPE_SZ), { 0 } };

static int allow(scmp_filter_ctx filter, const char *const *names, const struct rule *rules)
{
	int err = 0;

	for (; !err && *names; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	for (; !err && rules->n; rules++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules->call, rules->n, rules->args);
	return err;
}

/* What needs more than a rule in a table. */
static int allow_threads(scmp_filter_ctx filter)
{
	/* clone3() has its flags in memory, where a filter can't see them. On ENOSYS libc uses clone(). */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	/* Signals to its own threads (abort). */
	return err ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, getpid()));
}

static void cleanup_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* Refuses all calls but @names, @rules, and those of every process of a service. Returns 0 or a negative errno. */
static int confine_calls(const char *const *names, const struct rule *rules)
{
	scmp_filter_ctx filter CLEANUP(cleanup_filter) = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!filter || allow_threads(filter) || allow(filter, of_all, rules_of_all) || allow(filter, names, rules))
		return -ENOMEM;
	return seccomp_load(filter);
}

/* New in Linux 5.8; libcap-ng's header may be older than the kernel. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const unsigned int for_capture[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };

/* With CAP_BPF there is no need for CAP_SYS_ADMIN, which permits nearly everything. */
static u32 n_for_capture(void)
{
	return capng_have_capability(CAPNG_PERMITTED, CAP_BPF) ? 2 : 3;
}

static void change(capng_act_t act, capng_type_t type, unsigned int capability)
{
	if (act == CAPNG_DROP || capng_have_capability(CAPNG_PERMITTED, capability))
		capng_update(act, type, capability);
}

/*
 * Must be done while we have CAP_SETPCAP, which goes with the change of user; a service without it has
 * the bounding set that its unit sets.
 */
static int drop_bounds(void)
{
	if (capng_get_caps_process())
		return -EPERM;
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

static int drop(struct confine *c)
{
	bool keep[3] = { false };
	u32 n;

	if (drop_bounds())
		return -EPERM;
	n = n_for_capture();
	for (u32 i = 0; i < n; i++)
		keep[i] = capng_have_capability(CAPNG_PERMITTED, for_capture[i]);
	capng_clear(CAPNG_SELECT_CAPS);
	for (u32 i = 0; c->keep_capture && i < n; i++)
		if (keep[i])
			capng_update(CAPNG_ADD, CAPNG_PERMITTED, for_capture[i]);
	if (keep[0])
		capng_update(CAPNG_ADD, CAPNG_PERMITTED, CAP_BPF);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	c->reads_need_bpf = bpf_call_refused();
	if (c->reads_need_bpf)
		change(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_BPF);
	else if (!c->keep_capture)
		capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/* The kernel can't do it. */
static bool is_missing(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSYS;
}

int confine(struct confine *c, struct problem *p)
{
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return problem_set(p, -errno, "could not give up privileges: %s", strerror(errno));
	if (drop(c))
		return problem_set(p, -EPERM, "could not give up capabilities");
	err = landlock_write_only(c->keep_capture ? c->writes_to : NULL);
	if (err && err != -EOPNOTSUPP)
		return problem_set(p, err, "could not give up writing to files: %s", strerror(-err));
	err = confine_calls(of_captures,
			    c->keep_capture && c->writes_to ? rules_of_module_captures : rules_of_captures);
	c->filtered = !err;
	if (err && !is_missing(err))
		return problem_set(p, err, "could not filter system calls: %s", strerror(-err));
	return 0;
}

static int in_effect(const struct confine *c, capng_act_t act)
{
	if (!c->keep_capture)
		return 0;
	if (capng_get_caps_process())
		return -1;
	for (u32 i = 0; i < n_for_capture(); i++)
		if (act == CAPNG_ADD || !c->reads_need_bpf || for_capture[i] != CAP_BPF)
			change(act, CAPNG_EFFECTIVE, for_capture[i]);
	return capng_apply(CAPNG_SELECT_CAPS);
}

static int none_left(void)
{
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS);
}

/* A thread may always give up capabilities (capabilities(7)). If it can't, we would rather end than run with them. */
static void must(int err)
{
	if (!err)
		return;
	fputs("blklat: a thread could not give up its capabilities\n", stderr);
	abort();
}

/* Without them a device can't be added, and the engine says why. */
void confine_raise(const struct confine *c)
{
	in_effect(c, CAPNG_ADD);
}

void confine_lower(const struct confine *c)
{
	must(in_effect(c, CAPNG_DROP));
}

void confine_thread(void)
{
	must(none_left());
}

/* Must come after the change of user, which resets some of this. Returns 0 or a negative errno. */
static int shut(pid_t parent)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	/* The parent may have ended before we asked for the signal. */
	return getppid() == parent ? 0 : -ESRCH;
}

/* What the processes beside the one that captures give up. @name: of the process, in messages. */
static int give_up(const char *name, const struct user *user, pid_t parent, struct problem *p)
{
	int err = drop_bounds();

	if (err)
		return problem_set(p, err, "%s could not give up capabilities", name);
	err = user ? user_become(user, p) : 0;
	if (err)
		return err;
	if (capng_get_caps_process() || none_left())
		return problem_set(p, -EPERM, "%s could not give up capabilities", name);
	err = shut(parent);
	return err ? problem_set(p, err, "%s could not be confined: %s", name, strerror(-err)) : 0;
}

/* The rest of it: @landlocked is what Landlock returned, then come the system calls. */
static int shut_in(const char *name, int landlocked, const char *const *calls, const struct rule *rules,
		   struct problem *p)
{
	int err;

	if (landlocked && !is_missing(landlocked))
		return problem_set(p, landlocked, "%s could not be shut out of files: %s", name, strerror(-landlocked));
	err = confine_calls(calls, rules);
	if (err && !is_missing(err))
		return problem_set(p, err, "the system calls of %s could not be filtered: %s", name, strerror(-err));
	return 0;
}

int confine_server(const struct user *user, pid_t parent, struct problem *p)
{
	static const char name[] = "the web server";

	return give_up(name, user, parent, p) ?:
	       shut_in(name, landlock_only_below(NULL), of_server, rules_of_server, p);
}

int confine_client(const struct user *user, pid_t parent, const char *const *files, struct problem *p)
{
	static const char name[] = "the process that pushes";

	return give_up(name, user, parent, p) ?: shut_in(name, landlock_connect(files), of_client, rules_of_client, p);
}

int confine_to_folder(const char *folder, pid_t parent, struct problem *p)
{
	static const char name[] = "the recorder";

	return give_up(name, NULL, parent, p) ?:
	       shut_in(name, landlock_only_below(folder), of_files, rules_of_files, p);
}
