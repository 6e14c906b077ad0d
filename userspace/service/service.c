// SPDX-License-Identifier: GPL-2.0-only
#include "service/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/uevents.h"
#include "util/cleanup.h"
#include "util/clock.h"

static bool is_live(const struct service *s)
{
	return !s->monitor.capture || s->monitor.capture->live;
}

static void stop_watching(struct service *s, const char *why)
{
	if (!s->stopped)
		s->cfg->hooks.stopped(s->cfg->hooks.into, why);
	s->stopped = true;
}

/* --- an interval --------------------------------------------------------------------------- */

/* As it is now: a device that comes may be the first, and have the capture opened. */
static void describe(struct service *s)
{
	const struct monitor_config *cfg = s->cfg->monitor;

	s->info = (struct run_info){
		.engine = cfg->engine->name,
		.devices = &s->monitor.devices,
		.scale = cfg->capture.scale < 0 ? BLKLAT_SCALE_MAX : (u32)cfg->capture.scale,
		.interval_s = s->cfg->interval_s,
	};
	if (s->monitor.capture)
		s->info = run_info_of(s->monitor.capture, s->cfg->interval_s);
	s->info.version = s->cfg->version;
	s->info.percentiles = *s->cfg->percentiles;
}

static void end_link(struct service *s, u32 i, int err)
{
	if (!s->follows[i])
		return;
	s->follows[i] = false;
	s->cfg->hooks.ended(s->cfg->hooks.into, i, err);
}

static int publish(struct service *s, struct problem *p)
{
	struct frames *shown = &s->monitor.shown;
	int err = 0;

	describe(s);
	shown->drain_ns = s->drain_ns;
	for (u32 i = 0; !err && i < SERVICE_LINKS; i++) {
		int failed = s->follows[i] ? relay_interval(s->cfg->links[i].relay, shown) : 0;

		if (i == s->cfg->first)
			err = failed;
		else if (failed)
			end_link(s, i, failed);
	}
	if (err)
		return problem_set(p, err, "could not take in an interval: %s", strerror(-err));
	if (!monitor_tell_gone(&s->monitor) && is_live(s) && !s->cfg->monitor->capture.follow)
		stop_watching(s, "no watched device is left");
	return 0;
}

/* Returns -ENODATA at the end of a replay. */
static int read_interval(struct service *s, struct problem *p)
{
	static const struct percentiles none;	/* who needs them computes them */
	u64 begin_ns = now_ns();
	int err = monitor_next(&s->monitor, &none, p);

	s->read_ns = now_ns();
	s->drain_ns = s->read_ns - begin_ns;
	return err;
}

/* --- waiting ------------------------------------------------------------------------------- */

enum service_event {
	EVENT_TIME,		/* the deadline has come */
	EVENT_END,		/* SIGINT, SIGTERM, or the first link's process has ended */
	EVENT_RELOAD,		/* SIGHUP */
	EVENT_LINK_ENDED,	/* the process of another one, see ended; told once */
	EVENT_DEVICES,		/* the kernel reported block devices: see news */
};

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

void service_signals_block(void)
{
	sigset_t set;

	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int begin_to_wait(struct service *s)
{
	sigset_t set;

	signal_set(&set);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return -errno;
	if (s->cfg->monitor->capture.follow)
		s->uevents = uevents_open();
	for (u32 i = 0; i < SERVICE_LINKS; i++)
		s->lifelines[i] = s->cfg->links[i].relay ? s->cfg->links[i].lifeline : -1;
	return 0;
}

static bool take_signal(int fd, enum service_event *ret)
{
	struct signalfd_siginfo info;
	sigset_t ends;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	*ret = info.ssi_signo == SIGHUP ? EVENT_RELOAD : EVENT_END;
	if (*ret != EVENT_END)
		return true;
	/* Another one kills. */
	signals_of_end(&ends);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
	return true;
}

enum { ENDS = 2, CHANNELS = ENDS + SERVICE_LINKS, FDS = CHANNELS + SERVICE_LINKS };

/* Polls, and sends to the other processes what they take now. */
static int wait_once(struct service *s, struct pollfd fds[FDS], u64 left_ns)
{
	const struct timespec t = { left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC };
	const struct pollfd none = { .fd = -1 };
	int ready;

	fds[0] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->uevents, .events = POLLIN };
	for (u32 i = 0; i < SERVICE_LINKS; i++) {
		struct relay *r = s->cfg->links[i].relay;

		fds[ENDS + i] = (struct pollfd){ .fd = s->lifelines[i], .events = POLLIN };
		fds[CHANNELS + i] = r ? channel_pollfd(&r->channel) : none;
	}
	ready = ppoll(fds, FDS, &t, NULL);
	for (u32 i = 0; ready > 0 && i < SERVICE_LINKS; i++)
		if (fds[CHANNELS + i].revents)
			channel_flush(&s->cfg->links[i].relay->channel);
	return ready;
}

/* Waits until @deadline_ns (CLOCK_MONOTONIC) for the first of these events. An end goes before everything else. */
static enum service_event service_wait(struct service *s, u64 deadline_ns)
{
	struct pollfd fds[FDS];
	enum service_event event;

	for (;;) {
		u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		int n = wait_once(s, fds, left);

		if (n <= 0 && (!left || errno != EINTR))
			return EVENT_TIME;
		if (fds[0].revents && take_signal(s->signals, &event))
			return event;
		if (n > 0 && fds[ENDS + s->cfg->first].revents)
			return EVENT_END;
		for (s->ended = 0; n > 0 && s->ended < SERVICE_LINKS; s->ended++) {
			if (!fds[ENDS + s->ended].revents)
				continue;
			s->lifelines[s->ended] = -1;
			return EVENT_LINK_ENDED;
		}
		if (!left)
			return EVENT_TIME;
		s->news = fds[1].revents ? uevents_take(s->uevents) : MONITOR_NO_NEWS;
		if (s->news)
			return EVENT_DEVICES;
	}
}

/* --- the loop ------------------------------------------------------------------------------ */

static void beat(struct service *s)
{
	u64 now = now_ns();

	if (!s->cfg->beat_ns || now < s->beat_ns)
		return;
	s->cfg->hooks.beat(s->cfg->hooks.into);
	s->beat_ns = now + s->cfg->beat_ns;
}

static void handle(struct service *s, enum service_event event)
{
	struct monitor *m = &s->monitor;
	const struct capture *capture = m->capture;

	if (event == EVENT_LINK_ENDED)
		end_link(s, s->ended, 0);
	if (event == EVENT_RELOAD) {
		s->cfg->hooks.reload(s->cfg->hooks.into);
		monitor_look(m);
	}
	monitor_tend(m, event == EVENT_DEVICES ? s->news : MONITOR_NO_NEWS);
	/* Opening the first capture takes much time, once. */
	if (m->capture != capture)
		s->share = (struct realtime_share){ 0 };
	beat(s);
}

/* Returns 0 at @deadline_ns, or earlier if the interval is to end, or 1 if the service is to end. */
static int wait_until(struct service *s, u64 deadline_ns)
{
	do {
		u64 wake_ns = min_u64(deadline_ns, monitor_due_ns(&s->monitor));
		enum service_event event =
			service_wait(s, s->cfg->beat_ns ? min_u64(wake_ns, s->beat_ns) : wake_ns);

		if (event == EVENT_END)
			return 1;
		handle(s, event);
	} while (now_ns() < deadline_ns && !monitor_ends_interval(&s->monitor));
	return 0;
}

/* A thread that runs before all others must leave them their share of time. */
static void mind_priority(struct service *s)
{
	struct problem p;
	u32 percent;

	if (!s->cfg->realtime || s->ordinary)
		return;
	percent = realtime_share_excess(&s->share, now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID));
	if (!percent || realtime_end())
		return;
	s->ordinary = true;
	problem_set(&p, 0, "reading the counters takes %u %% of a CPU, too much for a real-time priority, which is given up: "
		    "intervals may end late while all CPUs are busy; a longer --interval takes less", percent);
	s->cfg->hooks.failed(s->cfg->hooks.into, &p);
}

static int step_live(struct service *s, struct problem *p)
{
	u64 deadline = intervals_deadline_ns(s->start_ns, s->read_ns, s->cfg->interval_s);
	int err = wait_until(s, deadline) ?: read_interval(s, p) ?: publish(s, p);

	mind_priority(s);
	return err;
}

/*
 * A replay runs in real time, from now on instead of from the day when it was recorded. An interval that is late has
 * the length that was recorded all the same.
 */
static int step_replay(struct service *s, struct problem *p)
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

int service_run(struct service *s, struct problem *p)
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

static int begin(struct service *s, struct problem *p)
{
	int err = begin_to_wait(s);

	if (err)
		return problem_set(p, err, "could not wait for signals: %s", strerror(-err));
	err = monitor_open(&s->monitor, s->cfg->monitor, p);
	if (!err && !is_live(s))
		err = intervals_begin(&s->monitor.intervals, p);
	if (err)
		return err;
	describe(s);
	for (u32 i = 0; !err && i < SERVICE_LINKS; i++) {
		struct relay *r = s->cfg->links[i].relay;

		err = r ? relay_begin(r, &s->info) : 0;
		s->follows[i] = r && !err;
	}
	return err ? problem_set(p, err, "could not show the devices: %s", strerror(-err)) : 0;
}

int service_open(struct service *s, const struct service_config *cfg, struct problem *p)
{
	*s = (struct service){ .cfg = cfg, .signals = -1, .uevents = -1 };
	return begin(s, p);
}

void service_close(struct service *s)
{
	if (!s->cfg)
		return;
	monitor_close(&s->monitor);
	cleanup_close(&s->signals);
	cleanup_close(&s->uevents);
}
