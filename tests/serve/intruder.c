// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foreign code in a process of the service, by LD_PRELOAD: tries what must be forbidden there, and writes to a file the name
 * of each attempt and its errno, 0 where it was allowed. INTRUDER_IN says where:
 *
 *   server     the process that answers requests (in MHD_run(), which its loop calls)
 *   captures   the thread that captures, once it is confined (in ppoll(), which it waits in)
 *   recorder, pusher  the processes that record and push, once they are confined (in setpriority())
 *   start      any program, at its start: shows what is allowed when nothing is in the way
 *   hang       the process that answers requests, which then stops doing so; tries nothing
 *   stall      the same: makes all its descriptors block, then does nothing more
 *   bounds     where the process that captures cuts down its bounding set, which then fails; tries nothing
 *   threads    where a thread, not a process, gives up capabilities, which then fails; tries nothing
 */
#include <cap-ng.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESULTS_BYTES 65536

struct MHD_Daemon;
int MHD_run(struct MHD_Daemon *d);

/* Mapped before the process is confined. */
static struct results {
	atomic_int begun;
	atomic_int done;
	char text[RESULTS_BYTES - 2 * sizeof(atomic_int)];
} *results;
static const char *where, *folder;
static pid_t decoy, started;
static int port;
static atomic_int serves;

static void note(const char *name, long returned)
{
	int err = returned < 0 ? errno : 0;
	size_t len = strlen(results->text);

	snprintf(results->text + len, sizeof(results->text) - len, "%s %d\n", name, err);
	errno = 0;
}

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static const char *of_decoy(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", decoy, name);
	return path;
}

static void files(void)
{
	char other[512];

	note("read a file", open(in_folder("decoy"), O_RDONLY));
	note("open a file for writing", open(in_folder("decoy"), O_WRONLY));
	note("open a file for both", open(in_folder("decoy"), O_RDWR));
	note("make a file", open(in_folder("new"), O_CREAT | O_WRONLY, 0600));
	note("open by openat2", syscall(SYS_openat2, AT_FDCWD, in_folder("decoy"), &(__u64[3]){ O_WRONLY }, 24));
	note("read /etc/shadow", open("/etc/shadow", O_RDONLY));
	note("list a folder", open(folder, O_RDONLY | O_DIRECTORY));
	note("see a file", access(in_folder("decoy"), F_OK));
	note("cut a file", truncate(in_folder("cut"), 1));
	note("change a file's mode", chmod(in_folder("decoy"), 0600));
	strcpy(other, in_folder("renamed"));
	note("rename a file", rename(in_folder("moved"), other));
	note("remove a file", unlink(in_folder("removed")));
	note("make a folder", mkdir(in_folder("made"), 0700));
	note("make a link", symlink("/", in_folder("link")));
	note("make memory as a file", syscall(SYS_memfd_create, "x", 0));
	note("unmount", umount2(in_folder("nothing"), 0) && errno == ENOENT ? 0 : -1);
}

static void processes(void)
{
	const struct rlimit low = { 64, 64 };
	const struct sched_param ordinary = { 0 };
	char word[8];
	struct iovec here = { word, sizeof(word) }, there = { (void *)in_folder, sizeof(word) };
	long made;

	note("see the parent", kill(getppid(), 0));
	note("see a process", kill(decoy, 0));
	note("signal a process", kill(decoy, SIGURG));
	note("signal a thread", syscall(SYS_tgkill, decoy, decoy, SIGURG));
	note("signal by a descriptor", syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, decoy, 0), SIGURG, NULL, 0));
	note("have a process signalled", fcntl(0, F_SETOWN, decoy));
	note("limit a process", prlimit(decoy, RLIMIT_NOFILE, &low, NULL));
	note("see a process's limits", prlimit(decoy, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0 }));
	note("change its own limits", prlimit(0, RLIMIT_CORE, &(struct rlimit){ 0, 0 }, NULL));
	note("slow a process down", setpriority(PRIO_PROCESS, decoy, 5));
	note("schedule a process", sched_setscheduler(decoy, SCHED_OTHER, &ordinary));
	note("schedule it as a service does", sched_setscheduler(decoy, SCHED_OTHER | SCHED_RESET_ON_FORK, &ordinary));
	note("read a process's memory", process_vm_readv(decoy, &here, 1, &there, 1, 0) < 0 && errno != EFAULT ? -1 : 0);
	note("open a process's memory", open(of_decoy("mem"), O_RDWR));
	note("trace a process", ptrace(PTRACE_SEIZE, decoy, NULL, NULL));
	note("execute a program", execve(in_folder("nothing"), (char *[]){ NULL }, NULL) && errno == ENOENT ? 0 : -1);
	made = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!made)
		_exit(0);
	note("start a process", made);
	if (made > 0)
		waitpid(made, NULL, 0);
	note("leave its namespaces", syscall(SYS_unshare, 0));
}

static void network(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int tcp = socket(AF_INET, SOCK_STREAM, 0), other, pair[2];

	note("make a TCP socket", tcp);
	note("connect", connect(tcp, (struct sockaddr *)&to, sizeof(to)));
	other = socket(AF_INET, SOCK_DGRAM, 0);
	note("make a UDP socket", other);
	note("bind", bind(other, (struct sockaddr *)&any, sizeof(any)));
	note("listen", listen(socket(AF_INET, SOCK_STREAM, 0), 1));
	note("make a Unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	note("make a netlink socket", socket(AF_NETLINK, SOCK_RAW, 0));
	note("make a pair of sockets", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static void privileges(void)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	note("be root", syscall(SYS_setuid, 0));
	note("be in root's group", syscall(SYS_setgid, 0));
	note("change its groups", syscall(SYS_setgroups, 0, NULL));
	note("make a BPF map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
	note("be looked into", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	note("control a device", ioctl(-1, FIONREAD, NULL) && errno == EBADF ? 0 : -1);
	note("execute memory", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

static void intrude(void)
{
	if (atomic_exchange(&results->begun, 1))
		return;
	files();
	processes();
	network();
	privileges();
	atomic_store(&results->done, 1);
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("INTRUDER_RESULTS");
	int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;

	started = getpid();
	where = getenv("INTRUDER_IN");
	folder = getenv("INTRUDER_FOLDER");
	if (fd < 0 || !where || !folder)
		return;	/* there is nothing to try */
	decoy = atoi(getenv("INTRUDER_DECOY"));
	port = atoi(getenv("INTRUDER_PORT"));
	results = mmap(NULL, RESULTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (results == MAP_FAILED)
		results = NULL;
	if (results && !strcmp(where, "start"))
		intrude();
}

int MHD_run(struct MHD_Daemon *d)
{
	int (*original)(struct MHD_Daemon *) = (int (*)(struct MHD_Daemon *))dlsym(RTLD_NEXT, "MHD_run");

	if (results && !strcmp(where, "server"))
		intrude();
	serves = 1;
	while (where && !strcmp(where, "hang"))
		poll(NULL, 0, -1);
	return original(d);
}

int setpriority(__priority_which_t which, id_t who, int value)
{
	int (*original)(__priority_which_t, id_t, int) = (int (*)(__priority_which_t, id_t, int))dlsym(RTLD_NEXT, "setpriority");

	if (results && ((!strcmp(where, "recorder") && value == 10) || (!strcmp(where, "pusher") && value == 11)))
		intrude();
	return original(which, who, value);
}

int capng_apply(capng_select_t set)
{
	int (*original)(capng_select_t) = (int (*)(capng_select_t))dlsym(RTLD_NEXT, "capng_apply");

	if (where && !strcmp(where, "bounds") && set == CAPNG_SELECT_BOUNDS && getpid() == started)
		return -1;
	if (where && !strcmp(where, "threads") && syscall(SYS_gettid) != getpid())
		return -1;
	return original(set);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	int (*original)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");

	if (where && !strcmp(where, "stall") && serves) {
		for (int fd = 3; fd < 64; fd++)
			fcntl(fd, F_SETFL, 0);
		for (;;)
			original(NULL, 0, -1);
	}
	return original(fds, n, ms);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int (*original)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))dlsym(RTLD_NEXT, "ppoll");

	if (results && !strcmp(where, "captures") && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2)
		intrude();
	return original(fds, n, timeout, mask);
}
