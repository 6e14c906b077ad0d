// SPDX-License-Identifier: GPL-2.0-only
/* blklat serve: watches devices as a service, for Prometheus and browsers. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/run_capture.h"
#include "cmd/serve.h"
#include "service/prometheus.h"
#include "util/cleanup.h"
#include "util/parse.h"

#define LISTEN "127.0.0.1:9834"
#define HISTORY_S 300

/* To the whole of the options. */
static int take_address(void *to, const char *value, struct problem *p)
{
	struct serve_options *o = to;

	o->unheard = !strcmp(value, "none");
	return o->unheard ? 0 : address_parse("--listen", value, &o->address, p);
}

static int take_schema(void *to, const char *value, struct problem *p)
{
	return parse_level("--prom-schema", value, BLKLAT_SCALE_MAX, to, p);
}

/* "--record --listen ..." has no folder, and would record in one of that name. */
static int take_folder(void *to, const char *value, struct problem *p)
{
	if (*value == '-')
		return problem_set(p, -EINVAL, "--record needs a folder, and '%s' is an option: name the folder before it", value);
	*(const char **)to = value;
	return 0;
}

static int take_age(void *to, const char *value, struct problem *p)
{
	return parse_age("--keep", value, to, p);
}

/* To the whole of the options. */
static int take_keep_if(void *to, const char *value, struct problem *p)
{
	struct serve_options *o = to;
	struct keep_if *k = &o->keep_if[o->n_keep_if];
	int err;

	if (o->n_keep_if == KEEP_IF_MAX)
		return problem_set(p, -EINVAL, "--keep-if can be given %d times", KEEP_IF_MAX);
	k->sick = !strcmp(value, "sick");
	err = k->sick ? 0 : condition_parse("--keep-if", value, &k->condition, p);
	if (!err && !k->sick && (condition_needs_baseline(&k->condition) || k->condition.phase[0]))
		err = problem_set(p, -EINVAL, "--keep-if '%s': is about an interval, which has no %s: give a limit, as in 'read.p99 > 20ms'",
				  value, k->condition.phase[0] ? "phases" : "baseline");
	o->n_keep_if += !err;
	return err;
}

#define INTO struct serve_options

static const char *const shared[] = {
	"dev", "interval", "stage", "engine", "scale", "max-memory", "max-bios", "by", "max-parts",
	"slow", "slow-max", "no-owners", "kubernetes", "replay", NULL,
};

static const struct option_row own[] = {
	OPTION("config", 0, "FILE", "Read options from FILE, one a line; those of the command line win", TO(WORD, config.name)),
	OPTION("listen", 0, "ADDRESS", "Where to listen (default " LISTEN "); [::1]:PORT, :PORT for every "
	  "address; port 0 takes a free one and shows it; none: only record", .kind = OPTION_OWN, .take = take_address),
	OPTION("web-config", 0, "FILE", "TLS and users with passwords, as Prometheus' exporters take them "
	  "(web.yml)", TO(WORD, web_file)),
	OPTION("prom-schema", 0, "N", "Buckets an octave of native histograms: 2^N, N 0 to 6 (default 3)",
	  TO_OWN(schema, take_schema)),
	OPTION("history", 0, "S", "Seconds that the live page can look back (default 300)", TO(SECONDS, history_s)),
	OPTION("bins", 0, NULL, "/api/snapshot: also every bin of the histogram", TO(SWITCH, bins)),
	OPTION("record", 0, "DIR", "Also record what is served, in files of an hour in DIR, for report and compare",
	  TO_OWN(record, take_folder)),
	OPTION("keep", 0, "T", "Keep these recordings for T (default 24h)", TO_OWN(keep_s, take_age)),
	OPTION("keep-size", 0, "SIZE", "Most that these recordings take on the disk (default 1G)", TO(SIZE, keep_bytes)),
	OPTION("keep-if", 0, "EXPR", "Keep the minutes around an incident apart: when an interval of a device is like "
	  "'read.p99 > 20ms' (as for compare --fail-if), or 'sick'; may be given several times",
	  .kind = OPTION_OWN, .take = take_keep_if),
	OPTION("otlp", 0, "URL", "Also push the metrics to a collector of OpenTelemetry's, by OTLP over HTTP: http://127.0.0.1:4318",
	  TO(WORD, otlp)),
	OPTION("otlp-interval", 0, "S", "Seconds between two pushes (default 10)", TO(SECONDS, otlp_interval_s)),
	OPTION("otlp-headers", 0, "FILE", "HTTP headers for that, one a line, such as a token", TO(WORD, otlp_headers)),
	OPTION("otlp-ca", 0, "FILE", "The certificates that it trusts (PEM), instead of the system's", TO(WORD, otlp_ca)),
	OPTION("user", 0, "NAME", "Started by root: the user of the process that talks to the network (default "
	  SERVE_USER ")", TO(WORD, user)),
	{ 0 },
};

static int init(struct serve_options *o, int argc, char **argv, struct problem *p)
{
	*o = (struct serve_options){
		.schema = PROMETHEUS_SCHEMA, .history_s = HISTORY_S, .line = run_capture_line(argv), .argc = argc, .argv = argv,
	};
	capture_options_init(&o->capture);
	if (!o->line)
		return problem_set(p, -ENOMEM, "out of memory");
	return address_parse("--listen", LISTEN, &o->address, p);
}

void serve_options_free(struct serve_options *o)
{
	free(o->line);
	free(o->config.text);
	capture_options_uninit(&o->capture);
}

static int check(struct serve_options *o, struct problem *p)
{
	struct stat st;

	if (!o->otlp && (o->otlp_ca || o->otlp_headers || o->otlp_interval_s))
		return problem_set(p, -EINVAL, "--otlp-ca, --otlp-headers and --otlp-interval need --otlp URL");
	o->otlp_interval_s = o->otlp_interval_s ?: OTLP_EVERY_S;
	if (!o->record && (o->keep_s || o->keep_bytes || o->n_keep_if))
		return problem_set(p, -EINVAL, "--keep, --keep-size and --keep-if need --record DIR");
	if (!o->record && o->unheard)
		return problem_set(p, -EINVAL, "--listen none serves nobody: it needs --record DIR");
	if (o->unheard && (o->web_file || (o->user && !o->otlp)))
		return problem_set(p, -EINVAL, "--listen none has no web server, which --web-config and --user are for");
	if (!o->record)
		return 0;
	if (stat(o->record, &st))
		return problem_set(p, -EINVAL, "--record %s: %s; make this folder, or name one that exists", o->record, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return problem_set(p, -EINVAL, "--record %s: is not a folder, as recordings need", o->record);
	o->keep_s = o->keep_s ?: RECORDER_KEEP_S;
	o->keep_bytes = o->keep_bytes ?: RECORDER_KEEP_BYTES;
	if (o->keep_bytes < RECORDER_LEAST_BYTES)
		return problem_set(p, -EINVAL, "--keep-size: at least %lluM are needed", RECORDER_LEAST_BYTES >> 20);
	return 0;
}

int serve_options_read(struct serve_options *o, int argc, char **argv)
{
	static const struct options options = {
		.about = "Watches devices and serves what it sees: /metrics for Prometheus, a live page for a "
			 "browser, /api/snapshot, /api/stream, /healthz and /readyz. Devices that appear later and match are "
			 "picked up, and so are named devices that do not exist yet."
		 "\v"
		 "SIGHUP looks for devices again, reads --web-config again, and says whether --config has changed, "
			 "which takes a restart; SIGTERM ends it. Exit status: 0 done, 1 it failed while "
			 "running, 2 the command line is wrong.",
		.arguments = "[DEV...]",
		.list = own,
		.shared = capture_option_list,
		.only = shared,
		.shared_at = offsetof(struct serve_options, capture),
		.argument = capture_options_take_device,
		.argument_at = offsetof(struct serve_options, capture.wanted),
		.file_at = offsetof(struct serve_options, config),
	};
	struct problem p;

	return init(o, argc, argv, &p) ? command_fail(argv[0], STATUS_FAILED, &p)
				       : options_parse(&options, argc, argv, o);
}

static int read_and_check(struct serve_options *o, int argc, char **argv)
{
	int status = serve_options_read(o, argc, argv);
	struct problem p;

	if (status >= 0)
		return status;
	return capture_options_check(&o->capture, &p) || check(o, &p) ? command_fail(argv[0], STATUS_USAGE, &p)
								      : status;
}

int serve_config_check(char *who, char *file)
{
	char *words[] = { who, "--config", file, NULL };
	CLEANUP(serve_options_free) struct serve_options o;
	int status = read_and_check(&o, 3, words);

	return status < 0 ? STATUS_DONE : status;
}

static int run(int argc, char **argv)
{
	CLEANUP(serve_options_free) struct serve_options o;
	int status = read_and_check(&o, argc, argv);

	return status < 0 ? serve_life(&o, argv[0]) : status;
}

const struct command command_serve = {
	.name = "serve",
	.about = "watch devices as a service: Prometheus, a live page",
	.run = run,
};
