/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings made from scripts (tests/script.py) the way a run makes them, for the tests of their writer and reader. */
#ifndef TEST_RECORDING_RUN_H
#define TEST_RECORDING_RUN_H

#include "unit.h"

#include <unistd.h>

#include <errno.h>

#include "core/capture.h"
#include "live/loop.h"
#include "recording/recorder.h"
#include "util/cleanup.h"

/* A directory of its own, in memory where possible; it is removed with all its contents. */
struct place {
	char dir[64];
	char script[96], source[96], file[96];
};

static inline void place_make(struct place *at)
{
	strcpy(at->dir, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	strcat(at->dir, "/blklat-recording-XXXXXX");
	assert_non_null(mkdtemp(at->dir));
	snprintf(at->script, sizeof(at->script), "%s/script", at->dir);
	snprintf(at->source, sizeof(at->source), "%s/source.blklat", at->dir);
	snprintf(at->file, sizeof(at->file), "%s/run.blklat", at->dir);
}

static inline void place_remove(struct place *at)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", at->dir);
	assert_int_equal(system(command), 0);
}

static inline void place_script(struct place *at, const char *text)
{
	FILE *f = fopen(at->script, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline struct capture *replay(const char *file, int scale)
{
	const struct capture_config cfg = { .scale = scale, .replay_file = file };
	struct capture *c = NULL;
	struct problem p;

	if (capture_replay.open(&cfg, &c, &p))
		fail_msg("%s", p.text);
	return c;
}

/* What a sink is told about a run of @c. */
static inline struct run_info recording_info(const struct capture *c, const struct origin *o)
{
	return (struct run_info){
		.version = "1.2.3", .engine = c->engine, .watches = c->watches, .n_watches = c->n_watches,
		.devices = c->devices, .origin = o, .cpus = c->cpus, .scale = c->scale,
		.memory_bytes = c->memory_bytes, .interval_s = 1, .percentiles = percentiles_default,
	};
}

static struct origin recording_origin = {
	.label = "a label", .host = "a-host", .kernel = "6.1.0-test", .version = "1.2.3",
	.command = "blklat record --dev 'a b'", .interval_s = 1, .idle_gap_ns = 100000000,
};

static inline void recording_nobody(const struct device *d, bool replaced)
{
	(void)d, (void)replaced;
}

/* Makes @at's source, a recording of @script. */
static inline void place_source(struct place *at, const char *script)
{
	char command[256];

	snprintf(command, sizeof(command), "python3 tests/script.py %s %s", script, at->source);
	assert_int_equal(system(command), 0);
}

/* Records a replay of @at's source into its file. */
static inline void recording_of_source(struct place *at, int scale, u64 max_bytes)
{
	struct capture *c = replay(at->source, scale);
	struct origin origin = recording_origin;
	const struct run_info info = recording_info(c, &origin);
	const struct recorder_config cfg = { .file = at->file, .max_bytes = max_bytes };
	const struct loop_config loop = { .interval_s = 1, .percentiles = &info.percentiles };
	struct sink *s = NULL;
	struct problem p = { "" };
	enum loop_end end;

	origin.idle_gap_ns = c->origin->idle_gap_ns;
	if (recorder_open(&info, &cfg, &s, &p))
		fail_msg("%s", p.text);
	signals_block();
	end = loop_run(c, s, &loop, recording_nobody, &p);
	recorder_problem(s, &p);
	if (end != LOOP_DONE && end != LOOP_GONE)
		fail_msg("%s", p.text);
	s->ops->close(s);
	c->ops->close(c);
}

static inline void recording_of(struct place *at, const char *script, int scale, u64 max_bytes)
{
	place_source(at, script);
	recording_of_source(at, scale, max_bytes);
}

#endif
