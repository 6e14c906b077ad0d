// SPDX-License-Identifier: GPL-2.0-only
#include "core/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/background.h"
#include "core/kubernetes.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define LOOK_NS (10 * NSEC_PER_SEC)	/* if there is no news */
#define SETTLE_NS (NSEC_PER_SEC / 5)	/* news of devices comes in bursts */
/* IOs that are in flight when another capture is opened are lost unless they end meanwhile */
#define OVERLAP_NS (NSEC_PER_SEC / 5)
#define OPENING_NS (NSEC_PER_SEC / 50)	/* how often it is looked whether a capture is open, or closed */
#define DOUBLED_MOST 8
#define RETRY_NS (60 * NSEC_PER_SEC)	/* time before another capture that could not be opened is tried again */
/* in an interval, its read included; fewer if they took more than 1 % of a CPU */
#define GLANCES 10
#define GLANCE_LEAST_NS (NSEC_PER_SEC / 50)
#define GLANCE_SHARE 100

static void tell_failure(struct monitor *m, const struct problem *p)
{
	if (!strcmp(m->told, p->text))
		return;
	strcpy(m->told, p->text);
	m->cfg->hooks.failed(m->cfg->hooks.into, p);
}

static bool is_live(const struct monitor *m)
{
	return !m->cfg->capture.replay_file;
}

/* Which entries of the table the captures refer to. */
static void mark_used(const struct monitor *m, bool *used)
{
	const struct capture *captures[] = { m->capture, m->next.capture };

	for (u32 c = 0; c < ARRAY_SIZE(captures); c++)
		for (u32 i = 0; captures[c] && i < captures[c]->n_watches; i++)
			device_mark_below(&m->devices, captures[c]->watches[i].device - m->devices.d, used);
}

static int find(struct monitor *m, struct watch **ret, u32 *ret_n, struct problem *p)
{
	CLEANUP(cleanup_free) bool *used = calloc(m->devices.n + 1, sizeof(*used));
	int err;

	if (!used)
		return problem_set(p, -ENOMEM, "out of memory");
	mark_used(m, used);
	err = device_table_update(&m->devices, m->cfg->reuse ? used : NULL, p);
	if (!err && m->devices.node)
		kubernetes_volumes(m->devices.node, &m->devices);
	return err ?: m->cfg->find(m->cfg->find_into, &m->devices, ret, ret_n, p);
}

/* --- opening -------------------------------------------------------------------------------- */

/* 0: never */
static u64 glance_every_ns(const struct monitor *m)
{
	u64 interval_ns = m->cfg->interval_s * NSEC_PER_SEC;

	return is_live(m) && interval_ns >= 2 * GLANCE_LEAST_NS ? max_u64(interval_ns / GLANCES, GLANCE_LEAST_NS) : 0;
}

/* The next glance: the read is one, too. */
static void plan_glance(struct monitor *m, u64 at_ns)
{
	u64 every_ns = glance_every_ns(m),
	    end_ns = intervals_read_ns(&m->intervals) + (u64)(m->cfg->interval_s * NSEC_PER_SEC);

	m->glance_ns = m->capture && every_ns && at_ns + every_ns / 2 <= end_ns ? at_ns : UINT64_MAX;
}

static void glance(struct monitor *m, u64 now)
{
	m->capture->live->glance(m->capture);
	plan_glance(m, max_u64(now + glance_every_ns(m), now_ns() + GLANCE_SHARE * (now_ns() - now)));
}

/* Of a capture of @watches. */
static struct capture_config config_of(struct monitor *m, struct watch *watches, u32 n)
{
	struct capture_config cfg = m->cfg->capture;

	cfg.devices = &m->devices;
	cfg.watches = watches;
	cfg.n_watches = n;
	cfg.doubled = m->doubled;
	return cfg;
}

/* @c has just been opened. */
static void begin_looks(struct monitor *m, struct capture *c)
{
	c->glanced |= glance_every_ns(m) > 0;
	m->opened_ns = now_ns();
	m->early_ns = capture_early_look(m->opened_ns, m->opened_ns);
	plan_glance(m, m->opened_ns + glance_every_ns(m));
}

/* Notes what there is, with the parts that they have now, or had when another device took their place. */
static void note_all(struct monitor *m)
{
	const struct frames *fs = &m->intervals.frames;

	for (u32 i = 0; m->all && i < fs->n; i++) {
		struct watch *w = &m->all[fs->f[i].number];

		part_keep(&w->part, fs->f[i].watch->part);
		*w = *fs->f[i].watch;
	}
	m->n_all = m->intervals.numbers;
}

static int make_all(struct monitor *m, struct problem *p)
{
	m->most = m->capture->n_watches;
	/* A recording needs other numbers for cgroups that come. */
	if (m->cfg->capture.follow)
		m->most = max_u64(m->most, m->cfg->capture.cgroups ? BLKLAT_MAX_WATCHES / 2 : BLKLAT_MAX_WATCHES);
	m->all = sparse_calloc(m->most, sizeof(*m->all));
	if (!m->all)
		return problem_set(p, -ENOMEM, "out of memory");
	note_all(m);
	return 0;
}

/* Opens the first capture. */
static int open_first(struct monitor *m, struct watch *watches, u32 n, struct problem *p)
{
	struct capture_config cfg = config_of(m, watches, n);
	int err = open_now(m->cfg->engine, &cfg, &m->capture, &m->intervals, p);

	if (!err && m->capture->live)
		begin_looks(m, m->capture);
	return err || m->cfg->reuse ? err : make_all(m, p);
}

/* There is nothing to watch in the interval that begins, or began, at @begin_ns. */
static void wait_for_first(struct monitor *m, u64 begin_ns)
{
	m->intervals = (struct intervals){ .snapshots = { { .mono_ns = begin_ns } } };
}

static int open_live(struct monitor *m, struct problem *p)
{
	struct watch *watches CLEANUP(cleanup_free) = NULL;
	u32 n = 0;
	int err = device_table_init(&m->devices, m->cfg->root ?: "", p);

	m->devices.node = m->cfg->node;
	err = err ?: find(m, &watches, &n, p);
	if (!err && n)
		err = open_first(m, watches, n, p);
	/* All went away again: others may come. */
	if (err == -ESTALE && m->cfg->capture.follow)
		err = 0;
	if (!err && !m->capture)
		wait_for_first(m, now_ns());
	return err;
}

int monitor_open(struct monitor *m, const struct monitor_config *cfg, struct problem *p)
{
	*m = (struct monitor){ .cfg = cfg, .look_ns = UINT64_MAX, .early_ns = UINT64_MAX, .glance_ns = UINT64_MAX };
	if (!is_live(m))
		return open_first(m, NULL, 0, p);
	if (cfg->capture.follow)
		m->look_ns = now_ns() + LOOK_NS;
	return open_live(m, p);
}

struct run_info monitor_run_info(const struct monitor *m, double interval_s)
{
	struct run_info info = run_info_of(m->capture, interval_s);

	info.watches = m->all;
	info.most_watches = m->most;
	return info;
}

static void close_next(struct monitor *m)
{
	struct problem unused;

	if (m->next.closing)
		background_end(TAKE(m->next.closing), &m->next.capture, &m->next.intervals, &unused);
	if (m->next.opening)
		background_end(TAKE(m->next.opening), &m->next.capture, &m->next.intervals, &unused);
	if (!m->next.capture)
		return;
	intervals_uninit(&m->next.intervals);
	m->cfg->engine->close(m->next.capture);
	m->next = (struct monitor_next){ 0 };
}

static void close_capture(struct monitor *m)
{
	intervals_uninit(&m->intervals);
	if (m->capture)
		m->cfg->engine->close(TAKE(m->capture));
}

void monitor_close(struct monitor *m)
{
	close_next(m);
	close_capture(m);
	device_table_free(&m->devices);
	free(m->shown.f);
	for (u32 i = 0; m->all && i < m->n_all; i++)
		part_keep(&m->all[i].part, NULL);
	free(m->all);
}

/* --- devices that come ---------------------------------------------------------------------- */

static bool watches_device(const struct capture *c, const struct intervals *in, const struct device *d)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].device == d && !in->frames.f[i].gone)
			return true;
	return false;
}

/* Another device of this name that is not gone; NULL: there is none. */
static const struct device *namesake(const struct intervals *in, const struct device *d)
{
	for (u32 i = 0; i < in->frames.n; i++) {
		const struct frame *f = &in->frames.f[i];

		if (f->watch->device != d && !f->gone && !strcmp(f->watch->device->name, d->name))
			return f->watch->device;
	}
	return NULL;
}

/*
 * Adds a device to the capture that is open, or will be. Returns 0, also if it went away again; -ENOSPC: there is no
 * room.
 */
static int add(struct monitor *m, const struct watch *w, u32 n, struct problem *p)
{
	struct capture *c = m->next.capture ?: m->capture;
	struct intervals *in = m->next.capture ? &m->next.intervals : &m->intervals;
	u32 first;
	int err;

	if (watches_device(c, in, w->device))
		return 0;
	if (m->all && in->numbers + n > m->most)
		return problem_set(p, -E2BIG, "%s can't be watched: %u pairs of device and stage have come and gone, more are not "
				   "counted in one run", w->device->name, in->numbers);
	c->live->look(c);	/* it may have taken the place of one that went away */
	err = c->live->add(c, w, n, &first, p);
	if (err)
		return err == -ENODEV ? 0 : err;
	intervals_enter(in, first, n);
	/* If the end of the one before it is still to be told, it is told afterwards. */
	if (!namesake(in, w->device))
		m->cfg->hooks.came(m->cfg->hooks.into, w->device);
	return 0;
}

/* Adds what is not watched yet. Returns 0, or the first failure. */
static int add_all(struct monitor *m, const struct watch *w, u32 n, struct problem *p)
{
	int err = 0;

	for (u32 i = 0, each; i < n; i += each) {
		struct problem why;
		int failed;

		each = watches_of_device(&w[i], n - i);
		failed = add(m, &w[i], each, &why);
		if (failed == -ENOSPC && !m->why[0])
			strcpy(m->why, why.text);
		/* Only if the next capture has no room either is it not watched for a while. */
		if (!failed || (failed == -ENOSPC && !m->next.capture) || err)
			continue;
		err = failed;
		*p = why;
	}
	return err;
}

/* Tells which devices @c watches that the open capture does not. */
static void tell_came(const struct monitor *m, const struct capture *c)
{
	for (u32 i = 0; i < c->n_watches; i += watches_of_device(&c->watches[i], c->n_watches - i))
		if (c == m->capture || !watches_device(m->capture, &m->intervals, c->watches[i].device))
			m->cfg->hooks.came(m->cfg->hooks.into, c->watches[i].device);
}

/* Opens the first capture, and tells what has come. */
static int begin_watching(struct monitor *m, struct watch *watches, u32 n, struct problem *p)
{
	u64 begin_ns = intervals_read_ns(&m->intervals);
	int err = n ? open_first(m, watches, n, p) : 0;

	if (m->capture)
		tell_came(m, m->capture);
	else
		wait_for_first(m, begin_ns);
	return err == -ESTALE ? 0 : err;
}

void monitor_look(struct monitor *m)
{
	struct watch *watches CLEANUP(cleanup_free) = NULL;
	struct problem p;
	u32 n = 0;
	int err;

	if (!m->cfg->capture.follow || !is_live(m))
		return;
	if (m->next.opening) {
		m->look_ns = 0;	/* when that is done */
		return;
	}
	m->looked_ns = now_ns();
	m->look_ns = m->looked_ns + LOOK_NS;
	m->cfg->hooks.privileged(m->cfg->hooks.into, true);
	err = find(m, &watches, &n, &p);
	if (!err)
		err = m->capture ? add_all(m, watches, n, &p) : begin_watching(m, watches, n, &p);
	m->cfg->hooks.privileged(m->cfg->hooks.into, false);
	if (err)
		tell_failure(m, &p);
	else if (!m->why[0])
		m->told[0] = '\0';
}

/* --- another capture ------------------------------------------------------------------------ */

static void could_not_open(struct monitor *m, int err, const struct problem *why)
{
	struct problem p;

	m->doubled = 0;
	m->reopen_ns = now_ns() + RETRY_NS;
	problem_set(&p, err, "%s; another capture could not be opened: %s", m->why, why->text);
	tell_failure(m, &p);
}

static int begin_opening(struct monitor *m, struct problem *p)
{
	struct capture_config cfg;
	struct watch *watches = NULL;
	u32 n = 0;
	int err = find(m, &watches, &n, p);

	if (err) {
		free(watches);
		return err;
	}
	for (u32 i = 0; i < n; i++)
		device_read_queue(&m->devices, &m->devices.d[watches[i].device - m->devices.d]);
	cfg = config_of(m, watches, n);
	return background_open(m->cfg->engine, &cfg, &m->next.opening, p);
}

static void reopen(struct monitor *m)
{
	struct problem why;
	int err;

	m->doubled = min_u64(m->doubled + 1, DOUBLED_MOST);
	m->cfg->hooks.privileged(m->cfg->hooks.into, true);
	err = begin_opening(m, &why);
	m->cfg->hooks.privileged(m->cfg->hooks.into, false);
	if (err)
		could_not_open(m, err, &why);
}

/* It is open beside the other. It replaces that when the interval ends, see monitor_next(). */
static void take_opened(struct monitor *m)
{
	struct problem why;
	int err = background_end(TAKE(m->next.opening), &m->next.capture, &m->next.intervals, &why);

	if (err) {
		could_not_open(m, err, &why);
		return;
	}
	intervals_continue(&m->next.intervals, &m->intervals);
	tell_came(m, m->next.capture);
	begin_looks(m, m->next.capture);
}

/* The other capture has been opened: from this read on it counts. */
static void begin_next(struct monitor *m, u64 read_ns)
{
	struct problem p;

	if (intervals_replace(&m->next.intervals, &m->intervals, &p)) {
		tell_failure(m, &p);
		m->reopen_ns = now_ns() + RETRY_NS;
		close_next(m);
		return;
	}
	m->next.begun = true;
	m->cfg->hooks.reopened(m->cfg->hooks.into, m->why, now_ns() - read_ns);
	m->why[0] = m->told[0] = '\0';
	m->reopen_ns = 0;
}

static void replace_capture(struct monitor *m)
{
	struct background *closing;

	intervals_uninit(&m->intervals);
	closing = background_close(m->cfg->engine, m->capture);
	m->capture = m->next.capture;
	m->intervals = m->next.intervals;
	m->next = (struct monitor_next){ .closing = closing };
}

static void take_outgrown(struct monitor *m)
{
	const struct device *d = m->capture->outgrown;

	if (!d)
		return;
	if (!m->capture->outgrown_err)
		m->cfg->hooks.outgrown(m->cfg->hooks.into, d);
	else if (!m->why[0])
		snprintf(m->why, sizeof(m->why), "%s has more tags now than there is room for", d->name);
}

/* --- interval by interval ------------------------------------------------------------------- */

u64 monitor_due_ns(const struct monitor *m)
{
	u64 due_ns = min_u64(m->early_ns, m->glance_ns);

	if (m->next.opening || m->next.closing)
		return min_u64(due_ns, now_ns() + OPENING_NS);
	due_ns = min_u64(due_ns, m->look_ns);
	if (m->next.capture && !m->next.begun)
		due_ns = min_u64(due_ns, m->opened_ns + OVERLAP_NS);
	return m->why[0] && !m->next.capture ? min_u64(due_ns, m->reopen_ns) : due_ns;
}

bool monitor_ends_interval(const struct monitor *m)
{
	return m->next.capture && !m->next.begun && now_ns() >= m->opened_ns + OVERLAP_NS;
}

/* Looks for devices now; or soon, if that has just been done. */
static void look_soon(struct monitor *m, u64 now)
{
	if (m->cfg->capture.follow)
		m->look_ns = min_u64(m->look_ns, max_u64(now, m->looked_ns + SETTLE_NS));
}

void monitor_tend(struct monitor *m, enum monitor_news news)
{
	struct capture *captures[] = { m->capture, m->next.capture };
	u64 now = now_ns();

	for (u32 i = 0; i < ARRAY_SIZE(captures); i++)
		if (captures[i] && captures[i]->live && (news == MONITOR_DEVICES_GONE || m->early_ns <= now))
			captures[i]->live->look(captures[i]);
	if (m->early_ns <= now)
		m->early_ns = capture_early_look(m->opened_ns, now);
	if (m->glance_ns <= now)
		glance(m, now);
	if (news != MONITOR_NO_NEWS)
		look_soon(m, now);
	if (m->next.closing && background_is_done(m->next.closing))
		close_next(m);
	if (m->next.opening && background_is_done(m->next.opening))
		take_opened(m);
	if (m->next.opening)
		return;
	if (m->look_ns <= now)
		monitor_look(m);
	if (m->why[0] && !m->next.capture && !m->next.closing && m->reopen_ns <= now)
		reopen(m);
}

static int choose_shown(struct monitor *m, struct problem *p)
{
	const struct frames *fs = &m->intervals.frames;

	if (fs->n > m->room && array_grow(&m->shown.f, sizeof(*m->shown.f), fs->n))
		return problem_set(p, -ENOMEM, "out of memory");
	m->room = max_u64(m->room, fs->n);
	frames_choose_there(&m->shown, fs);
	for (u32 i = 0; m->all && i < m->shown.n; i++)
		m->shown.f[i].watch = &m->all[m->shown.f[i].number];
	return 0;
}

int monitor_next(struct monitor *m, const struct percentiles *ps, struct problem *p)
{
	u64 read_ns = now_ns();
	int err;

	if (m->next.begun)
		replace_capture(m);
	if (!m->capture) {
		u64 length_ns = read_ns - intervals_read_ns(&m->intervals);

		wait_for_first(m, read_ns);
		m->intervals.frames.interval_s = (double)length_ns / NSEC_PER_SEC;
		return choose_shown(m, p);
	}
	err = intervals_next(&m->intervals, ps, p);
	plan_glance(m, intervals_read_ns(&m->intervals) + glance_every_ns(m));
	note_all(m);
	err = err ?: choose_shown(m, p);
	if (err || !m->capture->live)
		return err;
	take_outgrown(m);
	if (monitor_ends_interval(m))
		begin_next(m, read_ns);
	return 0;
}

/*
 * Whether the end of the device was already told for another of its watches, in an earlier interval or
 * earlier in this one.
 */
static bool told_before(const struct frames *interval, u32 i)
{
	const struct frame *f = interval->f;
	bool told = false;

	for (u32 j = 0; j < interval->n; j++)
		told |= f[j].watch->device == f[i].watch->device &&
			(f[j].gone_before || (j < i && frame_just_gone(&f[j])));
	return told;
}

static void tell_end(struct monitor *m, const struct frame *f)
{
	/* In a replay nothing comes: all devices of the run are known. */
	const struct device *came = is_live(m) ? namesake(&m->intervals, f->watch->device) : NULL;

	m->cfg->hooks.gone(m->cfg->hooks.into, f->watch->device, f->replaced);
	if (came)
		m->cfg->hooks.came(m->cfg->hooks.into, came);
}

u32 monitor_tell_gone(struct monitor *m)
{
	const struct frames *interval = &m->intervals.frames;
	u32 left = 0;

	for (u32 i = 0; i < interval->n; i++) {
		const struct frame *f = &interval->f[i];

		left += !f->gone;
		if (!frame_just_gone(f))
			continue;
		look_soon(m, now_ns());
		if (!told_before(interval, i))
			tell_end(m, f);
	}
	return left;
}
