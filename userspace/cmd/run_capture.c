// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/run_capture.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "core/sink.h"
#include "core/throttle.h"
#include "util/cleanup.h"
#include "util/process.h"

int run_capture_engine(const struct capture_options *o, const struct capture_ops **ret, struct problem *p)
{
	struct problem first;
	int err = 0;

	if (o->engine) {
		*ret = o->engine->ops;
		return o->engine->probe(p);
	}
	for (u32 i = 0; capture_engines[i]; i++) {
		int failed = capture_engines[i]->probe(&first);

		if (!failed) {
			*ret = capture_engines[i]->ops;
			if (i)
				fprintf(stderr, "blklat: using engine %s, since %s can't be used: %s\n",
					capture_engines[i]->ops->name, capture_engines[0]->ops->name, p->text);
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

struct slow_wanted run_capture_slow(const struct capture_options *o)
{
	struct slow_wanted slow = o->slow;

	if (o->slow_most)
		slow.most = o->slow_most;
	return slow;
}

static void print_renewed(const struct capture_renewal *r)
{
	if (r->err)
		fprintf(stderr, "blklat: %s has more tags now than there is room for, and IOs are lost until a larger capture can "
				"be opened: %s\n", r->device->name, r->problem.text);
	else if (r->gap_ns)
		fprintf(stderr, "blklat: %s has more tags now than there was room for: a larger capture takes over; IOs that "
				"ended within %llu us in between may be lost\n",
			r->device->name, (r->gap_ns + 999) / 1000);
	else
		fprintf(stderr, "blklat: %s has more tags now than there was room for: a larger capture takes over\n",
			r->device->name);
}

#define THROTTLES_TOLD 3

/*
 * Says in which stage waiting for a limit of @device is included; NULL: neither the device nor a
 * partition of it is watched.
 */
static const char *where_throttled(const struct run_capture *r, u32 device)
{
	const struct device *d = r->devices.d;
	bool watched = false, total = false;

	for (u32 i = 0; i < r->watches.n; i++) {
		const struct watch *w = &r->watches.w[i];

		if (w->device != &d[device] && &d[w->device->parent] != &d[device])
			continue;
		watched = true;
		total |= w->stage == BLKLAT_STAGE_TOTAL;
	}
	if (!watched)
		return NULL;
	if (total)
		return r->capture->sees_held ? "waiting for that is part of stage total" :
					       "waiting for that is in no stage, as this kernel does not let it be "
					       	"seen";
	return "waiting for that is in none of these stages, but may be in stage total";
}

/* Tells users where to look for the cost of a limit. */
static void tell_throttled(const struct run_capture *r)
{
	CLEANUP(throttles_uninit) struct throttles ts = { 0 };
	u32 more = 0, told = 0;

	if (throttles_read(&r->devices, &ts))
		return;
	for (u32 i = 0; i < ts.n; i++) {
		const struct throttle *t = &ts.t[i];
		const char *where = where_throttled(r, t->device);

		if (!where)
			continue;
		if (told++ < THROTTLES_TOLD)
			fprintf(stderr, "blklat: cgroup %s has io.max %s of %s: %s\n", t->cgroup, t->limits,
				r->devices.d[t->device].name, where);
		else
			more++;
	}
	if (more)
		fprintf(stderr, "blklat: limits of cgroups not named here: %u; 'blklat list' shows all\n", more);
}

static int take_signals(struct run_capture *r, struct problem *p)
{
	sigset_t ends;

	signals_block();
	signals_of_end(&ends);
	/* With a command, signals are for the command: another one is passed on as well. */
	return ends_begin(r->who, &ends, !r->child, p);
}

/*
 * Before 5.12 a partition has no total. If it was only to be watched for the sake of its array, we go
 * on without it and say so.
 */
static int open_without_totals(struct run_capture *r, const struct capture_ops *engine, struct capture_config *cfg, struct problem *p)
{
	struct wanted wanted = r->o->wanted;
	const struct problem why = *p;
	int err;

	wanted.partitions_lack_total = true;
	watches_free(&r->watches);
	err = watches_make(&r->devices, &wanted, &r->watches, p);
	if (err)
		return err;
	cfg->watches = r->watches.w;
	cfg->n_watches = r->watches.n;
	err = capture_open(engine, cfg, print_renewed, &r->capture, p);
	if (!err)
		fprintf(stderr, "blklat: an array is not compared with its members: %s\n", why.text);
	return err;
}

/* A recording that is being made is copied first. Meanwhile a signal ends us as it does any program. */
static int open_capture(struct run_capture *r, const struct capture_ops *engine, struct capture_config *cfg,
			struct problem *p)
{
	bool live = engine != &capture_replay;
	int err = live ? take_signals(r, p) : 0;

	err = err ?: capture_open(engine, cfg, print_renewed, &r->capture, p);
	if ((err == -EINVAL || err == -EOPNOTSUPP) && r->watches.partitions_at_total)
		err = open_without_totals(r, engine, cfg, p);
	return err || live ? err : take_signals(r, p);
}

static int begin(struct run_capture *r, const struct capture_ops *engine)
{
	const struct capture_options *o = r->o;
	struct capture_config cfg = {
		.devices = &r->devices,
		.watches = r->watches.w,
		.n_watches = r->watches.n,
		.by = o->wanted.by,
		.cgroups = wanted_cgroups(&o->wanted),
		.scale = o->scale,
		.max_memory = o->max_memory,
		.max_bios = o->max_bios,
		.idle_gap_ns = idle_gap_ns(o, engine),
		.slow = run_capture_slow(o),
		.replay_file = o->replay,
	};
	struct problem p;
	int err;

	err = open_capture(r, engine, &cfg, &p);
	if (err)
		return command_fail(r->who, run_capture_status_of(engine, err), &p);
	r->idle_gap_ns = cfg.idle_gap_ns;
	r->info = run_info_of(r->capture, o->interval_s);
	r->info.version = BLKLAT_VERSION;
	r->info.percentiles = o->percentiles;
	return -1;
}

int run_capture_begin(struct run_capture *r, const struct capture_options *o, struct child *child, const char *who)
{
	const struct capture_ops *engine = NULL;
	struct problem p;
	int err;

	*r = (struct run_capture){ .o = o, .child = child, .who = who };
	limits_raise_files();
	if (o->replay)
		return begin(r, &capture_replay);
	if (device_table_read(&r->devices, "", &p))
		return command_fail(who, STATUS_FAILED, &p);
	if (watches_make(&r->devices, &o->wanted, &r->watches, &p))
		return command_fail(who, STATUS_USAGE, &p);
	err = run_capture_engine(o, &engine, &p);
	if (err)
		return command_fail(who, o->engine ? STATUS_USAGE : run_capture_status_of(engine, err), &p);
	err = begin(r, engine);
	if (err < 0) {
		tell_throttled(r);
		wanted_tell_uncharged(&o->wanted, r->devices.root);
	}
	return err;
}

void print_gone(const struct device *d, bool replaced)
{
	fprintf(stderr, "blklat: %s went away%s\n", d->name, replaced ? ", and another device took its place before "
		"that was noticed: some of its last IOs may belong to the new one" : "");
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

	return loop_run(r->capture, sink, &loop, print_gone, p);
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
	if (r->capture)
		r->capture->ops->close(r->capture);
	watches_free(&r->watches);
	device_table_free(&r->devices);
	r->capture = NULL;
}
