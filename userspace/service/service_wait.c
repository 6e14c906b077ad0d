// SPDX-License-Identifier: GPL-2.0-only
#include "service/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
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
	*w = (struct service_wait){ .uevents = -1, .first = cfg->first };
	memcpy(w->links, cfg->links, sizeof(w->links));
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

enum { ENDS = 2, CHANNELS = ENDS + SERVICE_LINKS, FDS = CHANNELS + SERVICE_LINKS };

/* Polls, and sends to the other processes what they take now. */
static int wait_once(struct service_wait *w, struct pollfd fds[FDS], u64 left_ns)
{
	const struct timespec t = { left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC };
	const struct pollfd none = { .fd = -1 };
	int ready;

	fds[0] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = w->uevents, .events = POLLIN };
	for (u32 i = 0; i < SERVICE_LINKS; i++) {
		const struct service_link *l = &w->links[i];

		fds[ENDS + i] = l->sink ? (struct pollfd){ .fd = l->lifeline, .events = POLLIN } : none;
		fds[CHANNELS + i] = l->channel ? channel_pollfd(l->channel) : none;
	}
	ready = ppoll(fds, FDS, &t, NULL);
	for (u32 i = 0; ready > 0 && i < SERVICE_LINKS; i++)
		if (fds[CHANNELS + i].revents)
			channel_flush(w->links[i].channel);
	return ready;
}

enum service_event service_wait(struct service_wait *w, u64 deadline_ns)
{
	struct pollfd fds[FDS];
	enum service_event event;
	bool gone;

	for (;;) {
		u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		int n = wait_once(w, fds, left);

		if (n <= 0 && (!left || errno != EINTR))
			return EVENT_TIME;
		if (fds[0].revents && take_signal(w->signals, &event))
			return event;
		if (n > 0 && fds[ENDS + w->first].revents)
			return EVENT_END;
		for (w->ended = 0; n > 0 && w->ended < SERVICE_LINKS; w->ended++) {
			if (!fds[ENDS + w->ended].revents)
				continue;
			w->links[w->ended].lifeline = -1;
			return EVENT_LINK_ENDED;
		}
		if (!left)
			return EVENT_TIME;
		if (fds[1].revents && uevents_take(w->uevents, &gone))
			return gone ? EVENT_GONE : EVENT_DEVICES;
	}
}
