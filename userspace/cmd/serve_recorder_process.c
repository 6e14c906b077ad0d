// SPDX-License-Identifier: GPL-2.0-only
/* The process that records what the service serves, see cmd/serve.h. */
#include <errno.h>

#include "cmd/serve_recorder.h"
#include "util/cleanup.h"

struct process {
	struct archiver *hours;
	struct incidents *incidents;	/* NULL: none are kept */
	struct relayed *relayed;
};

static void process_end(struct process *s)
{
	relayed_free(s->relayed);
	incidents_free(s->incidents);
	archiver_free(s->hours);
}

/* An interval is judged before it is passed on for what that finds. */
static int take(void *process, u32 kind, struct wire_in *bytes)
{
	struct process *s = process;
	const struct wire_in message = *bytes;
	int err = relayed_take(s->relayed, kind, bytes);

	return err || !s->incidents ? err : incidents_take(s->incidents, kind, &message);
}

static int work(const void *of, int messages, int taken, int alive, struct problem *p)
{
	const struct serve_recorder_config *cfg = of;
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	struct relayed_config sinks = { .n_sinks = 1, .reopens = true };
	struct process CLEANUP(process_end) s = { 0 };
	int err = archiver_new(cfg, ARCHIVER_HOURS, &s.hours);

	(void)taken, (void)alive, (void)p;
	if (!err && cfg->n_keep_if)
		err = incidents_new(cfg, &s.incidents);
	if (err)
		return err;
	sinks.sinks[0] = archiver_source(s.hours);
	if (s.incidents)
		sinks.sinks[sinks.n_sinks++] = incidents_source(s.incidents);
	err = relayed_new(&sinks, &s.relayed);
	while (!err)
		err = channel_read(&reader, take, &s);
	return err;
}

static int confine_recorder(const void *cfg, pid_t parent, struct problem *p)
{
	return confine_to_folder(((const struct serve_recorder_config *)cfg)->folder, parent, p);
}

const struct serve_child recorder_process = {
	.name = "the recorder",
	.comm = "blklat-rec",
	.nice = 10,			/* recording gives way to that, */
	.confine = confine_recorder,
	.work = work,
};
