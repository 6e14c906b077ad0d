// SPDX-License-Identifier: GPL-2.0-only
#include "live/child.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/ending.h"

extern char **environ;

/* Returns 0, -ENOENT or -EACCES, which a shell tells apart. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

/*
 * Tries @name, in each directory of PATH unless it is a path. The error is -EACCES if all files found can't be
 * executed.
 */
static int find(const char *name, char **ret)
{
	const char *dir = strchr(name, '/') ? "" : getenv("PATH") ?: "/usr/bin:/bin";
	int err = -ENOENT;

	for (const char *next; *name && dir; dir = next) {
		int len = strcspn(dir, ":"), failed;
		char *path;

		next = dir[len] ? dir + len + 1 : NULL;
		if (asprintf(&path, "%.*s%s%s", len, dir, len ? "/" : strchr(name, '/') ? "" : "./", name) < 0)
			return -ENOMEM;
		failed = executable(path);
		if (!failed) {
			*ret = path;
			return 0;
		}
		free(path);
		if (failed == -EACCES)
			err = failed;
	}
	return err;
}

static int start_problem(const struct child *c, int err, struct problem *p)
{
	if (err == -ENOENT && !c->path)
		return problem_set(p, err, "'%s': command not found", c->argv[0]);
	return problem_set(p, err, "'%s' can't be executed: %s", c->argv[0], err == -ENOENT ?
			   "its interpreter does not exist" : strerror(-err));
}

int child_init(struct child *c, char **argv, struct problem *p)
{
	int err;

	*c = (struct child){ .argv = argv, .process = -1, .firmer_ns = UINT64_MAX, .patience_ns = CHILD_PATIENCE_NS };
	getrlimit(RLIMIT_NOFILE, &c->files);
	err = find(argv[0], &c->path);
	return err ? start_problem(c, err, p) : 0;
}

void child_uninit(struct child *c)
{
	free(TAKE(c->path));
	cleanup_close(&c->process);
	c->process = -1;
}

/* posix_spawn() can't set a limit, so we set our own for a moment. Descriptors above it stay open. */
static int spawn_with(const struct rlimit *files, pid_t *ret, const char *path, const posix_spawnattr_t *attr,
		      char **argv)
{
	struct rlimit ours;
	bool known = !getrlimit(RLIMIT_NOFILE, &ours) && !setrlimit(RLIMIT_NOFILE, files);
	int err = posix_spawn(ret, path, NULL, attr, argv, environ);

	if (known)
		setrlimit(RLIMIT_NOFILE, &ours);
	return err;
}

static int spawn(struct child *c, const char *path, char **argv)
{
	posix_spawnattr_t attr;
	sigset_t defaults;
	int err = posix_spawnattr_init(&attr);

	if (err)
		return -err;
	/* We ignore these, see main.c, and the child would inherit that. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	err = spawn_with(&c->files, &c->pid, path, &attr, argv);
	posix_spawnattr_destroy(&attr);
	if (err)
		c->pid = 0;
	return -err;
}

/* A script without a first line that names its interpreter is run by sh, as shells do. */
static int spawn_script(struct child *c)
{
	char **argv CLEANUP(cleanup_free) = NULL;
	u32 n = 0;

	while (c->argv[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	argv[0] = "sh";
	argv[1] = c->path;
	memcpy(argv + 2, c->argv + 1, n * sizeof(*argv));
	return spawn(c, "/bin/sh", argv);
}

int child_start(struct child *c, struct problem *p)
{
	signal(SIGCHLD, SIG_DFL);	/* if it is ignored, there is no exit status */
	c->start_err = spawn(c, c->path, c->argv);
	if (c->start_err == -ENOEXEC)
		c->start_err = spawn_script(c);
	if (!c->start_err) {
		c->process = syscall(SYS_pidfd_open, c->pid, 0);
		c->start_err = c->process < 0 ? -errno : 0;
	}
	return c->start_err ? start_problem(c, c->start_err, p) : 0;
}

static void ask(struct child *c, enum child_asked asked, int number)
{
	c->asked = asked;
	c->firmer_ns = asked == CHILD_GIVEN_UP ? UINT64_MAX : now_ns() + c->patience_ns;
	if (number)
		kill(c->pid, number);
}

static void ask_more_firmly(struct child *c)
{
	if (c->asked < CHILD_TERM)
		ask(c, CHILD_TERM, SIGTERM);
	else if (c->asked < CHILD_KILL)
		ask(c, CHILD_KILL, SIGKILL);
	else
		ask(c, CHILD_GIVEN_UP, 0);
}

static void pass_on(struct child *c, const struct ending_signal *s)
{
	enum child_asked means = s->number == SIGTERM ? CHILD_TERM : CHILD_ASKED;

	if (means > c->asked)
		ask(c, means, s->of_terminal ? 0 : s->number);
	else if (s->number == SIGINT)
		ask_more_firmly(c);
}

static bool reap(struct child *c)
{
	if (waitpid(c->pid, &c->wait_status, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	c->ended = true;
	return true;
}

bool child_tend(struct child *c)
{
	struct ending_signal s;

	while (c->pid && !reap(c) && c->asked < CHILD_GIVEN_UP && ending_take(&s))
		pass_on(c, &s);
	if (c->pid && now_ns() >= c->firmer_ns)
		ask_more_firmly(c);
	return !c->pid || c->asked == CHILD_GIVEN_UP;
}

bool child_wait(struct child *c, u64 deadline_ns)
{
	bool over;

	while (!(over = child_tend(c)) && now_ns() < deadline_ns) {
		struct pollfd fds[] = {
			{ .fd = ending_fd(), .events = POLLIN }, { .fd = c->process, .events = POLLIN },
		};

		poll_until(fds, ARRAY_SIZE(fds), deadline_ns < c->firmer_ns ? deadline_ns : c->firmer_ns);
	}
	return over;
}

void child_end(struct child *c)
{
	if (!c->pid || reap(c))
		return;
	if (c->asked < CHILD_TERM)
		ask_more_firmly(c);
	child_wait(c, UINT64_MAX);
}

int child_status(const struct child *c)
{
	return WIFSIGNALED(c->wait_status) ? 128 + WTERMSIG(c->wait_status) : WEXITSTATUS(c->wait_status);
}
