// SPDX-License-Identifier: GPL-2.0-only

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cmd/cmd.h"
#include "cmd/run_capture.h"
#include "cmd/serve.h"
#include "service/relay.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/confine.h"
#include "util/lazy.h"
#include "util/process.h"
#include "util/notify.h"
#include "util/realtime.h"
#include "util/stream.h"

/* How long to wait for its end: the recorder waits for the disk. */
static const int ends_ms[SERVE_LINKS] = { [SERVER] = 1000, [RECORDER] = 3000, [PUSHER] = 1000 };

/* --- what the service tells ----------------------------------------------------------------- */

/* Devices that were all named are not looked for, so it is another capture that could not be opened. */
static void on_watching_failed(void *serve, const struct problem *p)
{
	struct serve *s = serve;
	struct problem more;

	if (!s->devices.follow)
		problem_set(&more, 0, "%.400s; restart the service, which has given up the privileges for that", p->text);
	command_fail(s->who, 0, s->devices.follow ? p : &more);
}

/* --- the other processes --------------------------------------------------------------------- */

/* What processes say of themselves, in memory that all share, which is 0 at first. */
static int map_states(struct serve *s, struct problem *p)
{
	struct {
		struct recorder_state recorder;
		struct otlp_state otlp;
	} *states = mmap(NULL, sizeof(*states), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (states == MAP_FAILED)
		return problem_set(p, -ENOMEM, "out of memory");
	s->recording = s->o->record ? &states->recorder : NULL;
	s->pushing = s->o->otlp ? &states->otlp : NULL;
	return 0;
}

/*
 * They must be started before the capture is opened, so that they inherit nothing of it, and before we connect to the
 * service manager. The server begins to serve once the capture has begun.
 */
static int start_processes(struct serve *s, struct problem *p)
{
	int err = map_states(s, p);

	if (!err && s->o->record)
		err = serve_server_start(&recorder_process, s, -1, &s->links[RECORDER], p);
	if (!err && s->o->otlp)
		err = serve_server_start(&otlp_process, s, -1, &s->links[PUSHER], p);
	otlp_target_uninit(&s->otlp);	/* the server gets no secret of it */
	if (!err && !s->o->unheard)
		err = serve_server_start(&server_process, s, s->listen_fd, &s->links[SERVER], p);
	cleanup_close(&s->listen_fd);
	s->listen_fd = -1;
	return err;
}

/* If the server can't use --web-config, it says so itself. */
static int begin_to_serve(struct serve *s, struct problem *p)
{
	int err;

	if (s->o->unheard)
		return 0;
	err = serve_server_begin(&s->links[SERVER], &s->web_config);
	if (err && !serve_server_ended(&s->links[SERVER], p))
		problem_set(p, err, "the web server could not be started: %s", strerror(-err));
	if (err)
		return err;
	err = serve_reloader_start(s);
	return err ? problem_set(p, err, "could not start a thread: %s", strerror(-err)) : 0;
}

static void tell_place(const struct serve *s)
{
	char text[ADDRESS_TEXT];

	if (s->o->unheard) {
		fprintf(stderr, "blklat: recording in %s\n", s->o->record);
		return;
	}
	address_text(text, &s->address);
	fprintf(stderr, "blklat: listening on %s://%s/\n", s->web_config.cert ? "https" : "http", text);
	if (address_is_loopback(&s->address))
		return;
	if (!s->web_config.n_users)
		fprintf(stderr, "blklat: warning: anyone who can reach %s can read everything; --web-config adds passwords\n",
			text);
	else if (!s->web_config.cert)
		fprintf(stderr, "blklat: warning: passwords for %s are sent over the network unencrypted; --web-config adds "
				"TLS\n", text);
}

/* --- life ------------------------------------------------------------------------------------ */

static void on_privileged(void *serve, bool begins)
{
	struct serve *s = serve;

	if (begins)
		confine_raise(&s->confine);
	else
		confine_lower(&s->confine);
}

static void tell_status(const struct serve *s, const char *before)
{
	char status[512], text[600];

	serve_devices_status(&s->devices, status, sizeof(status));
	snprintf(text, sizeof(text), "%sSTATUS=%s", before, status);
	notify_send(&s->notify, text);
}

static int on_find(void *serve, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p)
{
	struct serve *s = serve;
	u32 waited = s->devices.n_waits;
	int err = serve_devices_find(&s->devices, t, ret, ret_n, p);

	if (s->devices.n_waits != waited)
		tell_status(s, "");
	return err;
}

static void serve_end(struct serve *s)
{
	serve_reloader_end(s);
	serve_loop_end(s);
	for (u32 i = SERVE_LINKS; i--;)
		serve_server_end(&s->links[i], ends_ms[i]);
	origin_uninit(&s->origin);
	otlp_target_uninit(&s->otlp);
	web_config_free(&s->web_config);
	cleanup_close(&s->listen_fd);
	notify_uninit(&s->notify);
	serve_devices_uninit(&s->devices);
}

/* Finds the user that the server is to run as. */
static int find_user(struct serve *s, struct problem *p)
{
	const char *name = s->o->user;

	if (!geteuid() && (!s->o->unheard || s->o->otlp))
		return user_find(name ? name : SERVE_USER, &s->user, p);
	return name ? problem_set(p, -EINVAL, "--user '%.60s': only root can run the web server as another user", name) : 0;
}

/* Does everything that can fail due to a wrong command line. */
static int prepare(struct serve *s, struct problem *p)
{
	const struct serve_options *o = s->o;
	int err = find_user(s, p);

	if (!err && !o->unheard)
		err = lazy_load("MHD_", p) ?: lazy_load("gnutls_", p);
	if (!err && o->otlp)
		err = lazy_load("curl_", p);
	if (!err && o->web_file)
		err = web_config_read(&s->web_config, o->web_file, p);
	if (!err && o->otlp)
		err = otlp_target_init(&s->otlp, o->otlp, o->otlp_ca, o->otlp_headers, p);
	if (err)
		return err;
	if (o->unheard)
		return 0;
	s->listen_fd = address_listen(&s->address, p);
	return s->listen_fd < 0 ? s->listen_fd : 0;
}

static void configure(struct serve *s, const struct capture_ops *engine)
{
	const struct capture_options *o = &s->o->capture;

	s->config = (struct monitor_config){
		.interval_s = o->interval_s,
		.engine = engine,
		.capture = run_capture_config(o, s->devices.follow),
		.root = "",
		.node = o->node,
		.reuse = true,
		.find = on_find,
		.find_into = s,
		.hooks = {
			.came = print_came,
			.gone = print_gone,
			.outgrown = print_outgrown,
			.reopened = print_reopened,
			.failed = on_watching_failed,
			.privileged = on_privileged,
			.into = s,
		},
	};
	s->first = &s->links[s->o->unheard ? RECORDER : SERVER];
}

static int serve(struct serve *s, struct problem *p)
{
	/* From here on the thread has to be on time; loading programs did not, and took long. */
	int late = realtime_begin();
	int err = confine(&s->confine, p);

	s->realtime = !late;
	err = err ?: begin_to_serve(s, p);
	if (err)
		return err;
	wanted_tell_uncharged(&s->o->capture.wanted, "");
	tell_place(s);
	if (!s->confine.filtered)
		fputs("blklat: warning: this kernel has no filter of system calls (seccomp)\n", stderr);
	if (late && !s->o->capture.replay)
		fprintf(stderr, "blklat: warning: no real-time priority (%s): while all CPUs are busy, intervals may end late\n",
			strerror(-late));
	tell_status(s, "READY=1\n");
	err = serve_loop(s, p);
	notify_send(&s->notify, "STOPPING=1");
	if (err == -ENOBUFS)
		return problem_set(p, err, "%s has read nothing for too long, and its queue is full", s->first->name);
	return err || !serve_server_ended(s->first, p) ? err : -ECHILD;
}

static int begin(struct serve *s)
{
	const struct capture_options *o = &s->o->capture;
	const struct capture_ops *engine = &capture_replay;
	struct problem p;
	int err;

	err = prepare(s, &p);
	if (err)
		return command_fail(s->who, err == -EINVAL ? STATUS_USAGE : STATUS_FAILED, &p);
	err = o->replay ? 0 : run_capture_engine(o, &engine, &p);
	/* The module may not be loaded yet, so another start may succeed. */
	if (err)
		return command_fail(s->who, STATUS_FAILED, &p);
	err = run_capture_origin(&s->origin, s->o->line) ? problem_set(&p, -ENOMEM, "out of memory") :
	      start_processes(s, &p);
	if (err)
		return command_fail(s->who, STATUS_FAILED, &p);
	notify_init(&s->notify);
	err = serve_devices_init(&s->devices, &o->wanted, o->replay, &p);
	if (err)
		return command_fail(s->who, serve_devices_exit(engine, err), &p);
	s->confine.keep_capture = s->devices.follow;
	s->confine.writes_to = engine->node;
	configure(s, engine);
	limits_raise_files();
	streams_drop_errors();	/* no message delays an interval or the end */
	/* A recording that is being made is copied first. Meanwhile a signal ends us as it does any program. */
	if (!o->replay)
		serve_signals_block();
	err = serve_loop_begin(s, &p);
	serve_signals_block();
	if (err)
		return command_fail(s->who, serve_devices_exit(engine, err), &p);
	if (!serve(s, &p))
		return STATUS_DONE;
	return p.text[0] ? command_fail(s->who, STATUS_FAILED, &p) : STATUS_FAILED;
}

int serve_life(const struct serve_options *o, const char *who)
{
	CLEANUP(serve_end) struct serve s = {
		.who = who, .o = o, .address = o->address, .notify.fd = -1, .listen_fd = -1, .signals = -1,
		.uevents = -1, .reloader.until_ns = UINT64_MAX,
	};

	return begin(&s);
}
