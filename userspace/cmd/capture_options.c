// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/capture_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/kinds.h"
#include "live/formats.h"
#include "util/parse.h"

#define MAX_BIOS_LIMIT (16 << 20)
#define SLOW_MOST_LIMIT 10000

enum {
	KEY_DURATION = CAPTURE_OPTIONS_LONG,
	KEY_BINS,
	KEY_TOP,
	KEY_ENGINE,
	KEY_SCALE,
	KEY_MAX_MEMORY,
	KEY_MAX_BIOS,
	KEY_IDLE_GAP,
	KEY_BY,
	KEY_MAX_PARTS,
	KEY_REPLAY,
	KEY_SLOW,
	KEY_SLOW_MAX,
	KEY_NO_OWNERS,
};

const struct argp_option capture_option_list[] = {
	{ "dev", 'd', "DEV", 0, "Device to watch: a name (nvme0n1, sda1, dm-0), a path, a mapper name, a "
	  "pattern ('nvme*n1') or 'all'; may be given several times", 0 },
	{ "interval", 'i', "S", 0, "Seconds between two outputs (default 1)", 0 },
	{ "count", 'c', "N", 0, "End after N intervals", 0 },
	{ "duration", KEY_DURATION, "S", 0, "End after S seconds", 0 },
	{ "stage", 's', "LIST", 0, "Sections of an IO's life: " STAGES(KIND_WORDS) "by default device, or total where "
	  "there are no requests; a disk named together with an array on it has both", 0 },
	{ "percentiles", 'p', "LIST", 0, "Percentiles to print (default 50,90,99,99.9,99.99)", 0 },
	{ "format", 'f', "FORMAT", 0, "text (default), json or csv", 0 },
	{ "bins", KEY_BINS, NULL, 0, "json, csv: also every bin of the histogram", 0 },
	{ "top", KEY_TOP, "N", 0, "text: only the N worst devices of each interval by p99, the rest on one line", 0 },
	{ "engine", KEY_ENGINE, "ENGINE", 0, "auto (default: bpf, else kmod), bpf or kmod (the kernel "
	  "module)", 0 },
	{ "scale", KEY_SCALE, "N", 0, "Bins an octave: 2^N, N 0 to 6, or auto (default): the finest",
	  0 },
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0, "Most that the counters may take (default 64M or 0.1 % of the "
	  "machine's memory, the larger; more where it does not do)", 0 },
	{ "max-bios", KEY_MAX_BIOS, "N", 0, "Stage total: room for N bios in flight (default 65536)", 0 },
	{ "idle-gap", KEY_IDLE_GAP, "S", 0, "Count separately the IOs issued after the device had been idle for S "
	  "seconds; 0: off (default; record: 0.1)", 0 },
	{ "by", KEY_BY, "WHAT", 0, "Divide the IOs of each device and stage by " DIVISIONS(KIND_WORDS)
	  "and show each part besides the whole", 0 },
	{ "max-parts", KEY_MAX_PARTS, "N", 0, "By cgroup: N of them at a time have a part of their own, up to 253 "
	  "(default 64); the others share 'rest'", 0 },
	{ "slow", KEY_SLOW, "T", 0, "Show each IO that took T or longer (500us, 10ms), or as long as that percentile "
	  "of the last ten intervals (p99.9), and each that failed: when, where, whose", 0 },
	{ "slow-max", KEY_SLOW_MAX, "N", 0, "Show at most N of them for each device, stage and interval (default "
	  "100): first those that failed, then the slowest; the others are only counted", 0 },
	{ "no-owners", KEY_NO_OWNERS, NULL, 0, "Show slow IOs without the process and cgroup that sent them", 0 },
	{ "replay", KEY_REPLAY, "FILE", 0, "Replay a recording instead of watching", 0 },
	{ 0 },
};

int capture_options_init(struct capture_options *o, int argc)
{
	*o = (struct capture_options){
		.wanted.devices = calloc(argc + 1, sizeof(*o->wanted.devices)),
		.wanted.members_at_total = true,
		.interval_s = 1,
		.percentiles = percentiles_default,
		.scale = -1,
		.max_bios = CAPTURE_MAX_BIOS,
		.idle_gap_s = -1,
		.slow.most = SLOW_MOST,
	};
	return o->wanted.devices ? 0 : -ENOMEM;
}

void capture_options_uninit(struct capture_options *o)
{
	free(o->wanted.devices);
	o->wanted.devices = NULL;
}

static int take_engine(struct capture_options *o, const char *value, struct problem *p)
{
	const char *names[8] = { "auto" };
	u32 n = 0, chosen;
	int err;

	for (; capture_engines[n]; n++)
		names[n + 1] = capture_engines[n]->ops->name;
	err = parse_name("--engine", value, names, n + 1, &chosen, p);
	if (!err)
		o->engine = chosen ? capture_engines[chosen - 1] : NULL;
	return err;
}

static int take_percentiles(struct capture_options *o, const char *value, struct problem *p)
{
	const char *bad;
	int len;

	if (!percentiles_parse(value, &o->percentiles, &bad, &len))
		return 0;
	return problem_set(p, -EINVAL, "--percentiles '%s': '%.*s' is not a percentile: give numbers above 0 and up "
			   "to 100, like 50,99,99.9 (at most %d)", value, len, bad, PERCENTILES_MAX);
}

static int take_idle_gap(struct capture_options *o, const char *value, struct problem *p)
{
	if (strcmp(value, "0") != 0)
		return parse_seconds("--idle-gap", value, &o->idle_gap_s, p);
	o->idle_gap_s = 0;
	return 0;
}

static int take_slow(struct capture_options *o, const char *value, struct problem *p)
{
	struct percentiles ps;
	const char *bad;
	int len;

	o->slow.wanted = true;
	if (*value != 'p')
		return parse_latency("--slow", value, &o->slow.from_ns, p);
	o->slow.from_ns = 0;
	if (percentiles_parse(value, &ps, &bad, &len) || ps.n != 1 || ps.p[0].q >= 1)
		return problem_set(p, -EINVAL, "--slow '%s': must be one percentile above 0 and below 100, like p99.9, or a time, like 10ms",
				   value);
	o->slow.q = ps.p[0].q;
	return 0;
}

/* To be called after all options were read. */
static int check_slow(const struct capture_options *o, struct problem *p)
{
	if (!o->slow.wanted && (o->slow_most || o->slow.no_owners))
		return problem_set(p, -EINVAL, "%s is for --slow, which says what is slow: add that, or leave it out",
				   o->slow_most ? "--slow-max" : "--no-owners");
	if (o->slow.wanted && o->replay)
		return problem_set(p, -EINVAL, "--replay has the slow IOs that were recorded: leave --slow out");
	if (o->slow.wanted && o->format == FORMAT_CSV)
		return problem_set(p, -EINVAL, "--slow is for text and json: csv has a line for each op");
	if (o->slow_most > SLOW_MOST_LIMIT)
		return problem_set(p, -EINVAL, "--slow-max '%llu': must be at most %d", o->slow_most, SLOW_MOST_LIMIT);
	return 0;
}

int capture_options_take(struct capture_options *o, int key, const char *value, struct problem *p)
{
	switch (key) {
	case 'd':
		o->wanted.devices[o->wanted.n++] = value;
		return 0;
	case 'i':
		return parse_seconds("--interval", value, &o->interval_s, p);
	case 'c':
		return parse_count("--count", value, &o->count, p);
	case KEY_DURATION:
		return parse_seconds("--duration", value, &o->duration_s, p);
	case 's':
		return parse_names("--stage", value, stage_names, BLKLAT_STAGES, &o->wanted.stages, p);
	case 'p':
		return take_percentiles(o, value, p);
	case 'f':
		return parse_name("--format", value, format_names, FORMATS, &o->format, p);
	case KEY_BINS:
		o->bins = true;
		return 0;
	case KEY_TOP:
		return parse_count("--top", value, &o->top, p);
	case KEY_ENGINE:
		return take_engine(o, value, p);
	case KEY_SCALE:
		return parse_scale("--scale", value, BLKLAT_SCALE_MAX, &o->scale, p);
	case KEY_MAX_MEMORY:
		return parse_size("--max-memory", value, &o->max_memory, p);
	case KEY_MAX_BIOS:
		return parse_count("--max-bios", value, &o->max_bios, p);
	case KEY_IDLE_GAP:
		return take_idle_gap(o, value, p);
	case KEY_BY:
		return wanted_take_by(&o->wanted, value, p);
	case KEY_MAX_PARTS:
		return wanted_take_max_parts(&o->wanted, value, p);
	case KEY_SLOW:
		return take_slow(o, value, p);
	case KEY_SLOW_MAX:
		return parse_count("--slow-max", value, &o->slow_most, p);
	case KEY_NO_OWNERS:
		o->slow.no_owners = true;
		return 0;
	default:
		o->replay = value;
		return 0;
	}
}

int capture_options_take_argument(struct capture_options *o, const char *value, struct problem *p)
{
	bool number = *value && !value[strspn(value, "0123456789.")];

	if (!number || !o->wanted.n)
		return capture_options_take(o, 'd', value, p);
	if (o->numbers == 2)
		return problem_set(p, -EINVAL, "unexpected argument '%s' after the interval and the count", value);
	return capture_options_take(o, o->numbers++ ? 'c' : 'i', value, p);
}

int capture_options_check(struct capture_options *o, struct problem *p)
{
	if (!o->wanted.n && !o->replay)
		return problem_set(p, -EINVAL, "no device given: say which with --dev ('blklat list' shows them)");
	if (o->wanted.n && o->replay)
		return problem_set(p, -EINVAL, "--replay has its own devices: leave --dev out");
	if (o->idle_gap_s >= 0 && o->replay)
		return problem_set(p, -EINVAL, "--replay has an idle gap of its own: leave --idle-gap out");
	if (o->wanted.by && o->replay)
		return problem_set(p, -EINVAL, "--replay has the parts that were recorded: leave --by out");
	if (o->top && o->format != FORMAT_TEXT)
		return problem_set(p, -EINVAL, "--top is for text: --format %s always has every device", format_names[o->format]);
	if (o->max_bios > MAX_BIOS_LIMIT)
		return problem_set(p, -EINVAL, "--max-bios '%llu': must be at most %d", o->max_bios, MAX_BIOS_LIMIT);
	return check_slow(o, p) ?: wanted_check(&o->wanted, p);
}
