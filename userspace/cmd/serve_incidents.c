// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that records what the service serves, see cmd/serve.h. It has a recorder of the hours, and keeps the
 * minutes around an incident: messages wait for so long as is kept before one. When it begins they go, and those that
 * follow go at once, to a recorder of their own, through a link like that of the first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/serve_recorder.h"
#include "util/array.h"
#include "util/cleanup.h"

#define MINUTE_NS (60 * (s64)NSEC_PER_SEC)
#define BEFORE_NS (5 * MINUTE_NS)
#define AFTER_NS (5 * MINUTE_NS)	/* since a condition held last */
/* from its beginning on: what goes on for longer is no incident, but as it is now */
#define MOST_NS (30 * MINUTE_NS)

/* A condition that holds, or held lately, for a watch. */
struct holding {
	u32 number, condition;
	s64 last_ns;
};

struct incidents {
	const struct serve_recorder_config *cfg;
	struct recent waiting;
	struct archiver archiver;	/* of an incident */
	s64 now_ns;			/* CLOCK_REALTIME at the last interval's end */
	s64 begins_ns, until_ns;	/* of the incident; 0: there is none */
	struct holding *holding;
	u32 n_holding, room;
};

/* --- when there is one --------------------------------------------------------------------------- */

/* Notes that a condition holds. Returns 1 if it did not lately, 0, or -ENOMEM. */
static int note(struct incidents *k, u32 number, u32 condition)
{
	struct holding now = { number, condition, k->now_ns }, *free = NULL;

	for (struct holding *h = k->holding; h < k->holding + k->n_holding; h++) {
		bool lately = h->last_ns <= k->now_ns && k->now_ns - h->last_ns <= AFTER_NS;

		if (lately && h->number == number && h->condition == condition) {
			h->last_ns = k->now_ns;
			return 0;
		}
		free = lately ? free : h;
	}
	if (!free && array_more(&k->holding, sizeof(*k->holding), k->n_holding, &k->room))
		return -ENOMEM;
	*(free ?: &k->holding[k->n_holding++]) = now;
	return 1;
}

static void begin(struct incidents *k, const struct keep_if *c, const struct frame *f, const struct verdict *v)
{
	struct incident now = { .wall_ns = k->now_ns };
	const char *name = f->watch->device->name;
	char text[HEALTH_TEXT];

	if (c->sick) {
		problem_set(&now.why, 0, "%s is sick: %s", name, health_text(text, &f->health));
		snprintf(now.reason, sizeof(now.reason), "%s-%s", name, ailment_names[f->health.ailment]);
	} else {
		condition_explain(&c->condition, f->watch, v, &now.why);
		snprintf(now.reason, sizeof(now.reason), "%s-%.*s", name, (int)strcspn(c->condition.text, " \t<>"), c->condition.text);
	}
	k->begins_ns = k->now_ns;
	archiver_begin(&k->archiver, &now);
}

static void end(struct incidents *k)
{
	archiver_begin(&k->archiver, &(struct incident){ 0 });
	k->begins_ns = 0;
}

static int judge(struct incidents *k, const struct frame *f, u32 condition)
{
	const struct keep_if *c = &k->cfg->keep_if[condition];
	struct verdict v = { .holds = c->sick && health_grade(&f->health) == HEALTH_SICK };
	int err = c->sick ? 0 : condition_evaluate_frame(&c->condition, f, &v);
	int fresh = err || !v.holds ? err : note(k, f->number, condition);

	if (fresh < 0)
		return fresh;
	if (fresh && !k->begins_ns)
		begin(k, c, f, &v);
	if (v.holds && k->begins_ns)
		k->until_ns = min_u64(k->now_ns + AFTER_NS, k->begins_ns + MOST_NS);
	return 0;
}

static int judge_all(struct incidents *k, const struct frames *fs)
{
	int err = 0;

	k->now_ns = fs->now->wall_ns;
	if (k->begins_ns && (k->now_ns > k->until_ns || k->now_ns < k->begins_ns || k->archiver.full))
		end(k);
	for (u32 i = 0; !err && i < fs->n; i++)
		for (u32 n = 0; !err && !fs->f[i].watch->part && n < k->cfg->n_keep_if; n++)
			err = judge(k, &fs->f[i], n);
	return err;
}

/* --- what goes into its file --------------------------------------------------------------------- */

/* Passes on a message that was judged already. Returns 0 or an error as archiver_take() does. */
static int incidents_take(struct incidents *k, u32 kind, const struct wire_in *bytes)
{
	int err = recent_add(&k->waiting, kind, bytes, k->now_ns);

	if (err)
		return err;
	recent_trim(&k->waiting, k->now_ns - BEFORE_NS);
	if (!k->begins_ns)
		return 0;
	err = archiver_play(&k->archiver, &k->waiting);
	recent_clear(&k->waiting);
	return err;
}

/* --- the process --------------------------------------------------------------------------------- */

struct process {
	struct archiver hours;
	struct incidents incidents;
};

static void process_end(struct process *s)
{
	archiver_uninit(&s->incidents.archiver);
	recent_clear(&s->incidents.waiting);
	free(s->incidents.holding);
	archiver_uninit(&s->hours);
}

/* An interval is judged before it is passed on for what that finds. */
static int take(void *process, u32 kind, struct wire_in *bytes)
{
	struct process *s = process;
	const struct wire_in message = *bytes;
	int err = archiver_take(&s->hours, kind, bytes);

	if (err || !s->incidents.cfg->n_keep_if)
		return err;
	if (kind == RELAY_INTERVAL)
		err = judge_all(&s->incidents, &s->hours.relayed.frames);
	return err ?: incidents_take(&s->incidents, kind, &message);
}

static int work(const struct serve *of, pid_t parent, int messages, int taken, int alive, struct problem *p)
{
	const struct serve_options *o = of->o;
	const struct serve_recorder_config cfg = {
		.who = of->who, .folder = o->record, .keep_ns = o->keep_s * NSEC_PER_SEC, .max_bytes = o->keep_bytes,
		.keep_if = o->keep_if, .n_keep_if = o->n_keep_if, .state = of->recording, .origin = &of->origin,
	};
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	struct process CLEANUP(process_end) s = { .incidents.cfg = &cfg };
	int err = confine_to_folder(cfg.folder, parent, p);

	(void)taken, (void)alive;
	setpriority(PRIO_PROCESS, 0, 10);	/* recording gives way to serving */
	archiver_init(&s.hours, &cfg, ARCHIVER_HOURS);
	archiver_init(&s.incidents.archiver, &cfg, ARCHIVER_INCIDENTS);
	while (!err)
		err = channel_read(&reader, take, &s);
	return err;
}

const struct serve_child recorder_process = {
	.name = "the recorder",
	.comm = "blklat-rec",
	.work = work,
};
