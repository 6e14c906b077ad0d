// SPDX-License-Identifier: GPL-2.0-only
/* The process that talks to the network, see cmd/serve.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "service/feed.h"
#include "service/prometheus.h"
#include "service/server.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define SIGN_NS NSEC_PER_SEC

struct process {
	const struct serve *of;
	struct downloads downloads;
	int taken;
	struct feed feed;
	struct totals totals;
	struct relayed relayed;
	struct server *server;
	bool serves;			/* since the first SERVER_WEB */
	struct problem *problem;	/* why it ends */
};

/* --- the web server --------------------------------------------------------------------------- */

static int get_web(struct wire_in *from, struct web_config *web)
{
	u32 n;

	*web = (struct web_config){ 0 };
	web->cert = wire_dup_text(from);
	web->key = wire_dup_text(from);
	wire_get(from, &web->only_tls13, sizeof(web->only_tls13));
	n = wire_get_count(from, 1);
	web->users = calloc(n + 1, sizeof(*web->users));
	if (!web->users)
		return -ENOMEM;
	for (; web->n_users < n; web->n_users++) {
		web->users[web->n_users].name = wire_dup_text(from);
		web->users[web->n_users].hash = wire_dup_text(from);
	}
	return wire_ended(from) ? 0 : -EBADMSG;
}

/* What can't be used is told, and ends the process if it is the first. */
static int take_web(struct process *s, struct wire_in *bytes)
{
	CLEANUP(web_config_free) struct web_config web;
	int err = get_web(bytes, &web);
	struct problem p;

	if (err)
		return err;
	err = server_use(s->server, &web, &p);
	if (err && !s->serves) {
		*s->problem = p;
		return err;
	}
	if (err)
		command_fail(s->of->who, 0, &p);
	s->serves = true;
	return 0;
}

/* If the earlier signs were not taken yet, another is not needed. */
static void give_sign(int fd)
{
	ssize_t ignored = write(fd, "", 1);

	(void)ignored;
}

static int take_relayed(struct process *s, u32 kind, struct wire_in *bytes)
{
	int err = downloads_add(&s->downloads, kind, bytes);

	if (kind == RELAY_RUN)
		feed_detach(&s->feed);
	err = err ?: relayed_take(&s->relayed, kind, bytes);
	if (err > 0) {
		totals_begin(&s->totals, &s->relayed.run.info);
		feed_begin(&s->feed, &s->relayed.run.info);
		return 0;
	}
	err = err ?: totals_add(&s->totals, &s->relayed.frames);
	if (!err)
		feed_add(&s->feed, &s->relayed.frames);
	return err;
}

static int take(void *process, u32 kind, struct wire_in *bytes)
{
	struct process *s = process;
	const char *why;
	int err;

	if (kind == RELAY_STOP) {
		why = wire_get_text(bytes);
		if (!why || !wire_ended(bytes))
			return -EBADMSG;
		feed_stop(&s->feed, why);
		return 0;
	}
	if (kind != SERVER_WEB)
		return take_relayed(s, kind, bytes);
	err = take_web(s, bytes);
	if (!err)
		give_sign(s->taken);
	return err;
}

/* --- life ------------------------------------------------------------------------------------- */

static int make_room(struct process *s)
{
	const struct serve_options *o = s->of->o;
	const struct feed_config feed = { o->capture.interval_s, o->history_s, o->bins };
	struct server_config server = {
		.listen_fd = s->of->listen_fd, .address = s->of->address, .feed = &s->feed, .totals = &s->totals,
		.downloads = &s->downloads,
	};
	int err = feed_init(&s->feed, &feed);

	s->downloads = (struct downloads){ .make = serve_download, .into = (void *)s->of, .keep_ns = o->history_s * NSEC_PER_SEC };
	totals_init(&s->totals, o->schema);
	s->totals.recorder = s->of->recording;
	s->totals.otlp = s->of->pushing;
	return err ?: server_new(&server, &s->server);
}

static void process_end(struct process *s)
{
	server_free(s->server);
	downloads_uninit(&s->downloads);
	relayed_uninit(&s->relayed);
	totals_uninit(&s->totals);
	feed_uninit(&s->feed);
}

static int go_round(struct process *s, int messages, int alive)
{
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	u64 sign_ns = 0;
	int err = 0;

	while (!err) {
		struct pollfd fds[1 + SERVER_FDS] = { { .fd = messages, .events = POLLIN } };
		int ms = server_wait(s->server, fds + 1);

		poll(fds, ARRAY_SIZE(fds), ms);
		if (fds[0].revents)
			err = channel_read(&reader, take, s);
		server_round(s->server);
		if (now_ns() < sign_ns)
			continue;
		give_sign(alive);
		sign_ns = now_ns() + SIGN_NS;
	}
	return err;
}

static int work(const struct serve *of, pid_t parent, int messages, int taken, int alive, struct problem *p)
{
	struct process CLEANUP(process_end) s = { .of = of, .taken = taken, .problem = p };
	int err = confine_server(of->user.name ? &of->user : NULL, parent, p);

	setpriority(PRIO_PROCESS, 0, 5);	/* serving gives way to capturing */
	return err ?: make_room(&s) ?: go_round(&s, messages, alive);
}

const struct serve_child server_process = {
	.name = "the web server",
	.comm = "blklat-web",
	.work = work,
};
