// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop of a service. Unlike that of live/loop.h it never ends by itself, and goes on when there is nothing to
 * watch.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "core/uevents.h"
#include "util/cleanup.h"
#include "util/clock.h"

static bool is_live(const struct serve *s)
{
	return !s->monitor.capture || s->monitor.capture->live;
}

/* There will be no more intervals. The service keeps running to report that. */
static void stop_watching(struct serve *s, const char *why)
{
	if (!s->stopped) {
		if (!s->o->unheard)
			relay_stop(&s->links[SERVER].relay, why);
		fprintf(stderr, "blklat: the capture has stopped: %s\n", why);
		notify_send(&s->notify, "STATUS=The capture has stopped");
	}
	s->stopped = true;
}

/* --- an interval --------------------------------------------------------------------------- */

/* As it is now: a device that comes may be the first, and have the capture opened. */
static void describe(struct serve *s)
{
	const struct monitor_config *cfg = &s->config;

	s->info = (struct run_info){
		.engine = cfg->engine->name,
		.devices = &s->monitor.devices,
		.scale = cfg->capture.scale < 0 ? BLKLAT_SCALE_MAX : (u32)cfg->capture.scale,
		.interval_s = cfg->interval_s,
	};
	if (s->monitor.capture)
		s->info = run_info_of(s->monitor.capture, cfg->interval_s);
	s->info.version = BLKLAT_VERSION;
	s->info.percentiles = s->o->capture.percentiles;
}

/* Link @i gets no more intervals, because of @err, or since its process has ended (0). What is served goes on. */
static void end_link(struct serve *s, u32 i, int err)
{
	struct serve_server *link = &s->links[i];
	struct problem p, how;

	if (!link->follows)
		return;
	link->follows = false;
	if (err)
		problem_set(&how, err, "%s takes no more intervals: %s", link->name, strerror(-err));
	else if (!serve_server_ended(link, &how) || !how.text[0])
		problem_set(&how, 0, "%s has ended", link->name);
	if (i == RECORDER)
		problem_set(&p, 0, "%.300s; restart the service to record again in %.200s", how.text, s->o->record);
	else
		problem_set(&p, 0, "%.300s; restart the service to push again to %.200s", how.text, s->o->otlp);
	command_fail(s->who, 0, &p);
}

static int publish(struct serve *s, struct problem *p)
{
	struct frames *shown = &s->monitor.shown;
	int err = 0;

	describe(s);
	shown->drain_ns = s->drain_ns;
	for (u32 i = 0; !err && i < SERVE_LINKS; i++) {
		struct serve_server *link = &s->links[i];
		int failed = link->follows ? relay_interval(&link->relay, shown) : 0;

		if (link == s->first)
			err = failed;
		else if (failed)
			end_link(s, i, failed);
	}
	if (err)
		return problem_set(p, err, "could not take in an interval: %s", strerror(-err));
	if (!monitor_tell_gone(&s->monitor) && is_live(s) && !s->devices.follow)
		stop_watching(s, "no watched device is left");
	return 0;
}

/* Returns -ENODATA at the end of a replay. */
static int read_interval(struct serve *s, struct problem *p)
{
	static const struct percentiles none;	/* who needs them computes them */
	u64 begin_ns = now_ns();
	int err = monitor_next(&s->monitor, &none, p);

	s->read_ns = now_ns();
	s->drain_ns = s->read_ns - begin_ns;
	return err;
}

/* --- waiting ------------------------------------------------------------------------------- */

static void signals_of_end(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
}

static void signal_set(sigset_t *set)
{
	signals_of_end(set);
	sigaddset(set, SIGHUP);
}

void serve_signals_block(void)
{
	sigset_t set;

	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int begin_to_wait(struct serve *s)
{
	sigset_t set;

	signal_set(&set);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return -errno;
	if (s->devices.follow)
		s->uevents = uevents_open();
	return 0;
}

enum { SIGNALS, UEVENTS, READ, TAKEN, ENDS, CHANNELS = ENDS + SERVE_LINKS, FDS = CHANNELS + SERVE_LINKS };

/* Polls until @deadline_ns (CLOCK_MONOTONIC). */
static void wait_once(const struct serve *s, struct pollfd fds[FDS], u64 deadline_ns)
{
	const struct pollfd none = { .fd = -1 };

	fds[SIGNALS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	fds[UEVENTS] = (struct pollfd){ .fd = s->uevents, .events = POLLIN };
	fds[READ] = (struct pollfd){ .fd = s->reloader.started ? s->reloader.done : -1, .events = POLLIN };
	fds[TAKEN] = (struct pollfd){ .fd = s->reloader.step == RELOAD_SENT ? s->links[SERVER].taken : -1, .events = POLLIN };
	for (u32 i = 0; i < SERVE_LINKS; i++) {
		const struct serve_server *link = &s->links[i];
		bool there = link->pid && !link->ended;

		fds[ENDS + i] = (struct pollfd){ .fd = there ? link->process : -1, .events = POLLIN };
		fds[CHANNELS + i] = link->pid ? channel_pollfd(&link->relay.channel) : none;
	}
	poll_until(fds, FDS, deadline_ns);
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Three times as often as the watchdog wants it. While the server is stuck, the service is not healthy either. */
static void beat(struct serve *s)
{
	u64 now = now_ns();

	if (!s->notify.watchdog_ns || now < s->beat_ns)
		return;
	if (s->o->unheard || serve_server_alive(&s->links[SERVER]))
		notify_send(&s->notify, "WATCHDOG=1");
	s->beat_ns = now + s->notify.watchdog_ns / 3;
}

static void reload(struct serve *s)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu", now_ns() / 1000);
	notify_send(&s->notify, text);
	serve_reload(s);
	monitor_look(&s->monitor);
}

/* Takes a signal, if there is one. Returns whether the service is to end. */
static bool take_signal(struct serve *s)
{
	struct signalfd_siginfo info;
	sigset_t ends;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGHUP) {
		reload(s);
		return false;
	}
	/* Another one kills. */
	signals_of_end(&ends);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
	return true;
}

/* Does what there is to do after wait_once(). Returns whether the service is to end. */
static bool handle(struct serve *s, const struct pollfd fds[FDS])
{
	struct monitor *m = &s->monitor;
	const struct capture *capture = m->capture;

	if ((fds[SIGNALS].revents && take_signal(s)) || fds[ENDS + (s->first - s->links)].revents)
		return true;
	for (u32 i = 0; i < SERVE_LINKS; i++) {
		if (fds[CHANNELS + i].revents)
			channel_flush(&s->links[i].relay.channel);
		if (!fds[ENDS + i].revents)
			continue;
		s->links[i].ended = true;
		end_link(s, i, 0);
	}
	serve_reloader_tend(s, fds[READ].revents);
	monitor_tend(m, fds[UEVENTS].revents ? uevents_take(s->uevents) : MONITOR_NO_NEWS);
	/* Opening the first capture takes much time, once. */
	if (m->capture != capture)
		s->share = (struct realtime_share){ 0 };
	beat(s);
	return false;
}

/* Returns 0 at @deadline_ns, or earlier if the interval is to end, or 1 if the service is to end. */
static int wait_until(struct serve *s, u64 deadline_ns)
{
	do {
		u64 wake_ns = min_u64(min_u64(deadline_ns, monitor_due_ns(&s->monitor)), s->reloader.until_ns);
		struct pollfd fds[FDS];

		wait_once(s, fds, s->notify.watchdog_ns ? min_u64(wake_ns, s->beat_ns) : wake_ns);
		if (handle(s, fds))
			return 1;
	} while (now_ns() < deadline_ns && !monitor_ends_interval(&s->monitor));
	return 0;
}

/* A thread that runs before all others must leave them their share of time. */
static void mind_priority(struct serve *s)
{
	struct problem p;
	u32 percent;

	if (!s->realtime)
		return;
	percent = realtime_share_excess(&s->share, now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID));
	if (!percent || realtime_end())
		return;
	s->realtime = false;
	problem_set(&p, 0, "reading the counters takes %u %% of a CPU, too much for a real-time priority, which is given up: "
		    "intervals may end late while all CPUs are busy; a longer --interval takes less", percent);
	command_fail(s->who, 0, &p);
}

static int step_live(struct serve *s, struct problem *p)
{
	u64 deadline = intervals_deadline_ns(s->start_ns, s->read_ns, s->config.interval_s);
	int err = wait_until(s, deadline) ?: read_interval(s, p) ?: publish(s, p);

	mind_priority(s);
	return err;
}

/*
 * A replay runs in real time, from now on instead of from the day when it was recorded. An interval that is late has
 * the length that was recorded all the same.
 */
static int step_replay(struct serve *s, struct problem *p)
{
	struct frames *shown = &s->monitor.shown;
	u64 began_ns = s->read_ns, length_ns;
	int err = read_interval(s, p);

	if (err == -ENODATA) {
		stop_watching(s, "the replay is at its end");
		return 0;
	}
	length_ns = shown->interval_s * NSEC_PER_SEC;
	err = err ?: wait_until(s, began_ns + length_ns);
	s->read_ns = now_ns();
	s->replayed_ns += length_ns;
	shown->mono_ns = s->start_ns + s->replayed_ns;
	return err ?: publish(s, p);
}

int serve_loop(struct serve *s, struct problem *p)
{
	int err = 0;

	s->start_ns = s->read_ns = now_ns();
	while (!err) {
		if (s->stopped)
			err = wait_until(s, UINT64_MAX);
		else
			err = is_live(s) ? step_live(s, p) : step_replay(s, p);
	}
	return err > 0 ? 0 : err;
}

/* --- life ---------------------------------------------------------------------------------- */

int serve_loop_begin(struct serve *s, struct problem *p)
{
	int err = begin_to_wait(s);

	if (err)
		return problem_set(p, err, "could not wait for signals: %s", strerror(-err));
	err = monitor_open(&s->monitor, &s->config, p);
	if (!err && !is_live(s))
		err = intervals_begin(&s->monitor.intervals, p);
	if (err)
		return err;
	describe(s);
	for (u32 i = 0; !err && i < SERVE_LINKS; i++) {
		struct serve_server *link = &s->links[i];

		err = link->pid ? relay_begin(&link->relay, &s->info) : 0;
		link->follows = link->pid && !err;
	}
	return err ? problem_set(p, err, "could not show the devices: %s", strerror(-err)) : 0;
}

void serve_loop_end(struct serve *s)
{
	monitor_close(&s->monitor);
	cleanup_close(&s->signals);
	cleanup_close(&s->uevents);
}
