// SPDX-License-Identifier: GPL-2.0-only
#include "util/ending.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/confine.h"
#include "util/process.h"

#define LOOK_MS 50
#define LOOKS (ENDING_STILL_NS / (LOOK_MS * NSEC_PER_SEC / 1000))

/* There is only one for each process. */
static const struct ending *ending;
static int unheard = -1;	/* readable while a signal is pending; nobody reads from it */
static int news = -1;		/* readable once the end has begun */
static atomic_bool begun;
static pid_t runner;		/* the thread that runs the command */

int ending_fd(void)
{
	return unheard;
}

static bool is_unheard(void)
{
	struct pollfd fd = { .fd = unheard, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

bool ending_asked(void)
{
	return begun || is_unheard();
}

void ending_begin(void)
{
	begun = true;
	if (news >= 0)
		eventfd_write(news, 1);
}

/* The clock of a thread's CPU time, as pthread_getcpuclockid() makes it, for a thread without a known pthread_t. */
static clockid_t clock_of(pid_t thread)
{
	return ~(u32)thread << 3 | 6;	/* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of the kernel's posix-timers.h */
}

/* The CPU time of all threads but this one: a thread that waits for another does not hang while that one works. */
static u64 others_ran_ns(void)
{
	DIR *tasks CLEANUP(cleanup_closedir) = opendir("/proc/self/task");
	struct dirent *task;
	u64 ran_ns = 0;

	if (!tasks)
		return clock_ns(CLOCK_PROCESS_CPUTIME_ID);	/* includes this thread, so nothing is cut off */
	while ((task = readdir(tasks))) {
		pid_t thread = atoi(task->d_name);
		struct timespec t;

		if (thread > 0 && thread != gettid() && !clock_gettime(clock_of(thread), &t))
			ran_ns += t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
	}
	return ran_ns;
}

static void tell_where(char *ret, size_t size)
{
	char path[48];
	FILE *f CLEANUP(cleanup_fclose) = NULL;

	snprintf(path, sizeof(path), "/proc/self/task/%d/wchan", runner);
	f = fopen(path, "re");
	/* "0": it is in none, or we may not know it. */
	if (!f || !fgets(ret, size, f) || !strcmp(ret, "0"))
		*ret = '\0';
}

/* A handler, and the last that its thread does. */
static void stay(int unused)
{
	(void)unused;
	for (;;)
		poll(NULL, 0, -1);
}

static int prepare_to_stay(void)
{
	struct sigaction action = { .sa_handler = stay };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	if (sigaction(SIGRTMIN, &action, NULL))
		return -errno;
	return -pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

/*
 * What held_up() does can end the wait of the thread that is given up, like the flush of a terminal
 * that nobody reads. It must not go on beside us then, and end the process in its own way.
 */
static void end_held_up(void)
{
	char where[64];

	tell_where(where, sizeof(where));
	tgkill(getpid(), runner, SIGRTMIN);
	ending->held_up(where);
}

static void wait_for_news(void)
{
	struct pollfd fds[] = { { .fd = unheard, .events = POLLIN }, { .fd = news, .events = POLLIN } };

	poll(fds, ARRAY_SIZE(fds), -1);
}

/*
 * Counts looks instead of time: a machine without CPU time for the watched threads has none for this
 * one either. A signal that was pending before the end had begun does not count as another one, so the
 * order of the two checks matters.
 */
static void *watch(void *unused)
{
	u32 still = 0;
	u64 ran_ns = 0;

	(void)unused;
	confine_thread();
	for (;;) {
		bool ends = begun, asked = is_unheard();
		u64 now_ran_ns = ends || asked ? others_ran_ns() : 0;

		if (ends && asked && ending->again)
			pthread_sigmask(SIG_UNBLOCK, &ending->signals, NULL);
		still = (ends || asked) && now_ran_ns == ran_ns ? still + 1 : 0;
		ran_ns = now_ran_ns;
		if (still >= LOOKS)
			end_held_up();
		if (ends || asked)
			poll(NULL, 0, LOOK_MS);
		else
			wait_for_news();
	}
	return NULL;
}

int ending_start(const struct ending *e)
{
	int err = prepare_to_stay();

	if (err)
		return err;
	ending = e;
	runner = gettid();
	news = eventfd(0, EFD_CLOEXEC);
	unheard = signalfd(-1, &e->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (news < 0 || unheard < 0)
		return -errno;
	return thread_start_detached(watch, NULL);
}

static struct termios modes;
static atomic_int taken = -1;

void tty_is_taken(int fd)
{
	if (!tcgetattr(fd, &modes))
		taken = fd;
}

void tty_is_back(void)
{
	taken = -1;
}

void tty_give_back(void)
{
	/* Sequences of xterm and its successors; other terminals ignore those that they do not know. */
	static const char back[] = "\033[0m\033[?1l\033>\033[?25h\033[?1049l\r\n";
	int fd = taken;
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (fd < 0)
		return;
	tcflush(fd, TCOFLUSH);
	tcsetattr(fd, TCSANOW, &modes);
	if (poll(&room, 1, 0) > 0 && write(fd, back, strlen(back)) < 0)
		return;
}
