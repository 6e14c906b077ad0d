// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/load_run.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "cmd/cmd.h"
#include "run/info.h"
#include "run/loop.h"
#include "sink/collect.h"
#include "util/cleanup.h"

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

static int collect(struct capture *c, struct run *into, struct problem *p)
{
	const struct run_info info = run_info_of(c, 0);
	const struct loop_config loop = { .percentiles = &run_over_time };
	struct sink *sink CLEANUP(cleanup_sink) = NULL;

	if (collect_open(&info, into, &sink))
		return problem_set(p, -ENOMEM, "out of memory");
	return loop_run(c, sink, &loop, ignore_gone, p) == LOOP_FAILED ? -EIO : 0;
}

int load_run(const char *file, struct run *ret, struct problem *p)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file };
	struct capture *c CLEANUP(cleanup_capture) = NULL;
	int err = capture_replay.open(&cfg, &c, p);

	if (!err)
		err = collect(c, ret, p);
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

int load_runs(const char *const *files, u32 n, struct runs *ret, struct problem *p)
{
	int err = 0;

	ret->r = calloc(n ? n : 1, sizeof(*ret->r));
	if (!ret->r)
		return problem_set(p, -ENOMEM, "out of memory");
	for (; !err && ret->n < n; ret->n++)
		err = load_run(files[ret->n], &ret->r[ret->n], p);
	return err;
}

void runs_free(struct runs *runs)
{
	for (u32 i = 0; i < runs->n; i++)
		run_uninit(&runs->r[i]);
	free(runs->r);
	*runs = (struct runs){ 0 };
}
