// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/capture_options.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/kinds.h"
#include "core/kubernetes.h"
#include "live/formats.h"
#include "util/parse.h"

#define MAX_BIOS_LIMIT (16 << 20)
#define SLOW_MOST_LIMIT 10000

int capture_options_take_device(void *to, const char *value, struct problem *p)
{
	return wanted_add(to, value) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}

static int take_engine(void *to, const char *value, struct problem *p)
{
	const struct capture_ops **engine = to;
	const char *names[8] = { "auto" };
	u32 n = 0, chosen;
	int err;

	for (; capture_engines[n]; n++)
		names[n + 1] = capture_engines[n]->name;
	err = parse_name("--engine", value, names, n + 1, &chosen, p);
	if (!err)
		*engine = chosen ? capture_engines[chosen - 1] : NULL;
	return err;
}

static int take_percentiles(void *to, const char *value, struct problem *p)
{
	const char *bad;
	int len;

	if (!percentiles_parse(value, to, &bad, &len))
		return 0;
	return problem_set(p, -EINVAL, "--percentiles '%s': '%.*s' is not a percentile: give numbers above 0 and up "
			   "to 100, like 50,99,99.9 (at most %d)", value, len, bad, PERCENTILES_MAX);
}

static int take_idle_gap(void *to, const char *value, struct problem *p)
{
	if (strcmp(value, "0") != 0)
		return parse_seconds("--idle-gap", value, to, p);
	*(double *)to = 0;
	return 0;
}

static int take_slow(void *to, const char *value, struct problem *p)
{
	struct slow_wanted *slow = to;
	struct percentiles ps;
	const char *bad;
	int len;

	slow->wanted = true;
	if (*value != 'p')
		return parse_latency("--slow", value, &slow->from_ns, p);
	slow->from_ns = 0;
	if (percentiles_parse(value, &ps, &bad, &len) || ps.n != 1 || ps.p[0].q >= 1)
		return problem_set(p, -EINVAL, "--slow '%s': must be one percentile above 0 and below 100, like p99.9, or a time, like 10ms",
				   value);
	slow->q = ps.p[0].q;
	return 0;
}

static int take_scale(void *to, const char *value, struct problem *p)
{
	return parse_scale("--scale", value, BLKLAT_SCALE_MAX, to, p);
}

#define INTO struct capture_options

const struct option_row capture_option_list[] = {
	OPTION("dev", 'd', "DEV", "Device to watch: a name (nvme0n1, sda1, dm-0), a path, a mapper name, a "
	  "pattern ('nvme*n1') or 'all'; several with commas between them", TO_OWN(wanted, capture_options_take_device)),
	OPTION("interval", 'i', "S", "Length of an interval in seconds (default 1)", TO(SECONDS, interval_s)),
	OPTION("count", 'c', "N", "Stop after N intervals", TO(COUNT, count)),
	OPTION("duration", 0, "S", "Stop after S seconds", TO(SECONDS, duration_s)),
	OPTION("stage", 's', "LIST", "Sections of an IO's life: " STAGES(KIND_WORDS) "by default device, or total "
	  "where there are no requests; a disk given together with an array on it is measured at both",
	  TO_STAGES(wanted.stages)),
	OPTION("percentiles", 'p', "LIST", "Percentiles to print (default 50,90,99,99.9,99.99)",
	  TO_OWN(percentiles, take_percentiles)),
	OPTION("format", 'f', "FORMAT", "text (default), json or csv", TO(NAME, format),
	  .names = format_names, .n_names = FORMATS),
	OPTION("bins", 0, NULL, "json, csv: also every bin of the histogram", TO(SWITCH, bins)),
	OPTION("top", 0, "N", "text: only the N worst devices of each interval by p99, the rest on one line",
	  TO(COUNT, top)),
	OPTION("engine", 0, "ENGINE", "auto (default: bpf, else kmod), bpf or kmod (the kernel "
	  "module)", TO_OWN(engine, take_engine)),
	OPTION("scale", 0, "N", "Bins an octave: 2^N, N 0 to 6, or auto (default): the finest",
	  TO_OWN(scale, take_scale)),
	OPTION("max-memory", 0, "SIZE", "Memory limit of the counters (default 64M or 0.1 % of the "
	  "machine's memory, the larger; more if that is not enough)", TO(SIZE, max_memory)),
	OPTION("max-bios", 0, "N", "Stage total: room for N bios in flight (default 65536)", TO(COUNT, max_bios)),
	OPTION("idle-gap", 0, "S", "Count separately the IOs issued after the device had been idle for S "
	  "seconds; 0: off (default; record: 0.1)", TO_OWN(idle_gap_s, take_idle_gap)),
	OPTION("by", 0, "WHAT", "Divide the IOs of each device and stage by " DIVISIONS(KIND_WORDS)
	  "and show each part as well as the whole", TO_OWN(wanted, wanted_take_by)),
	OPTION("max-parts", 0, "N", "By cgroup or process: show N of them at a time, up to 253 (default 64); the "
	  "others share 'rest'", TO_OWN(wanted, wanted_take_max_parts)),
	OPTION("slow", 0, "T", "Show each IO that took T or longer (500us, 10ms; p99.9: that percentile of the last "
	  "ten intervals), and each that failed: when, where, whose", TO_OWN(slow, take_slow)),
	OPTION("slow-max", 0, "N", "Show at most N slow IOs for each device, stage and interval (default "
	  "100): failed ones first, then the slowest; the others are only counted", TO(COUNT, slow_most)),
	OPTION("no-owners", 0, NULL, "Show slow IOs without who sent them and their file",
	  TO(SWITCH, slow.no_owners)),
	OPTION("kubernetes", 0, "DIR", "Name containers by namespace and pod, and devices by volume, by the node's files below DIR ('/' on "
	  "the node itself)", TO(WORD, node)),
	OPTION("replay", 0, "FILE", "Replay a recording instead of watching", TO(WORD, replay)),
	{ 0 },
};

void capture_options_init(struct capture_options *o)
{
	*o = (struct capture_options){
		.wanted.members_at_total = true,
		.interval_s = 1,
		.percentiles = percentiles_default,
		.scale = -1,
		.max_bios = CAPTURE_MAX_BIOS,
		.idle_gap_s = -1,
		.slow.most = SLOW_MOST,
	};
}

void capture_options_uninit(struct capture_options *o)
{
	wanted_uninit(&o->wanted);
}

/* To be called after all options were read. */
static int check_slow(const struct capture_options *o, struct problem *p)
{
	if (!o->slow.wanted && (o->slow_most || o->slow.no_owners))
		return problem_set(p, -EINVAL, "%s has no effect without --slow: add that, or leave it out",
				   o->slow_most ? "--slow-max" : "--no-owners");
	if (o->slow.wanted && o->replay)
		return problem_set(p, -EINVAL, "--replay shows the slow IOs that were recorded: leave --slow out");
	if (o->slow.wanted && o->format == FORMAT_CSV)
		return problem_set(p, -EINVAL, "--slow is for text and json: csv has a line for each op");
	if (o->slow_most > SLOW_MOST_LIMIT)
		return problem_set(p, -EINVAL, "--slow-max '%llu': must be at most %d", o->slow_most, SLOW_MOST_LIMIT);
	return 0;
}

int capture_options_take_argument(void *into, const char *value, struct problem *p)
{
	struct capture_options *o = into;
	bool number = *value && !value[strspn(value, "0123456789.")];

	if (!number || !o->wanted.n)
		return capture_options_take_device(&o->wanted, value, p);
	if (o->numbers == 2)
		return problem_set(p, -EINVAL, "unexpected argument '%s' after the interval and the count", value);
	return o->numbers++ ? parse_count("--count", value, &o->count, p) :
	       parse_seconds("--interval", value, &o->interval_s, p);
}

static int check_node(const struct capture_options *o, struct problem *p)
{
	static const char *const files[] = { KUBERNETES_LOGS, KUBERNETES_MOUNTS };
	char path[PATH_MAX];

	if (o->node && o->replay)
		return problem_set(p, -EINVAL, "--replay shows names as they were recorded: leave --kubernetes out");
	for (u32 i = 0; o->node && i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s%s", o->node, files[i]);
		if (!access(path, R_OK))
			return 0;
	}
	return !o->node ? 0 : problem_set(p, -EINVAL, "--kubernetes %s: neither " KUBERNETES_LOGS " nor " KUBERNETES_MOUNTS " can be read "
					  "below it: name the root of a node, or leave it out", o->node);
}

int capture_options_check(struct capture_options *o, struct problem *p)
{
	if (!o->wanted.n && !o->replay)
		return problem_set(p, -EINVAL, "no device given: say which with --dev ('blklat list' shows them)");
	if (o->wanted.n && o->replay)
		return problem_set(p, -EINVAL, "--replay shows the devices that were recorded: leave --dev out");
	if (o->idle_gap_s >= 0 && o->replay)
		return problem_set(p, -EINVAL, "--replay uses the idle gap of the recording: leave --idle-gap out");
	if (o->wanted.by && o->replay)
		return problem_set(p, -EINVAL, "--replay shows the parts that were recorded: leave --by out");
	if (o->top && o->format != FORMAT_TEXT)
		return problem_set(p, -EINVAL, "--top is for text: --format %s always has every device", format_names[o->format]);
	if (o->max_bios > MAX_BIOS_LIMIT)
		return problem_set(p, -EINVAL, "--max-bios '%llu': must be at most %d", o->max_bios, MAX_BIOS_LIMIT);
	return check_slow(o, p) ?: check_node(o, p) ?: wanted_check(&o->wanted, p);
}
