// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/confine.h"
#include "util/stream.h"

#define ALIVE_NS (20 * NSEC_PER_SEC)
#define TAKEN_NS (20 * NSEC_PER_SEC)
#define ENDS_MS 1000

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/*
 * Both processes' ends of their connection: of the messages' socket, and of pipes, to read from and to write to. Signs
 * go through pipes, as each end of a pipe has its own flags: with a shared open file, one process could make the other
 * block on it.
 */
enum {
	SENDS, RECEIVES,	/* messages */
	TAKEN, TOOK,		/* signs, which the server gives */
	ALIVE, LIVES,
	KEPT, KEEPS,		/* without contents: see end_with_parent() */
	ENDS
};

static void ends_close(int e[ENDS])
{
	for (u32 i = 0; i < ENDS; i++)
		cleanup_close(&e[i]);
}

static int ends_open(int e[ENDS])
{
	int err;

	memset(e, -1, ENDS * sizeof(*e));
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &e[SENDS]) &&
	    !pipe2(&e[TAKEN], O_CLOEXEC | O_NONBLOCK) && !pipe2(&e[ALIVE], O_CLOEXEC | O_NONBLOCK) &&
	    !pipe2(&e[KEPT], O_CLOEXEC | O_NONBLOCK))
		return 0;
	err = -errno;
	ends_close(e);
	return err;
}

/* Whether there are signs; their contents are ignored. */
static bool take_signs(int fd)
{
	char ignored[64];

	return read(fd, ignored, sizeof(ignored)) > 0;
}

/* The server may write messages to standard error, but must not read what is typed on the terminal. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		close(STDIN_FILENO);
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		close(STDOUT_FILENO);
}

/* Of the descriptors that we were started with, the process gets only standard error. */
static void close_others(int keep_fd, const int e[ENDS])
{
	const int kept[] = { keep_fd, e[RECEIVES], e[TOOK], e[LIVES], e[KEPT], streams_error_fd() };
	u32 first = STDERR_FILENO + 1;

	for (;;) {
		u32 next = UINT32_MAX;

		for (u32 i = 0; i < ARRAY_SIZE(kept); i++)
			if (kept[i] >= 0 && (u32)kept[i] >= first && (u32)kept[i] < next)
				next = kept[i];
		if (next > first)
			close_range(first, next == UINT32_MAX ? next : next - 1, 0);
		if (next == UINT32_MAX)
			return;
		first = next + 1;
	}
}

/*
 * Has the kernel kill this process as soon as the other one closes its end of the pipe, even if this one hangs. The
 * other one can't do that itself: without capabilities, root must not send signals to another user's processes.
 */
static int end_with_parent(int kept)
{
	int err = fcntl(kept, F_SETOWN, getpid()) ?: fcntl(kept, F_SETSIG, SIGKILL) ?: fcntl(kept, F_SETFL, O_ASYNC);

	return err ? -errno : 0;
}

/* Signals that end or reload the service are handled by its first process. */
static int become_child(const struct serve_child *c, const struct serve *s, int keep_fd, const int e[ENDS],
			pid_t parent)
{
	struct problem p = { "" };
	int err = end_with_parent(e[KEPT]);

	serve_signals_block();
	streams_drop_errors();
	prctl(PR_SET_NAME, c->comm);
	leave_terminal();
	close_others(keep_fd, e);
	err = err ? problem_set(&p, err, "%s could not be confined: %s", c->name, strerror(-err)) :
	      c->work(s, parent, e[RECEIVES], e[TOOK], e[LIVES], &p);
	if (err == -EPIPE)
		return STATUS_DONE;
	if (!p.text[0])
		problem_set(&p, err, "%s failed: %s", c->name, strerror(-err));
	return command_fail("blklat serve", STATUS_FAILED, &p);
}

int serve_server_start(const struct serve_child *c, const struct serve *of, int keep_fd, struct serve_server *ret,
		       struct problem *p)
{
	struct serve_server s = { .name = c->name, .process = -1 };
	pid_t parent = getpid();
	int e[ENDS], err = ends_open(e);

	if (err)
		return problem_set(p, err, "could not connect to %s: %s", c->name, strerror(-err));
	s.pid = fork();
	if (!s.pid)
		_exit(become_child(c, of, keep_fd, e, parent));
	if (s.pid > 0)
		s.process = syscall(SYS_pidfd_open, s.pid, 0);
	if (s.process < 0) {
		err = -errno;
		ends_close(e);	/* this also ends the server */
		return problem_set(p, err, "could not start %s: %s", c->name, strerror(-err));
	}
	close(e[RECEIVES]);
	close(e[TOOK]);
	close(e[LIVES]);
	close(e[KEPT]);
	s.keeps = e[KEEPS];
	s.taken = e[TAKEN];
	s.alive = e[ALIVE];
	s.alive_ns = now_ns();
	*ret = s;
	relay_init(&ret->relay, e[SENDS]);
	return 0;
}

static void put_web(struct wire_out *to, const struct web_config *web)
{
	wire_put_text(to, web->cert);
	wire_put_text(to, web->key);
	wire_put(to, &web->only_tls13, sizeof(web->only_tls13));
	wire_put(to, &web->n_users, sizeof(web->n_users));
	for (u32 i = 0; i < web->n_users; i++) {
		wire_put_text(to, web->users[i].name);
		wire_put_text(to, web->users[i].hash);
	}
}

static bool has_ended(const struct serve_server *s, int timeout_ms)
{
	struct pollfd fd = { .fd = s->process, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) > 0;
}

int serve_server_begin(struct serve_server *s, const struct web_config *web)
{
	u64 until_ns = now_ns() + TAKEN_NS, now;
	struct wire_out bytes = { 0 };
	int err;

	put_web(&bytes, web);
	err = channel_post(&s->relay.channel, SERVER_WEB, &bytes);
	while (!err && (now = now_ns()) < until_ns) {
		struct pollfd fds[] = {
			{ .fd = s->taken, .events = POLLIN },
			{ .fd = s->process, .events = POLLIN },
			channel_pollfd(&s->relay.channel),
		};

		if (poll(fds, ARRAY_SIZE(fds), (until_ns - now) / 1000000 + 1) <= 0)
			continue;
		channel_flush(&s->relay.channel);
		if (take_signs(s->taken))
			return 0;
		/* A process that ends closes its pipe a moment before it has ended. */
		if (fds[0].revents || fds[1].revents)
			return has_ended(s, ENDS_MS) ? -ECHILD : -ETIMEDOUT;
	}
	return err ?: -ETIMEDOUT;
}

bool serve_server_alive(struct serve_server *s)
{
	if (take_signs(s->alive))
		s->alive_ns = now_ns();
	return now_ns() < s->alive_ns + ALIVE_NS;
}

bool serve_server_ended(const struct serve_server *s, struct problem *p)
{
	siginfo_t info = { 0 };

	p->text[0] = '\0';
	if (!has_ended(s, 0))
		return false;
	if (waitid(P_PIDFD, s->process, &info, WEXITED | WNOWAIT))
		problem_set(p, 0, "%s has ended", s->name);
	else if (info.si_code != CLD_EXITED)
		problem_set(p, 0, "%s was ended by signal %d (%s)", s->name, info.si_status, strsignal(info.si_status));
	else if (info.si_status != STATUS_FAILED)
		problem_set(p, 0, "%s has ended with status %d", s->name, info.si_status);
	return true;
}

static void serve_server_kill(struct serve_server *s)
{
	cleanup_close(&s->keeps);
	s->keeps = -1;
}

void serve_server_end(struct serve_server *s, int ms)
{
	siginfo_t info;

	if (!s->pid)
		return;
	relay_uninit(&s->relay);
	has_ended(s, ms);
	serve_server_kill(s);
	if (has_ended(s, ENDS_MS))
		waitid(P_PIDFD, s->process, &info, WEXITED);
	close(s->process);
	close(s->taken);
	close(s->alive);
	s->pid = 0;
}

/* They need privileges that are gone by now. Wrong ones are reported as at the start. */
static void tell_changed_options(const struct serve *s)
{
	const struct option_file *was = &s->o->config;
	CLEANUP(serve_options_free) struct serve_options o = { 0 };
	struct problem p;

	if (!was->name || serve_options_read(&o, s->o->argc, s->o->argv) >= 0)
		return;
	if (o.config.len == was->len && !memcmp(o.config.text, was->text, was->len))
		return;
	problem_set(&p, 0, "%s has changed: restart the service for it to take effect", was->name);
	command_fail(s->who, 0, &p);
}

/* What can't be used is told; then nothing is sent. */
static void read_web(struct serve *s)
{
	struct web_config web = { 0 };
	struct problem p;

	if (web_config_read(&web, s->o->web_file, &p)) {
		command_fail(s->who, 0, &p);
		return;
	}
	put_web(&s->reloader.web, &web);
	web_config_free(&web);
}

static void *reloader(void *serve)
{
	struct serve *s = serve;
	eventfd_t n;

	confine_thread();
	while (!eventfd_read(s->reloader.wake, &n) && s->reloader.step == RELOAD_READS) {
		if (s->o->web_file)
			read_web(s);
		tell_changed_options(s);
		s->reloader.step = RELOAD_HAS_READ;
		eventfd_write(s->reloader.done, 1);
	}
	return NULL;
}

int serve_reloader_start(struct serve *s)
{
	struct serve_reloader *r = &s->reloader;
	int err;

	if (!s->o->web_file && !s->o->config.name)
		return 0;
	r->wake = eventfd(0, EFD_CLOEXEC);
	r->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->wake < 0 || r->done < 0 ? -EMFILE : -pthread_create(&r->thread, NULL, reloader, s);
	r->started = !err;
	return err;
}

static void begin_reload(struct serve_reloader *r)
{
	r->step = RELOAD_READS;
	eventfd_write(r->wake, 1);
}

void serve_reload(struct serve *s)
{
	struct serve_reloader *r = &s->reloader;

	r->again = r->step != RELOAD_NONE;
	if (!r->started)
		notify_send(&s->notify, "READY=1");
	else if (!r->again)
		begin_reload(r);
}

/* Because of @err, or as it succeeded (0). */
static void end_reload(struct serve *s, int err)
{
	struct serve_reloader *r = &s->reloader;
	struct problem p;

	if (err) {
		problem_set(&p, err, "the web server did not confirm that it uses %s: %s", s->o->web_file, strerror(-err));
		command_fail(s->who, 0, &p);
	}
	r->step = RELOAD_NONE;
	r->until_ns = UINT64_MAX;
	if (r->again)
		begin_reload(r);
	else
		notify_send(&s->notify, "READY=1");
	r->again = false;
}

/* Sends what was read, if there is anything to send. */
static void send_web(struct serve *s)
{
	struct serve_reloader *r = &s->reloader;
	bool any = r->web.len || r->web.failed;
	int err = any ? channel_post(&s->links[SERVER].relay.channel, SERVER_WEB, &r->web) : 0;

	r->step = RELOAD_SENT;
	r->until_ns = now_ns() + TAKEN_NS;
	if (err || !any)
		end_reload(s, err);
}

void serve_reloader_tend(struct serve *s, bool done)
{
	struct serve_server *server = &s->links[SERVER];
	eventfd_t n;

	if (done)	/* perhaps behind what another event had us see */
		eventfd_read(s->reloader.done, &n);
	if (s->reloader.step == RELOAD_HAS_READ) {
		send_web(s);
	} else if (s->reloader.step == RELOAD_SENT && take_signs(server->taken)) {
		end_reload(s, 0);
	} else if (now_ns() >= s->reloader.until_ns) {
		serve_server_kill(server);
		end_reload(s, -ETIMEDOUT);
	}
}

void serve_reloader_end(struct serve *s)
{
	struct serve_reloader *r = &s->reloader;

	if (!r->started)
		return;
	r->step = RELOAD_NONE;
	eventfd_write(r->wake, 1);
	pthread_join(r->thread, NULL);
	close(r->wake);
	close(r->done);
	wire_out_free(&r->web);
}
