// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/run_capture.h"

#include <errno.h>
#include <math.h>
#include <sys/utsname.h>

#include "cmd/cmd.h"
#include "core/sink.h"
#include "core/throttle.h"
#include "util/cleanup.h"
#include "util/ending.h"
#include "util/process.h"
#include "util/shell.h"

int run_capture_engine(const struct capture_options *o, const struct capture_ops **ret, struct problem *p)
{
	struct problem first;
	int err = 0;

	if (o->engine) {
		*ret = o->engine;
		return o->engine->probe(p);
	}
	for (u32 i = 0; capture_engines[i]; i++) {
		int failed = capture_engines[i]->probe(&first);

		if (!failed) {
			*ret = capture_engines[i];
			if (i)
				fprintf(stderr, "blklat: using engine %s, since %s can't be used: %s\n",
					capture_engines[i]->name, capture_engines[0]->name, p->text);
			return 0;
		}
		if (!err) {
			err = failed;
			*p = first;
		}
	}
	return err;
}

int run_capture_status_of(const struct capture_ops *engine, int err)
{
	bool usage = err == -EPERM || err == -E2BIG || err == -EINVAL || err == -EOPNOTSUPP ||
		     engine == &capture_replay;

	return usage && !command_err_is_ours(err) ? STATUS_USAGE : STATUS_FAILED;
}

/* The default gap is no reason to refuse an engine that does not see pauses. */
static u64 idle_gap_ns(const struct capture_options *o, const struct capture_ops *engine)
{
	double otherwise_s = engine->sees_pauses ? o->default_idle_gap_s : 0;

	return llround((o->idle_gap_s >= 0 ? o->idle_gap_s : otherwise_s) * NSEC_PER_SEC);
}

struct capture_config run_capture_config(const struct capture_options *o, bool follow)
{
	struct capture_config c = {
		.by = o->wanted.by, .cgroups = wanted_cgroups(&o->wanted), .scale = o->scale, .max_memory = o->max_memory,
		.max_bios = o->max_bios, .follow = follow, .slow = o->slow, .replay_file = o->replay,
	};

	if (o->slow_most)
		c.slow.most = o->slow_most;
	return c;
}

#define THROTTLES_SHOWN 3

/*
 * Says in which stage waiting for a limit of @device is included; NULL: neither the device nor a
 * partition of it is watched.
 */
static const char *where_throttled(const struct run_capture *r, u32 device)
{
	const struct device *d = r->monitor.devices.d;
	bool watched = false, total = false;

	for (u32 i = 0; i < r->info.n_watches; i++) {
		const struct watch *w = &r->info.watches[i];

		if (w->device != &d[device] && &d[w->device->parent] != &d[device])
			continue;
		watched = true;
		total |= w->stage == BLKLAT_STAGE_TOTAL;
	}
	if (!watched)
		return NULL;
	if (total)
		return r->monitor.capture->sees_held ? "waits for this limit are part of stage total" :
					       "waits for this limit are in no stage, as this kernel does not "
					       "let them be measured";
	return "waits for this limit are in none of these stages, but may be in stage total";
}

/* Tells users where to look for the cost of a limit. */
static void warn_throttled(const struct run_capture *r)
{
	CLEANUP(throttles_uninit) struct throttles ts = { 0 };
	u32 more = 0, shown = 0;

	if (throttles_read(&r->monitor.devices, &ts))
		return;
	for (u32 i = 0; i < ts.n; i++) {
		const struct throttle *t = &ts.t[i];
		const char *where = where_throttled(r, t->device);

		if (!where)
			continue;
		if (shown++ < THROTTLES_SHOWN)
			fprintf(stderr, "blklat: cgroup %s has %s %s of %s: %s\n", t->cgroup, t->file, t->limits,
				r->monitor.devices.d[t->device].name, where);
		else
			more++;
	}
	if (more)
		fprintf(stderr, "blklat: %u more cgroup limit%s not listed here; 'blklat list' shows all\n", more, more == 1 ? " is" : "s are");
}

/* With a command, signals are for the command. */
static int catch_signals(const struct run_capture *r, struct problem *p)
{
	int err = ending_catch(r->child);

	return err ? problem_set(p, err, "could not catch signals: %s", strerror(-err)) : 0;
}

/* --- the monitor's hooks -------------------------------------------------------------------- */

/* The first time, also chooses the engine: errors in the names of devices come first. */
static int find(void *run, const struct device_table *t, struct watch **ret, u32 *ret_n, struct problem *p)
{
	struct run_capture *r = run;
	struct wanted wanted = r->o->wanted;
	struct watches made = { 0 };
	int err;

	if (r->begun < RUN_BEGUN)
		r->begun = RUN_FINDS;
	wanted.lenient = r->begun == RUN_BEGUN;
	wanted.partitions_lack_total = r->partitions_lack_total;
	if (r->plain && r->o->may_lack_by)
		wanted.by = wanted.max_parts = 0;
	err = watches_make(t, &wanted, &made, p);
	if (!err && r->begun < RUN_BEGUN) {
		r->begun = RUN_CHOOSES_ENGINE;
		err = run_capture_engine(r->o, &r->config.engine, p);
	}
	if (err) {
		watches_free(&made);
		return err;
	}
	if (r->begun < RUN_BEGUN) {
		r->begun = RUN_OPENS;
		r->config.capture.idle_gap_ns = idle_gap_ns(r->o, r->config.engine);
	}
	r->partitions_at_total = made.partitions_at_total;
	*ret = made.w;
	*ret_n = made.n;
	return 0;
}

void print_came(void *run, const struct device *d)
{
	(void)run;
	fprintf(stderr, "blklat: %s is watched now\n", d->name);
}

void print_gone(void *run, const struct device *d, bool replaced)
{
	(void)run;
	fprintf(stderr, "blklat: %s went away%s\n", d->name, replaced ? ", and another device took its place before "
		"that was noticed: some of its last IOs may belong to the new one" : "");
}

void print_outgrown(void *run, const struct device *d)
{
	(void)run;
	fprintf(stderr, "blklat: %s had more tags than there was room for and was given more; IOs with those tags count as lost until "
		"then\n", d->name);
}

void print_reopened(void *run, const char *why, u64 gap_ns)
{
	(void)run;
	fprintf(stderr, "blklat: another capture was opened, as %s; IOs that completed in the %llu us between may be missing\n", why,
		(gap_ns + 999) / 1000);
}

static void print_failed(void *run, const struct problem *p)
{
	command_fail(((struct run_capture *)run)->who, 0, p);
}

/* It keeps its privileges all the time. */
static void ignore_privileged(void *run, bool begins)
{
	(void)run, (void)begins;
}

/* --- the run -------------------------------------------------------------------------------- */

/* The exit status for what failed at the beginning. */
static int status_of(const struct run_capture *r, int err)
{
	switch (r->begun) {
	case RUN_READS_DEVICES:
		return STATUS_FAILED;
	case RUN_FINDS:
		return STATUS_USAGE;
	case RUN_CHOOSES_ENGINE:
		return r->o->engine ? STATUS_USAGE : run_capture_status_of(NULL, err);
	default:
		return run_capture_status_of(r->config.engine, err);
	}
}

/*
 * Before 5.12 a partition has no total. If it was only to be watched for the sake of its array, we go
 * on without it and say so.
 */
static int open_without_totals(struct run_capture *r, struct problem *p)
{
	const struct problem why = *p;
	int err;

	r->partitions_lack_total = true;
	monitor_close(&r->monitor);
	err = monitor_open(&r->monitor, &r->config, p);
	if (!err)
		fprintf(stderr, "blklat: an array is not compared with its members: %s\n", why.text);
	return err;
}

static int open_plain(struct run_capture *r, struct problem *p)
{
	r->plain = true;
	if (r->o->may_lack_by)
		r->config.capture.by = r->config.capture.cgroups = 0;
	if (r->o->may_lack_slow)
		r->config.capture.slow.wanted = false;
	monitor_close(&r->monitor);
	return monitor_open(&r->monitor, &r->config, p);
}

static int open_live(struct run_capture *r, struct problem *p)
{
	int err = monitor_open(&r->monitor, &r->config, p);

	if (err && (r->o->may_lack_by || r->o->may_lack_slow))
		err = open_plain(r, p);
	if ((err == -EINVAL || err == -EOPNOTSUPP) && r->begun == RUN_OPENS && r->partitions_at_total)
		err = open_without_totals(r, p);
	if (!err && !r->monitor.capture)
		err = problem_set(p, -ESTALE, "all devices went away before they could be watched");
	return err;
}

/* A recording that is being made is copied first. Meanwhile a signal ends us as it does any program. */
static int open_capture(struct run_capture *r, struct problem *p)
{
	if (r->o->replay) {
		r->begun = RUN_OPENS;
		return monitor_open(&r->monitor, &r->config, p) ?: catch_signals(r, p);
	}
	return catch_signals(r, p) ?: open_live(r, p);
}

int run_capture_begin(struct run_capture *r, const struct capture_options *o, struct child *child, const char *who)
{
	struct problem p;
	int err;

	*r = (struct run_capture){ .o = o, .child = child, .who = who };
	r->config = (struct monitor_config){
		.interval_s = r->o->interval_s,
		.engine = o->replay ? &capture_replay : NULL,
		.capture = run_capture_config(o, !o->replay && wanted_many(&o->wanted)),
		.node = o->node,
		.find = find,
		.find_into = r,
		.hooks = { print_came, print_gone, print_outgrown, print_reopened, print_failed, ignore_privileged, r },
	};
	limits_raise_files();
	err = open_capture(r, &p);
	if (err)
		return command_fail(who, status_of(r, err), &p);
	r->begun = RUN_BEGUN;
	r->info = monitor_run_info(&r->monitor, o->interval_s);
	r->info.version = BLKLAT_VERSION;
	r->info.percentiles = o->percentiles;
	if (!o->replay) {
		warn_throttled(r);
		wanted_tell_uncharged(&o->wanted, "");
	}
	return -1;
}

enum loop_end run_capture_loop(struct run_capture *r, struct sink *sink, struct problem *p)
{
	const struct loop_config loop = {
		.interval_s = r->o->interval_s,
		.count = r->o->count,
		.duration_s = r->o->duration_s,
		.percentiles = &r->o->percentiles,
		.child = r->child,
		.input = r->input,
	};

	return loop_run(&r->monitor, &r->info, sink, &loop, p);
}

int run_capture_status(const struct run_capture *r, enum loop_end end, struct problem *p)
{
	switch (end) {
	case LOOP_GONE:
		problem_set(p, 0, "no watched device is left");
		return command_fail(r->who, STATUS_FAILED, p);
	case LOOP_FAILED:
		return command_fail(r->who, STATUS_FAILED, p);
	default:
		return STATUS_DONE;
	}
}

void run_capture_end(struct run_capture *r)
{
	monitor_close(&r->monitor);
}

int run_capture_command(const struct options *options, int argc, char **argv,
			int (*check)(struct capture_options *o, struct problem *p), int (*show)(struct run_capture *r))
{
	CLEANUP(capture_options_uninit) struct capture_options o = { 0 };
	CLEANUP(run_capture_end) struct run_capture r = { 0 };
	struct problem p;
	int status;

	capture_options_init(&o);
	status = options_parse(options, argc, argv, &o);
	if (status >= 0)
		return status;
	if (check(&o, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	status = run_capture_begin(&r, &o, NULL, argv[0]);
	return status >= 0 ? status : show(&r);
}

char *run_capture_line(char **argv)
{
	char *words CLEANUP(cleanup_free) = shell_line(argv + 1), *line;

	/* argv[0] is "blklat NAME", which is not to be quoted as one word. */
	return words && asprintf(&line, "%s %s", argv[0], words) >= 0 ? line : NULL;
}

int run_capture_origin(struct origin *o, const char *command)
{
	struct utsname name = { 0 };
	/* Only read. */
	struct origin here = {
		.version = BLKLAT_VERSION, .command = (char *)command,
		.host = name.nodename, .kernel = name.release,
	};

	uname(&name);
	return origin_copy(o, &here);
}
