// SPDX-License-Identifier: GPL-2.0-only
/* blklat live: watch devices, print each interval. */
#include <errno.h>
#include <langinfo.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/terminal.h"
#include "cmd/watches.h"
#include "run/loop.h"
#include "util/cleanup.h"
#include "util/parse.h"

struct live {
	struct wanted wanted;
	double interval_s;
	double duration_s;
	u64 count;
	struct percentiles percentiles;
	const struct sink_ops *format;
	const struct capture_ops *engine;	/* NULL: auto */
	bool bins;
	int scale;
	u64 max_memory;
	u64 max_bios;
	const char *replay;
};

enum {
	KEY_DURATION = OPTIONS_LONG,
	KEY_BINS,
	KEY_ENGINE,
	KEY_SCALE,
	KEY_MAX_MEMORY,
	KEY_MAX_BIOS,
	KEY_REPLAY,
};

static const struct argp_option option_list[] = {
	{ "dev", 'd', "DEV", 0, "Device to watch: a name (nvme0n1, sda1, dm-0), a path, a mapper name, a "
	  "pattern ('nvme*n1') or 'all'; may be given several times", 0 },
	{ "interval", 'i', "S", 0, "Seconds between two outputs (default 1)", 0 },
	{ "count", 'c', "N", 0, "End after N intervals", 0 },
	{ "duration", KEY_DURATION, "S", 0, "End after S seconds", 0 },
	{ "stage", 's', "LIST", 0, "Sections of an IO's life: device (issue to completion), queue (waiting in "
	  "the scheduler), total (from the bio); default device, or total where there are no requests", 0 },
	{ "percentiles", 'p', "LIST", 0, "Percentiles to print (default 50,90,99,99.9,99.99)", 0 },
	{ "format", 'f', "FORMAT", 0, "text (default), json or csv", 0 },
	{ "bins", KEY_BINS, NULL, 0, "json, csv: every bin of the histogram too", 0 },
	{ "engine", KEY_ENGINE, "ENGINE", 0, "auto (default: bpf, else kmod), bpf or kmod (the kernel "
	  "module)", 0 },
	{ "scale", KEY_SCALE, "N", 0, "Bins an octave: 2^N, N 0 to 6, or auto (default): the finest that fits",
	  0 },
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0, "Most that the counters may take (default 64M or 0.1 % of the "
	  "machine's memory, the larger)", 0 },
	{ "max-bios", KEY_MAX_BIOS, "N", 0, "Stage total: room for N bios in flight (default 65536)", 0 },
	{ "replay", KEY_REPLAY, "FILE", 0, "Replay a script instead of watching", 0 },
	{ 0 },
};

static int take_format(struct live *l, const char *value, struct problem *p)
{
	const char *names[8];
	u32 n = 0, chosen;
	int err;

	for (; sink_formats[n]; n++)
		names[n] = sink_formats[n]->name;
	err = parse_name("--format", value, names, n, &chosen, p);
	if (!err)
		l->format = sink_formats[chosen];
	return err;
}

static int take_engine(struct live *l, const char *value, struct problem *p)
{
	const char *names[8] = { "auto" };
	u32 n = 0, chosen;
	int err;

	for (; capture_engines[n]; n++)
		names[n + 1] = capture_engines[n]->name;
	err = parse_name("--engine", value, names, n + 1, &chosen, p);
	if (!err)
		l->engine = chosen ? capture_engines[chosen - 1] : NULL;
	return err;
}

static int take_percentiles(struct live *l, const char *value, struct problem *p)
{
	const char *bad;
	int len;

	if (!percentiles_parse(value, &l->percentiles, &bad, &len))
		return 0;
	return problem_set(p, -EINVAL, "--percentiles '%s': '%.*s' is no percentile: give numbers above 0 and up "
			   "to 100, like 50,99,99.9 (at most %d)", value, len, bad, PERCENTILES_MAX);
}

static int take(int key, const char *value, void *into, struct problem *p)
{
	struct live *l = into;

	switch (key) {
	case 'd':
	case ARGP_KEY_ARG:
		l->wanted.devices[l->wanted.n++] = value;
		return 0;
	case 'i':
		return parse_seconds("--interval", value, &l->interval_s, p);
	case 'c':
		return parse_count("--count", value, &l->count, p);
	case KEY_DURATION:
		return parse_seconds("--duration", value, &l->duration_s, p);
	case 's':
		return parse_names("--stage", value, stage_names, BLKLAT_STAGES, &l->wanted.stages, p);
	case 'p':
		return take_percentiles(l, value, p);
	case 'f':
		return take_format(l, value, p);
	case KEY_BINS:
		l->bins = true;
		return 0;
	case KEY_ENGINE:
		return take_engine(l, value, p);
	case KEY_SCALE:
		return parse_scale("--scale", value, BLKLAT_SCALE_MAX, &l->scale, p);
	case KEY_MAX_MEMORY:
		return parse_size("--max-memory", value, &l->max_memory, p);
	case KEY_MAX_BIOS:
		return parse_count("--max-bios", value, &l->max_bios, p);
	default:
		l->replay = value;
		return 0;
	}
}

static const struct options options = {
	.about = "Shows the latency of every IO of block devices, each interval."
		 "\v"
		 "'blklat list' shows the devices, 'blklat check' whether this machine allows it. Ctrl-C ends it "
		 "with a summary. Exit status: 0 done, 1 it failed while running, 2 the command line is wrong.",
	.arguments = "[DEV...]",
	.list = option_list,
	.take = take,
};

static int check(const struct live *l, struct problem *p)
{
	if (!l->wanted.n && !l->replay)
		return problem_set(p, -EINVAL, "no device given: say which with --dev ('blklat list' shows them)");
	if (l->wanted.n && l->replay)
		return problem_set(p, -EINVAL, "--replay has its own devices: leave --dev out");
	if (l->max_bios > 16 << 20)
		return problem_set(p, -EINVAL, "--max-bios '%llu': must be at most %d", l->max_bios, 16 << 20);
	return 0;
}

/* The first engine that can run, or the one asked for. Says so once if it is not the one preferred. */
static int choose_engine(const struct live *l, const struct capture_ops **ret, struct problem *p)
{
	struct problem first;
	int err = 0;

	if (l->engine) {
		*ret = l->engine;
		return l->engine->probe(p);
	}
	for (u32 i = 0; capture_engines[i]; i++) {
		int failed = capture_engines[i]->probe(&first);

		if (!failed) {
			*ret = capture_engines[i];
			if (i)
				fprintf(stderr, "blklat: engine %s is used, since %s cannot be: %s\n",
					capture_engines[i]->name, capture_engines[0]->name, p->text);
			return 0;
		}
		if (!err) {
			err = failed;
			*p = first;
		}
	}
	return err;
}

/* Which failures to begin are the command line's; a replay's are all: its file is at fault. */
static int status_of(const struct capture_ops *engine, int err)
{
	bool usage = err == -EPERM || err == -E2BIG || err == -EINVAL || err == -EOPNOTSUPP ||
		     engine == &capture_replay;

	return usage && err != -ENOMEM ? STATUS_USAGE : STATUS_FAILED;
}

static void print_gone(const struct device *d)
{
	fprintf(stderr, "blklat: %s went away\n", d->name);
}

static int end_status(enum loop_end end, const char *who, struct problem *p)
{
	switch (end) {
	case LOOP_GONE:
		problem_set(p, 0, "no watched device is left");
		return command_fail(who, STATUS_FAILED, p);
	case LOOP_FAILED:
		return command_fail(who, STATUS_FAILED, p);
	default:
		return STATUS_DONE;
	}
}

/* Whoever has a terminal and did not say NO_COLOR (no-color.org). */
static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static int show(const struct live *l, struct capture *c, const char *who)
{
	const struct run_info info = {
		.version = BLKLAT_VERSION,
		.engine = c->engine,
		.watches = c->watches,
		.n_watches = c->n_watches,
		.devices = c->devices,
		.origin = c->origin,
		.cpus = c->cpus,
		.scale = c->scale,
		.memory_bytes = c->memory_bytes,
		.interval_s = l->interval_s,
		.percentiles = l->percentiles,
	};
	const struct sink_config cfg = {
		.out = stdout,
		.bins = l->bins,
		.colour = wants_colour(),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.columns = terminal_columns(),
	};
	const struct loop_config loop = {
		.interval_s = l->interval_s,
		.count = l->count,
		.duration_s = l->duration_s,
		.percentiles = &l->percentiles,
	};
	struct problem p = { "" };
	struct sink *sink = NULL;
	enum loop_end end;
	int err = l->format->open(&info, &cfg, &sink);

	if (err) {
		problem_set(&p, err, "could not write the output: %s", strerror(-err));
		return command_fail(who, STATUS_FAILED, &p);
	}
	end = loop_run(c, sink, &loop, print_gone, &p);
	l->format->close(sink);
	return end_status(end, who, &p);
}

static int capture_and_show(const struct live *l, const struct capture_ops *engine,
			    const struct capture_config *cfg, const char *who)
{
	struct capture *c = NULL;
	struct problem p;
	int err, status;

	loop_signals_block();
	err = engine->open(cfg, &c, &p);
	if (err)
		return command_fail(who, status_of(engine, err), &p);
	/* Loading read the kernel's type information; that memory is not needed again. */
	malloc_trim(0);
	status = show(l, c, who);
	engine->close(c);
	return status;
}

static int watch(const struct live *l, const char *who)
{
	CLEANUP(watches_free) struct watches watches = { 0 };
	CLEANUP(device_table_free) struct device_table devices = { 0 };
	struct capture_config cfg = {
		.devices = &devices,
		.scale = l->scale,
		.max_memory = l->max_memory,
		.max_bios = l->max_bios,
	};
	const struct capture_ops *engine = NULL;
	struct problem p;
	int err;

	if (device_table_read(&devices, "", &p))
		return command_fail(who, STATUS_FAILED, &p);
	if (watches_make(&devices, &l->wanted, &watches, &p))
		return command_fail(who, STATUS_USAGE, &p);
	err = choose_engine(l, &engine, &p);
	if (err)
		return command_fail(who, l->engine ? STATUS_USAGE : status_of(engine, err), &p);
	cfg.watches = watches.w;
	cfg.n_watches = watches.n;
	return capture_and_show(l, engine, &cfg, who);
}

static int run(int argc, char **argv)
{
	const char **names CLEANUP(cleanup_free) = calloc(argc, sizeof(*names));
	struct live l = {
		.wanted.devices = names,
		.interval_s = 1,
		.percentiles = percentiles_default,
		.format = sink_formats[0],
		.scale = -1,
		.max_bios = CAPTURE_MAX_BIOS,
	};
	const struct capture_config replay = { .scale = -1 };
	struct problem p;
	int status;

	if (!names)
		return STATUS_FAILED;
	status = options_parse(&options, argc, argv, &l);
	if (status >= 0)
		return status;
	if (check(&l, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	if (l.replay) {
		struct capture_config cfg = replay;

		cfg.scale = l.scale;
		cfg.replay_file = l.replay;
		return capture_and_show(&l, &capture_replay, &cfg, argv[0]);
	}
	return watch(&l, argv[0]);
}

const struct command command_live = {
	.name = "live",
	.about = "watch devices and print each interval (the default)",
	.run = run,
};
