// SPDX-License-Identifier: GPL-2.0-only
#include "service/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "core/uevents.h"
#include "util/clock.h"

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

int service_wait_init(struct service_wait *w, const struct service_config *cfg)
{
	sigset_t set;

	signal_set(&set);
	*w = (struct service_wait){
		.uevents = -1,
		.lifelines = { cfg->lifeline },
		.channels = { cfg->channel },
	};
	for (u32 i = 0; i < SERVICE_ALSO; i++) {
		w->lifelines[1 + i] = cfg->also[i].sink ? cfg->also[i].lifeline : -1;
		w->channels[1 + i] = cfg->also[i].channel;
	}
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return -errno;
	if (cfg->monitor->capture.follow)
		w->uevents = uevents_open();
	return 0;
}

void service_wait_uninit(struct service_wait *w)
{
	if (w->signals >= 0)
		close(w->signals);
	if (w->uevents >= 0)
		close(w->uevents);
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

/* Polls, and sends to the other processes what they take now. */
static int wait_once(struct service_wait *w, struct pollfd fds[2 + 2 * ARRAY_SIZE(w->channels)], u64 left_ns)
{
	const struct timespec t = { left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC };
	const u32 n = ARRAY_SIZE(w->channels);
	int ready;

	fds[0] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = w->uevents, .events = POLLIN };
	for (u32 i = 0; i < n; i++) {
		fds[2 + i] = (struct pollfd){ .fd = w->lifelines[i], .events = POLLIN };
		fds[2 + n + i] = w->channels[i] ? channel_pollfd(w->channels[i]) : (struct pollfd){ .fd = -1 };
	}
	ready = ppoll(fds, 2 + 2 * n, &t, NULL);
	for (u32 i = 0; ready > 0 && i < n; i++)
		if (fds[2 + n + i].revents)
			channel_flush(w->channels[i]);
	return ready;
}

enum service_event service_wait(struct service_wait *w, u64 deadline_ns)
{
	struct pollfd fds[2 + 2 * ARRAY_SIZE(w->channels)];
	enum service_event event;
	bool gone;

	for (;;) {
		u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		int n = wait_once(w, fds, left);

		if (n <= 0 && (!left || errno != EINTR))
			return EVENT_TIME;
		if (fds[0].revents && take_signal(w->signals, &event))
			return event;
		if (n > 0 && fds[2].revents)
			return EVENT_END;
		for (w->ended = 0; n > 0 && w->ended < SERVICE_ALSO; w->ended++) {
			if (!fds[3 + w->ended].revents)
				continue;
			w->lifelines[1 + w->ended] = -1;
			return EVENT_ALSO_ENDED;
		}
		if (!left)
			return EVENT_TIME;
		if (fds[1].revents && uevents_take(w->uevents, &gone))
			return gone ? EVENT_GONE : EVENT_DEVICES;
	}
}
