// SPDX-License-Identifier: GPL-2.0-only
/* blklat serve: watches devices as a service, for Prometheus and browsers. */
#include <errno.h>

#include "cmd/cmd.h"
#include "cmd/serve.h"
#include "service/prometheus.h"
#include "util/cleanup.h"
#include "util/parse.h"

#define LISTEN "127.0.0.1:9834"
#define HISTORY_S 300

enum {
	KEY_LISTEN = OPTIONS_LONG,
	KEY_PROM_SCHEMA,
	KEY_HISTORY,
	KEY_WEB_CONFIG,
	KEY_BINS,
	KEY_USER,
};

static const char *const shared[] = {
	"dev", "interval", "stage", "engine", "scale", "max-memory", "max-bios", "by", "max-parts",
	"slow", "slow-max", "no-owners", "replay", NULL,
};

static const struct argp_option own[] = {
	{ "listen", KEY_LISTEN, "ADDRESS", 0, "Where to listen (default " LISTEN "); [::1]:PORT, :PORT for every "
	  "address; port 0 takes a free one and shows it", 0 },
	{ "web-config", KEY_WEB_CONFIG, "FILE", 0, "TLS and users with passwords, as Prometheus' exporters take them "
	  "(web.yml)", 0 },
	{ "prom-schema", KEY_PROM_SCHEMA, "N", 0, "Buckets an octave of native histograms: 2^N, N 0 to 6 (default 3)", 0 },
	{ "history", KEY_HISTORY, "S", 0, "Seconds that the live page can look back (default 300)", 0 },
	{ "bins", KEY_BINS, NULL, 0, "/api/snapshot: also every bin of the histogram", 0 },
	{ "user", KEY_USER, "NAME", 0, "Started by root: the user of the process that talks to the network (default " SERVE_USER ")", 0 },
	{ 0 },
};

static int take(int key, const char *value, void *into, struct problem *p)
{
	struct serve_options *o = into;

	switch (key) {
	case KEY_LISTEN:
		return address_parse("--listen", value, &o->address, p);
	case KEY_WEB_CONFIG:
		o->web_file = value;
		return 0;
	case KEY_PROM_SCHEMA:
		return parse_level("--prom-schema", value, BLKLAT_SCALE_MAX, &o->schema, p);
	case KEY_HISTORY:
		return parse_seconds("--history", value, &o->history_s, p);
	case KEY_BINS:
		o->bins = true;
		return 0;
	case KEY_USER:
		o->user = value;
		return 0;
	default:
		return capture_options_take(&o->capture, key == ARGP_KEY_ARG ? 'd' : key, value, p);
	}
}

static int init(struct serve_options *o, int argc, struct problem *p)
{
	*o = (struct serve_options){ .schema = PROMETHEUS_SCHEMA, .history_s = HISTORY_S };
	if (capture_options_init(&o->capture, argc))
		return problem_set(p, -ENOMEM, "out of memory");
	return address_parse("--listen", LISTEN, &o->address, p);
}

static void uninit(struct serve_options *o)
{
	capture_options_uninit(&o->capture);
}

static int run(int argc, char **argv)
{
	static const struct options options = {
		.about = "Watches devices and serves what it sees: /metrics for Prometheus, a live page for a "
			 "browser, /api/snapshot, /api/stream, /healthz and /livez. Devices that appear later and match are "
			 "picked up, and so are named devices that do not exist yet."
		 "\v"
		 "SIGHUP looks for devices again "
			 "and reads --web-config again; SIGTERM ends it. Exit status: 0 done, 1 it failed while "
			 "running, 2 the command line is wrong.",
		.arguments = "[DEV...]",
		.list = own,
		.shared = capture_option_list,
		.only = shared,
		.take = take,
	};
	CLEANUP(uninit) struct serve_options o;
	struct problem p;
	int status;

	if (init(&o, argc, &p))
		return command_fail(argv[0], STATUS_FAILED, &p);
	status = options_parse(&options, argc, argv, &o);
	if (status >= 0)
		return status;
	if (capture_options_check(&o.capture, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	if (o.schema < 0)
		o.schema = PROMETHEUS_SCHEMA;
	return serve_life(&o, argv[0]);
}

const struct command command_serve = {
	.name = "serve",
	.about = "watch devices as a service: Prometheus, a live page",
	.run = run,
};
