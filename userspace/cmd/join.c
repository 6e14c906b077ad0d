// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/run.h"
#include "util/array.h"
#include "util/cleanup.h"

/* the clocks of a boot differ by less, however they are set meanwhile */
#define SAME_BOOT_NS (60 * (s64)NSEC_PER_SEC)

struct join_part {
	struct monitor_config cfg;
	struct monitor m;
	struct run_info info;
	u32 *numbers;			/* [its watch] the watch of the run */
	s64 shift_ns;			/* from its CLOCK_MONOTONIC to the run's */
};

/* The run itself shows that a device went away; nobody needs to be told now. */
static void ignore_gone(void *into, const struct device *d, bool replaced)
{
	(void)into, (void)d, (void)replaced;
}

static int open_part(struct join *j, const char *file, struct budget *b, struct problem *p)
{
	struct join_part *part = &j->part[j->n++];
	int err;

	part->cfg = (struct monitor_config){
		.engine = &capture_replay,
		.capture = {
			.scale = -1, .replay_file = file, .replay_bytes = j->given, .replay_len = j->given_len, .budget = b,
		},
		.hooks.gone = ignore_gone,
	};
	err = monitor_open(&part->m, &part->cfg, p);
	if (err)
		return err;
	part->info = monitor_run_info(&part->m, 0);
	if (part->info.scale != j->part[0].info.scale)
		return problem_set(p, -EINVAL, "%s: has bins of another width (--scale) than %s, so they are no one run: choose a part of the "
				   "time with --from and --to", file, j->part[0].cfg.capture.replay_file);
	return 0;
}

/* --- what the parts have together ---------------------------------------------------------------- */

/*
 * The device of this name in the table, which has room for another one: that has gone since, so nothing is known of
 * what it lies on.
 */
static struct device *place_of(struct device_table *t, const struct device *d)
{
	struct device *new = &t->d[t->n];

	for (u32 i = 0; i < t->n; i++)
		if (!strcmp(t->d[i].name, d->name))
			return &t->d[i];
	*new = *d;
	new->parent = t->n++;
	new->n_lower = 0;
	return new;
}

static bool same_whole(const struct watch *a, const struct watch *b)
{
	return a->stage == b->stage && !strcmp(a->device->name, b->device->name);
}

/* The place of @w among the run's watches, where it is probably @expected; their number if it is not there. */
static u32 find_watch(const struct join *j, const struct watch *w, u32 expected)
{
	u32 n = j->info.n_watches;

	for (u32 i = 0; i < n; i++) {
		const struct watch *other = &j->watches[(expected + i) % n];

		if (other->part == w->part && same_whole(other, w))
			return (expected + i) % n;
	}
	return n;
}

static void add_watch(struct join *j, const struct watch *w)
{
	struct watch *added = &j->watches[j->info.n_watches++];

	*added = *w;
	added->device = place_of(&j->devices, w->device);
}

/* Adds a whole that is not there yet, with the parts that it has in any of the recordings. */
static void add_group(struct join *j, const struct watch *whole)
{
	if (find_watch(j, whole, 0) < j->info.n_watches)
		return;
	add_watch(j, whole);
	for (u32 n = 0; n < j->n; n++) {
		const struct run_info *info = &j->part[n].info;
		bool inside = false;

		for (u32 i = 0; i < info->n_watches; i++) {
			const struct watch *w = &info->watches[i];

			inside = w->part ? inside : same_whole(w, whole);
			if (inside && find_watch(j, w, j->info.n_watches) == j->info.n_watches)
				add_watch(j, w);
		}
	}
}

/* All parts of a whole have to divide it in the same way: else their sums would not be the whole. */
static bool divided_alike(const struct join *j)
{
	for (u32 i = 1; i < j->info.n_watches; i++) {
		const struct part *one = j->watches[i - 1].part, *next = j->watches[i].part;

		if (one && next && strcmp(one->by, next->by))
			return false;
	}
	return true;
}

static int number_watches(struct join *j, struct join_part *part)
{
	u32 at = UINT32_MAX;

	part->numbers = calloc(part->info.n_watches + 1, sizeof(*part->numbers));
	for (u32 i = 0; part->numbers && i < part->info.n_watches; i++)
		part->numbers[i] = at = find_watch(j, &part->info.watches[i], at + 1);
	return part->numbers ? 0 : -ENOMEM;
}

static int join_watches(struct join *j)
{
	u32 watches = 0;
	int err;

	for (u32 n = 0; n < j->n; n++)
		watches += j->part[n].info.n_watches;
	err = device_table_copy(&j->devices, j->part[j->n - 1].info.devices) ?:
	      array_grow(&j->devices.d, sizeof(*j->devices.d), j->devices.n + watches + 1);
	j->watches = calloc(watches + 1, sizeof(*j->watches));
	if (err || !j->watches)
		return -ENOMEM;
	j->info.n_watches = 0;
	for (u32 n = 0; n < j->n; n++)
		for (u32 i = 0; i < j->part[n].info.n_watches; i++)
			if (!j->part[n].info.watches[i].part)
				add_group(j, &j->part[n].info.watches[i]);
	for (u32 n = 0; !err && n < j->n; n++)
		err = number_watches(j, &j->part[n]);
	return err;
}

/* A part of the same boot goes on by the same clock; else the clock on the wall tells where it begins. */
static void find_shifts(struct join *j)
{
	const struct origin *first = j->part[0].info.origin;

	for (u32 n = 1; n < j->n; n++) {
		const struct origin *was = j->part[n - 1].info.origin, *o = j->part[n].info.origin;
		s64 wall_ns = o->start_wall_ns - was->start_wall_ns, mono_ns = o->start_mono_ns - was->start_mono_ns;
		bool same = mono_ns > 0 && wall_ns - mono_ns < SAME_BOOT_NS && mono_ns - wall_ns < SAME_BOOT_NS;

		j->part[n].shift_ns = same ? j->part[n - 1].shift_ns
					   : (o->start_wall_ns - first->start_wall_ns) -
						      (s64)(o->start_mono_ns - first->start_mono_ns);
	}
}

static int join_marks(struct join *j)
{
	u32 n = 0;

	for (u32 i = 0; i < j->n; i++)
		n += j->part[i].info.origin->n_marks;
	j->origin.n_marks = 0;
	j->origin.marks = calloc(n + 1, sizeof(*j->origin.marks));
	if (!j->origin.marks)
		return -ENOMEM;
	for (u32 i = 0; i < j->n; i++) {
		const struct origin *o = j->part[i].info.origin;

		for (u32 k = 0; k < o->n_marks; k++) {
			struct mark *mark = &j->origin.marks[j->origin.n_marks++];

			*mark = o->marks[k];
			mark->mono_ns += j->part[i].shift_ns;
		}
	}
	return 0;
}

static int make_room(struct join *j)
{
	u32 n = j->info.n_watches + 1;

	for (u32 i = 0; i < j->n; i++) {
		j->info.slow_most = max_u64(j->info.slow_most, j->part[i].info.slow_most);
		j->info.cpus = max_u64(j->info.cpus, j->part[i].info.cpus);
		j->info.glanced &= j->part[i].info.glanced;
	}
	j->shown.f = calloc(n, sizeof(*j->shown.f));
	j->counts = calloc(n, sizeof(*j->counts));
	j->before = calloc(n, sizeof(*j->before));
	j->last = calloc(n, sizeof(*j->last));
	if (!j->shown.f || !j->counts || !j->before || !j->last)
		return -ENOMEM;
	return 0;
}

int join_open(struct join *j, const char *const *files, u32 n, const char *name, struct budget *b,
	      struct problem *p)
{
	int err = 0;

	j->part = calloc(n, sizeof(*j->part));
	if (!j->part)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; !err && i < n; i++) {
		err = open_part(j, files[i], b, p);
		/* The recorder was killed, or lost its power, as it began this one. */
		if (err == -ENODATA) {
			monitor_close(&j->part[--j->n].m);
			err = 0;
		}
	}
	if (err || !j->n)
		return err ?: -ENODATA;
	n = j->n;
	j->info = j->part[0].info;
	j->origin = *j->info.origin;
	j->origin.marks = NULL;
	j->origin.file = (char *)name;
	j->origin.finished = j->part[n - 1].info.origin->finished;
	find_shifts(j);
	if (join_marks(j) || (n > 1 && (join_watches(j) || make_room(j))))
		return problem_set(p, -ENOMEM, "out of memory");
	j->info.origin = &j->origin;
	if (n == 1)
		return 0;
	j->info.watches = j->watches;
	j->info.most_watches = j->info.n_watches;
	j->info.devices = &j->devices;
	return divided_alike(j) ? 0 : problem_set(p, -EINVAL, "%s: its recordings are divided in different ways (--by), so they are no one run: "
						  "choose a part of the time with --from and --to", name);
}

void join_close(struct join *j)
{
	for (u32 i = 0; i < j->n; i++) {
		monitor_close(&j->part[i].m);
		free(j->part[i].numbers);
	}
	free(j->part);
	free(j->origin.marks);
	device_table_free(&j->devices);
	free(j->watches);
	free(j->shown.f);
	free(j->counts);
	free(j->before);
	free(j->last);
}

/* --- playing ------------------------------------------------------------------------------------ */

/* Adds what was counted in the recordings before. */
static void add_accounts(struct accounting *a, const struct accounting *before)
{
	a->started += before->started;
	a->completed += before->completed;
	a->lost += before->lost;
	for (u32 i = 0; i < LOST_REASONS; i++)
		a->lost_by[i] += before->lost_by[i];
	a->requeued += before->requeued;
	a->before += before->before;
	a->unissued += before->unissued;
	a->kernel_known &= !before->started || before->kernel_known;
	a->kernel_ios += before->kernel_ios;
	a->kernel_leaves_out += before->kernel_leaves_out;
}

static void show(struct join *j, const struct join_part *part, const struct frame *from, u32 i)
{
	u32 at = part->numbers[from->watch - part->m.all];
	struct frame *f = &j->shown.f[i];
	struct watch_counts *counts = &j->counts[i];

	*f = *from;
	f->watch = &j->watches[at];
	f->part = part_number(f->watch->part);
	if (!f->watch->part) {
		add_accounts(&f->accounting, &j->before[at]);
		f->accounting.skipped = j->now.skipped;
		f->accounting.skipped_unexplained = j->shown.skipped_unexplained;
	}
	j->last[at] = f->accounting;
	*counts = *from->counts;
	for (u32 n = 0; n < counts->n_halts; n++) {
		counts->halts[n].from_ns += part->shift_ns;
		counts->halts[n].to_ns += part->shift_ns;
	}
	f->counts = counts;
}

static int join_interval(struct sink *s, const struct frames *fs)
{
	struct join *j = (struct join *)((char *)s - offsetof(struct join, sink));
	const struct join_part *part = &j->part[j->at];
	struct frame *room = j->shown.f;

	j->now = *fs->now;
	j->now.mono_ns += part->shift_ns;
	j->now.skipped += j->skipped_before;
	j->shown = *fs;
	j->shown.f = room;
	j->shown.now = &j->now;
	j->shown.skipped_unexplained += j->unexplained_before;
	for (u32 i = 0; i < fs->n; i++)
		show(j, part, &fs->f[i], i);
	return j->to->ops->interval(j->to, &j->shown);
}

/* A recording has ended. What was in flight there counts as started in the next one, too. */
static int join_summary(struct sink *s, const struct frames *run)
{
	struct join *j = (struct join *)((char *)s - offsetof(struct join, sink));

	(void)run;
	for (u32 i = 0; i < j->info.n_watches; i++) {
		j->before[i] = j->last[i];
		j->before[i].started -= j->last[i].in_flight;
	}
	j->skipped_before = j->now.skipped;
	j->unexplained_before = j->shown.skipped_unexplained;
	return 0;
}

static const struct sink_ops join_sink = { .interval = join_interval, .summary = join_summary };

enum loop_end join_play(struct join *j, struct sink *sink, struct problem *p)
{
	const struct loop_config loop = { .percentiles = &run_over_time };
	enum loop_end end = LOOP_DONE;
	int err;

	j->sink.ops = &join_sink;
	j->to = sink;
	for (j->at = 0; end != LOOP_FAILED && j->at < j->n; j->at++)
		end = loop_run(&j->part[j->at].m, &j->part[j->at].info, j->n > 1 ? &j->sink : sink, &loop, p);
	if (end == LOOP_FAILED || j->n == 1)
		return end;
	err = sink->ops->summary(sink, NULL);
	if (!err)
		return end;
	problem_set(p, err, "out of memory");
	return LOOP_FAILED;
}
