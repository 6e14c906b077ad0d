// SPDX-License-Identifier: GPL-2.0-only
#include "service/service_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void service_tell_failure(struct service *s, const struct problem *p)
{
	if (!strcmp(s->told, p->text))
		return;
	strcpy(s->told, p->text);
	s->cfg->hooks.failed(s->cfg->hooks.into, p);
}

void service_stop_watching(struct service *s, const char *why)
{
	if (!s->stopped)
		s->cfg->hooks.stopped(s->cfg->hooks.into, why);
	s->stopped = true;
}

/* --- an interval --------------------------------------------------------------------------- */

static void tell_gone(struct service *s, const struct member *m)
{
	const struct frame *f = m->intervals.frames.f;

	for (u32 i = 0; i < m->intervals.frames.n; i++) {
		bool told = false;

		if (!frame_just_gone(&f[i]))
			continue;
		for (u32 j = 0; j < i; j++)
			told |= f[j].watch->device == f[i].watch->device && frame_just_gone(&f[j]);
		if (!told)
			s->cfg->hooks.gone(s->cfg->hooks.into, f[i].watch->device, f[i].replaced);
		s->look_ns = now_ns() + SERVICE_SETTLE_NS;
	}
}

/* Adds the slow IOs of a member. Those that the list has no room for are counted. */
static void take_slow(struct service *s, const struct member *m, u32 first, struct slow_span span)
{
	for (u32 i = 0; i < m->capture->n_watches; i++)
		s->numbers[i] = first + i;
	if (m->capture->slow)
		slow_ios_move(&s->slow, m->capture->slow, s->numbers, span);
}

/* Takes the heir's slow IOs that the other members did not report any more. */
void service_begin_slow(struct service *s)
{
	if (!s->slow.most)
		return;
	slow_ios_clear(&s->slow);
	take_slow(s, s->members, 0, (struct slow_span){ s->slow_until_ns, UINT64_MAX, false });
}

static void compose_slow(struct service *s)
{
	struct slow_span span = { 0, s->slow_until_ns, true };
	u32 n = 0;

	for (const struct member *m = s->members; m; m = m->next) {
		take_slow(s, m, n, span);
		n += m->capture->n_watches;
	}
	slow_ios_sort(&s->slow);
	s->frames.slow = &s->slow;
}

static void compose(struct service *s)
{
	struct watch *w = s->watches;

	s->frames.n = 0;
	if (s->slow.most)
		compose_slow(s);
	/* Known only if there is a single capture; sinks want to know whether pauses were looked for. */
	s->frames.idle_gap_ns = s->n_members == 1 ? s->members->intervals.frames.idle_gap_ns : 0;
	s->frames.skipped_unexplained = s->skipped_before;
	for (const struct member *m = s->members; m; m = m->next) {
		const struct frames *fs = &m->intervals.frames;

		s->frames.skipped_unexplained += fs->skipped_unexplained;
		/* Which part a watch counts may have changed. */
		memcpy(w, m->capture->watches, fs->n * sizeof(*w));
		for (u32 i = 0; i < fs->n; i++, w++) {
			if (fs->f[i].gone_before)
				continue;
			s->frames.f[s->frames.n] = fs->f[i];
			s->frames.f[s->frames.n++].watch = w;
		}
	}
}

static int publish(struct service *s, struct problem *p)
{
	int err = 0;

	compose(s);
	for (u32 i = 0; !err && i < s->cfg->n_sinks; i++)
		err = s->sinks[i]->ops->interval(s->sinks[i], &s->frames);
	if (s->slow.most)
		slow_ios_clear(&s->slow);
	if (err)
		return problem_set(p, err, "could not take in an interval: %s", strerror(-err));
	for (const struct member *m = s->members; m; m = m->next)
		tell_gone(s, m);
	return service_drop_members(s, p);
}

/* Returns -ENODATA at the end of a replay. */
static int read_members(struct service *s, struct problem *p)
{
	u64 begin_ns = now_ns();
	int err = 0;

	if (s->heir)
		err = service_heir_read(s, p);
	for (struct member *m = s->members; !err && m; m = m->next)
		err = member_read(m, s->cfg->percentiles, p);
	s->read_ns = now_ns();
	s->cfg->hooks.drained(s->cfg->hooks.into, s->read_ns - begin_ns);
	return err;
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

static int handle(struct service *s, enum service_event event, struct problem *p)
{
	u64 now = now_ns();
	bool look;

	if (event == EVENT_RELOAD) {
		s->cfg->hooks.reload(s->cfg->hooks.into);
		s->look_ns = now;
	}
	look = (event == EVENT_DEVICES && s->wait.gone) || s->early_ns <= now;
	for (struct member *m = s->members; look && m; m = m->next)
		if (m->capture->live)
			m->capture->live->look(m->capture);
	s->early_ns = capture_early_look(s->start_ns, now);
	if (event == EVENT_DEVICES && s->look_ns > now + SERVICE_SETTLE_NS)
		s->look_ns = now + SERVICE_SETTLE_NS;
	if (s->scout && s->look_ns <= now)
		service_look(s);
	beat(s);
	return event == EVENT_SCOUT ? service_take_scouted(s, p) : 0;
}

/* Returns 0 at @deadline_ns, 1 if the service is to end, or a negative errno. */
static int wait_until(struct service *s, u64 deadline_ns, struct problem *p)
{
	int err = 0;

	while (!err) {
		u64 wake_ns = min_u64(deadline_ns, s->early_ns);
		enum service_event event;

		if (s->scout)
			wake_ns = min_u64(wake_ns, s->look_ns);
		if (s->cfg->beat_ns)
			wake_ns = min_u64(wake_ns, s->beat_ns);
		event = service_wait(&s->wait, wake_ns);
		if (event == EVENT_END)
			return 1;
		err = handle(s, event, p);
		if (now_ns() >= deadline_ns)
			break;
	}
	return err;
}

/* The first deadline after the last read, on the grid of intervals since the start. */
static u64 next_deadline(const struct service *s)
{
	u64 interval_ns = s->cfg->interval_s * NSEC_PER_SEC;

	return s->start_ns + ((s->read_ns - s->start_ns) / interval_ns + 1) * interval_ns;
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
	int err = wait_until(s, next_deadline(s), p);
	bool heir;

	if (err)
		return err;
	err = read_members(s, p);
	if (err)
		return err;
	service_outgrown(s);
	heir = service_heir_begins(s);
	err = publish(s, p);
	mind_priority(s);
	return err || !heir ? err : service_heir_takes_over(s, p);
}

/* A replay runs in real time. */
static int step_replay(struct service *s, struct problem *p)
{
	u64 began_ns = s->read_ns;
	int err = read_members(s, p);

	if (err == -ENODATA) {
		service_stop_watching(s, "the replay is at its end");
		return 0;
	}
	if (!err)
		err = wait_until(s, began_ns + (u64)(s->members->intervals.frames.f[0].interval_s * NSEC_PER_SEC), p);
	s->read_ns = now_ns();
	return err ? err : publish(s, p);
}

int service_run(struct service *s, struct problem *p)
{
	bool live = !s->members || s->members->capture->live;
	int err = 0;

	s->start_ns = s->read_ns = now_ns();
	s->look_ns = s->start_ns + SERVICE_LOOK_NS;
	s->early_ns = capture_early_look(s->start_ns, s->start_ns);
	if (s->cfg->follow) {
		err = scout_start(s->cfg->scout, &s->scout);
		if (err)
			return problem_set(p, err, "could not start a thread: %s", strerror(-err));
		s->wait.scout = scout_fd(s->scout);
	}
	while (!err) {
		if (s->stopped)
			err = wait_until(s, UINT64_MAX, p);
		else
			err = live ? step_live(s, p) : step_replay(s, p);
	}
	return err > 0 ? 0 : err;
}

/* --- life ---------------------------------------------------------------------------------- */

void service_signals_block(void)
{
	service_wait_block();
}

static int begin(struct service *s, struct problem *p)
{
	const struct scout_config *scout = s->cfg->scout;
	struct member *m = NULL;
	int err = service_wait_init(&s->wait, s->cfg->lifeline, s->cfg->follow);

	if (err)
		return problem_set(p, err, "could not wait for signals: %s", strerror(-err));
	s->info = (struct run_info){
		.version = s->cfg->version,
		.engine = scout->engine->name,
		.scale = scout->capture.scale < 0 ? BLKLAT_SCALE_MAX : (u32)scout->capture.scale,
		.interval_s = s->cfg->interval_s,
		.percentiles = *s->cfg->percentiles,
	};
	if (scout->capture.replay_file) {
		struct capture_config capture = scout->capture;
		struct device_table none = { 0 };

		err = member_open(scout->engine, &capture, &none, &m, p);
	} else {
		err = scout_open(scout, NULL, 0, &m, p);
	}
	if (err)
		return err;
	s->members = m;
	s->n_members = m ? 1 : 0;
	return service_members_changed(s, p);
}

int service_open(const struct service_config *cfg, struct service **ret, struct problem *p)
{
	struct service *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return problem_set(p, -ENOMEM, "out of memory");
	s->cfg = cfg;
	s->slow_until_ns = UINT64_MAX;
	s->wait = (struct service_wait){ .signals = -1, .uevents = -1, .scout = -1, .lifeline = -1 };
	err = begin(s, p);
	if (err)
		service_close(s);
	else
		*ret = s;
	return err;
}

void service_close(struct service *s)
{
	if (!s)
		return;
	scout_stop(s->scout);
	service_close_sinks(s);
	member_close(s->heir);
	while (s->members) {
		struct member *next = s->members->next;

		member_close(s->members);
		s->members = next;
	}
	service_wait_uninit(&s->wait);
	slow_ios_uninit(&s->slow);
	free(s->numbers);
	free(s->frames.f);
	free(s->watches);
	free(s);
}
