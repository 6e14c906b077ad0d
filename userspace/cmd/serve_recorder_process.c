// SPDX-License-Identifier: GPL-2.0-only
/* The process that records what the service serves, see cmd/serve.h. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/serve_recorder.h"
#include "util/cleanup.h"

#define NICE 10			/* recording gives way to serving */

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

static void on_stopped(void *into, const char *why)
{
	(void)into, (void)why;
}

/* An interval is judged before it is passed on for what that finds. */
static int take(void *process, u32 kind, struct wire_in *bytes)
{
	struct process *s = process;
	const struct wire_in message = *bytes;
	int err = relayed_take(s->relayed, kind, bytes);

	return err || !s->incidents ? err : incidents_take(s->incidents, kind, &message);
}

static int take_all(const struct serve_recorder_config *cfg, int messages)
{
	struct channel_reader CLEANUP(channel_reader_uninit) reader = { .fd = messages };
	struct relayed_config sinks = { .n_sinks = 1, .reopens = true, .stopped = on_stopped };
	struct process CLEANUP(process_end) s = { 0 };
	int err = archiver_new(cfg, ARCHIVER_HOURS, &s.hours);

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
	return err == -EPIPE ? 0 : err;
}

int recorder_process(const void *of, pid_t parent, int messages, int taken, int alive)
{
	const struct serve_recorder_config *cfg = of;
	struct problem p;
	int err = confine_to_folder(cfg->folder, parent, &p);

	(void)taken, (void)alive;
	if (err)
		return command_fail(cfg->who, STATUS_FAILED, &p);
	setpriority(PRIO_PROCESS, 0, NICE);
	err = take_all(cfg, messages);
	if (!err)
		return STATUS_DONE;
	problem_set(&p, err, "the recorder failed: %s", strerror(-err));
	return command_fail(cfg->who, STATUS_FAILED, &p);
}
