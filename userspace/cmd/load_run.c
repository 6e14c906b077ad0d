// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/load_run.h"

#include <errno.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "core/capture.h"
#include "core/info.h"
#include "live/loop.h"
#include "report/collect.h"
#include "util/cleanup.h"
#include "util/units.h"

/* A device that went away is in the run; there is nobody to tell meanwhile. */
static void ignore_gone(const struct device *d, bool replaced)
{
	(void)d, (void)replaced;
}

static void cleanup_capture(struct capture **c)
{
	if (*c)
		(*c)->ops->close(*c);
}

static void cleanup_sink(struct sink **s)
{
	if (*s)
		(*s)->ops->close(*s);
}

static int collect(struct capture *c, const char *file, const struct asked_window *asked, u64 max_bytes, struct run *into,
		   struct problem *p)
{
	u64 played = snapshot_run_bytes(c->n_watches, c->scale);
	const struct run_info info = run_info_of(c, 0);
	const struct loop_config loop = { .percentiles = &run_over_time };
	struct sink *sink CLEANUP(cleanup_sink) = NULL;

	if (collect_open(&info, asked, max_bytes > played ? max_bytes - played : 1, into, &sink))
		return problem_set(p, -ENOMEM, "out of memory");
	if (loop_run(c, sink, &loop, ignore_gone, p) != LOOP_FAILED)
		return 0;
	return !into->full ? -EIO : problem_set(p, -E2BIG, "%s: more than its first %u intervals of %u watches don't fit in the "
						"memory that they may take: raise --max-memory", file, into->n,
						into->n_watches);
}

/* Nothing lies where the user asked for it. */
static int nothing_there(const char *file, const struct run *r, struct problem *p)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], end[UNITS_TEXT];

	return problem_set(p, -EINVAL, "%s: no interval lies between %s and %s, as --from and --to ask: the run ends at %s", file,
			   r->asked.from ? units_seconds(from, r->asked.from_s) : "its start",
			   r->asked.to ? units_seconds(to, r->asked.to_s) : "its end", units_seconds(end, r->seen_s));
}

int load_run(const char *file, const struct window_words *window, u64 max_bytes, struct run *ret, struct problem *p)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file, .max_memory = max_bytes };
	struct capture *c CLEANUP(cleanup_capture) = NULL;
	struct asked_window asked;
	int err = capture_replay.open(&cfg, &c, p);

	if (!err)
		err = window_find(window, c->origin, &asked, p);
	if (!err)
		err = collect(c, file, &asked, max_bytes, ret, p);
	if (!err && !ret->n && ret->seen_s > 0)
		return nothing_there(file, ret, p);
	if (!err && !ret->n)
		err = problem_set(p, -ENODATA, "%s: has no interval", file);
	return err;
}

int load_status(int err)
{
	switch (err) {
	case -ENOENT:
	case -EACCES:
	case -EISDIR:
	case -EINVAL:
		return STATUS_USAGE;
	default:
		return STATUS_FAILED;
	}
}

int load_runs(const char *const *files, u32 n, const struct window_words *window, u64 max_bytes, struct runs *ret,
	      struct problem *p)
{
	u64 taken = 0;
	int err = 0;

	ret->r = calloc(n ? n : 1, sizeof(*ret->r));
	if (!ret->r)
		return problem_set(p, -ENOMEM, "out of memory");
	for (; !err && ret->n < n; ret->n++) {
		err = load_run(files[ret->n], window, taken < max_bytes ? max_bytes - taken : 1, &ret->r[ret->n], p);
		taken += run_bytes(&ret->r[ret->n]);
	}
	return err;
}

void runs_free(struct runs *runs)
{
	for (u32 i = 0; i < runs->n; i++)
		run_uninit(&runs->r[i]);
	free(runs->r);
	*runs = (struct runs){ 0 };
}
