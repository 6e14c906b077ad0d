// SPDX-License-Identifier: GPL-2.0-only
/* The process that pushes what the service serves to a collector of OpenTelemetry's, see cmd/serve.h. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "service/prometheus.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define FLUSH_MS 800

struct pusher {
	const struct serve *of;
	struct totals totals;
	struct relayed relayed;
	struct otlp_push *push;
	char host[HOST_NAME_MAX + 1];
	bool fresh;			/* there was an interval since the last request */
	u64 due_ns;			/* CLOCK_MONOTONIC */
};

static void on_told(void *pusher, const struct problem *p)
{
	struct pusher *s = pusher;

	command_fail(s->of->who, 0, p);
}

static int take(void *pusher, u32 kind, struct wire_in *bytes)
{
	struct pusher *s = pusher;
	int err = relayed_take(&s->relayed, kind, bytes);

	if (err > 0)
		totals_begin(&s->totals, &s->relayed.run.info);
	if (err || kind != RELAY_INTERVAL)
		return err < 0 ? err : 0;
	s->fresh = true;
	return totals_add(&s->totals, &s->relayed.frames);
}

static int add_request(struct pusher *s)
{
	struct blob *request = NULL;
	int err = prometheus_render_otlp(&s->totals, s->host, &request);

	s->fresh = false;
	if (!err)
		err = otlp_push_add(s->push, request);
	blob_unref(request);
	return err == -EAGAIN ? 0 : err;
}

/* Requests follow intervals, the nearest to each time that one is due. */
static int push_all(struct pusher *s, int messages)
{
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	const struct serve_options *o = s->of->o;
	u64 slack_ns = o->capture.interval_s / 2 * NSEC_PER_SEC, every_ns = o->otlp_interval_s * NSEC_PER_SEC;
	int err = 0;

	while (!err) {
		u64 now;

		if (otlp_push_wait(s->push, messages))
			err = channel_read(&reader, take, s);
		now = now_ns();
		if (err || !s->fresh || now + slack_ns < s->due_ns)
			continue;
		err = add_request(s);
		s->due_ns = max_u64(s->due_ns, now) + every_ns;
	}
	if (err == -EPIPE && s->fresh)
		err = add_request(s) ?: err;
	if (err == -EPIPE)
		otlp_push_flush(s->push, FLUSH_MS);
	return err;
}

/* Certificates, and what a resolver reads: resolv.conf is often a link to where a program renews it. */
static int confine_pusher(const struct serve *s, pid_t parent, struct problem *p)
{
	const char *trusts = otlp_push_trusts(&s->otlp);
	CLEANUP(cleanup_free) char *resolver = realpath("/etc/resolv.conf", NULL);
	const char *const files[] = { "/etc", resolver ? dirname(resolver) : "/etc", trusts, NULL };

	return confine_client(s->user.name ? &s->user : NULL, parent, files, p);
}

static int work(const struct serve *of, pid_t parent, int messages, int taken, int alive, struct problem *p)
{
	struct pusher s = { .of = of };
	const struct otlp_push_config push = {
		.target = &of->otlp, .state = of->pushing, .told = on_told, .into = &s,
	};
	int err = confine_pusher(of, parent, p);

	(void)taken, (void)alive;
	setpriority(PRIO_PROCESS, 0, 11);	/* pushing gives way to recording */
	gethostname(s.host, sizeof(s.host) - 1);
	totals_init(&s.totals, BLKLAT_SCALE_MAX);
	s.totals.otlp = of->pushing;
	err = err ?: otlp_push_new(&push, &s.push) ?: push_all(&s, messages);
	otlp_push_free(s.push);
	relayed_uninit(&s.relayed);
	totals_uninit(&s.totals);
	return err;
}

const struct serve_child otlp_process = {
	.name = "the process that pushes",
	.comm = "blklat-otlp",
	.work = work,
};
