// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/served_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/recorder.h"
#include "util/array.h"
#include "util/cleanup.h"

/* --- the file's run ----------------------------------------------------------------------------- */

void served_file_end(struct served_file *f)
{
	bool empty = f->sink && !recorder_intervals(f->sink);
	struct problem p;

	sink_close(TAKE(f->sink));
	if (empty)
		archive_delete(f->folder, f->name, &p);
	device_table_free(&f->devices);
	free(TAKE(f->watches));
	free(TAKE(f->served));
	free(TAKE(f->shown.f));
	free(TAKE(f->counts));
	f->n_gone = 0;
}

/* The place of @d in the table; one that went away meanwhile is added to it. */
static struct device *place_of(struct device_table *t, const struct device *d)
{
	for (u32 i = 0; i < t->n; i++)
		if (!memcmp(&t->d[i], d, offsetof(struct device, absent)))
			return &t->d[i];
	t->d[t->n] = *d;
	t->d[t->n].parent = t->n;
	t->d[t->n].n_lower = 0;
	return &t->d[t->n++];
}

static int make_run(struct served_file *f, const struct frames *fs)
{
	const struct run_info *given = f->given;
	u32 n = given->n_watches;
	int err = device_table_copy(&f->devices, given->devices) ?:
		  array_grow(&f->devices.d, sizeof(*f->devices.d), f->devices.n + n + 1);

	f->watches = calloc(n, sizeof(*f->watches));
	f->served = calloc(n, sizeof(*f->served));
	f->shown.f = calloc(n, sizeof(*f->shown.f));
	f->counts = calloc(n, sizeof(*f->counts));
	if (err || !f->watches || !f->served || !f->shown.f || !f->counts)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		bool same = i && given->watches[i].device == given->watches[i - 1].device;

		f->watches[i] = given->watches[i];
		f->watches[i].device = same ? f->watches[i - 1].device : place_of(&f->devices, given->watches[i].device);
	}
	f->origin = *f->described;
	f->origin.interval_s = given->interval_s;
	f->origin.idle_gap_ns = fs->idle_gap_ns;
	f->run = *given;
	f->run.watches = f->watches;
	f->run.most_watches = n;
	f->run.devices = &f->devices;
	f->run.origin = &f->origin;
	return 0;
}

/* The counts of the watch of this number at the end of the last interval; NULL: it was not there. */
static const struct watch_counts *last_of(const struct served_file *f, u32 number)
{
	for (u32 i = 0; i < f->n_last; i++)
		if (f->last_numbers[i] == number)
			return &f->last[i];
	return NULL;
}

/*
 * What is taken off the counts of @f from now on. Starts are taken off so that they agree with the IOs that had completed. The
 * kernel's count can only be compared from a moment on in which nothing moved.
 */
static void set_base(struct served_watch *base, const struct frame *f, const struct watch_counts *last)
{
	u64 completed = f->accounting.completed;

	base->number = f->number;
	if (f->watch->part)
		return;
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		completed -= f->ops[op].ios;
	if (last)
		memcpy(base->accounts, last->accounts, sizeof(base->accounts));
	base->started = completed + base->accounts[BLKLAT_REQUEUED] + base->accounts[BLKLAT_OVERWRITTEN];
	base->kernel_ios = last ? last->kernel_ios : 0;
	base->kernel_known = last ? last->kernel_known && accounting_still(last) : !completed;
}

int served_file_begin(struct served_file *f, const struct frames *fs, s64 begins_ns, struct problem *p)
{
	int err = make_run(f, fs) ? problem_set(p, -ENOMEM, "out of memory") : -EEXIST;
	s64 second_ns = begins_ns;

	/* A service that was restarted may have begun one in the same second, or the clock was set back. */
	for (u32 i = 0; err == -EEXIST && i < 60; i++, second_ns += NSEC_PER_SEC) {
		char *path CLEANUP(cleanup_free) = NULL;
		struct recorder_config cfg = { .lazy = true };

		archive_name(f->name, second_ns);
		if (asprintf(&path, "%s/%s", f->folder, f->name) < 0)
			return problem_set(p, -ENOMEM, "out of memory");
		cfg.file = path;
		err = recorder_open(&f->run, &cfg, &f->sink, p);
	}
	if (err)
		return err;
	f->begins_ns = begins_ns;
	f->skipped = f->last_skipped;
	for (u32 i = 0; i < fs->n; i++)
		set_base(&f->served[i], &fs->f[i], last_of(f, fs->f[i].number));
	return 0;
}

/* --- an interval -------------------------------------------------------------------------------- */

/* The file's watch with this number; they mostly come one after the other. Returns their number if there is none. */
static u32 find(const struct served_file *f, u32 number, u32 expected)
{
	u32 n = f->run.n_watches;

	for (u32 i = 0; i < n; i++)
		if (f->served[(expected + i) % n].number == number)
			return (expected + i) % n;
	return n;
}

static u64 less(u64 n, u64 base)
{
	return n > base ? n - base : 0;
}

static void rebase(struct watch_counts *w, const struct served_watch *base)
{
	w->started = less(w->started, base->started);
	w->started_after = less(w->started_after, base->started);
	for (u32 i = 0; i < BLKLAT_ACCOUNTS; i++)
		w->accounts[i] = less(w->accounts[i], base->accounts[i]);
	w->kernel_ios = less(w->kernel_ios, base->kernel_ios);
	w->kernel_known = w->kernel_known && base->kernel_known;
}

/* Makes the frames to be written, see fits. */
bool served_file_fits(struct served_file *f, const struct frames *fs)
{
	u32 at = UINT32_MAX;

	f->shown.n = 0;
	for (u32 i = 0; i < fs->n; i++) {
		struct frame *shown = &f->shown.f[i];

		at = find(f, fs->f[i].number, at + 1);
		/* All that have not gone have to be there, and no other. */
		if (at == f->run.n_watches || fs->n != f->run.n_watches - f->n_gone)
			return false;
		*shown = fs->f[i];
		shown->watch = &f->watches[at];
		shown->counts = &f->counts[i];
		f->watches[at].part = fs->f[i].watch->part;	/* by cgroup, it may have another owner */
		f->counts[i] = *fs->f[i].counts;
		rebase(&f->counts[i], &f->served[at]);
		f->shown.n++;
	}
	return true;
}

int served_file_write(struct served_file *f, const struct frames *fs, struct problem *p)
{
	const struct snapshot before = { 0 };
	struct snapshot now = *fs->now;
	int err;

	if (!served_file_fits(f, fs))
		return problem_set(p, -ENOMEM, "out of memory");
	now.skipped = less(now.skipped, f->skipped);
	f->shown.interval_s = fs->interval_s;
	f->shown.now = &now;
	f->shown.before = &before;
	f->shown.slow = fs->slow;
	err = f->sink->ops->interval(f->sink, &f->shown);
	if (err)
		recorder_problem(f->sink, p);
	f->n_gone = 0;
	for (u32 i = 0; i < f->shown.n; i++)
		f->served[f->shown.f[i].watch - f->watches].gone |= f->shown.f[i].gone;
	for (u32 i = 0; i < f->run.n_watches; i++)
		f->n_gone += f->served[i].gone;
	return err;
}

int served_file_remember(struct served_file *f, const struct frames *fs)
{
	if (array_grow(&f->last, sizeof(*f->last), fs->n + 1) ||
	    array_grow(&f->last_numbers, sizeof(*f->last_numbers), fs->n + 1))
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++) {
		f->last[i] = *fs->f[i].counts;
		f->last_numbers[i] = fs->f[i].number;
	}
	f->n_last = fs->n;
	f->last_skipped = fs->now->skipped;
	return 0;
}


void served_file_uninit(struct served_file *f)
{
	served_file_end(f);
	free(f->last);
	free(f->last_numbers);
}
