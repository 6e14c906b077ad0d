// SPDX-License-Identifier: GPL-2.0-only
/* blklat compare: compares recordings with a first one, and gives a verdict for pipelines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/load_run.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "report/comparison.h"
#include "util/cleanup.h"
#include "util/process.h"
#include "util/stream.h"

struct compare {
	bool repeats;
	u32 n_base;		/* files before "--"; the rest are behind it */
	struct condition *conditions;
	u32 n_conditions;
	struct device_maps maps;
	u32 format;
	struct load_how how;		/* max_bytes is 0 unless given */
};

static const char *const format_names[] = { "text", "json", "markdown" };

static int (*const formats[])(const struct comparison *c, const struct look *look) = {
	comparison_text, comparison_json, comparison_markdown,
};

static int take_condition(void *to, const char *value, struct problem *p)
{
	struct compare *c = to;

	return condition_parse("--fail-if", value, &c->conditions[c->n_conditions++], p);
}

static int take_map(void *to, const char *value, struct problem *p)
{
	return device_maps_take(to, value, p);
}

#define INTO struct compare

static const struct option_row option_list[] = {
	OPTION("baseline", 0, NULL, "Recordings before '--' are repeats of the baseline, those after it are "
	  "repeats of what is compared: judge medians, and tell a change from noise", TO(SWITCH, repeats)),
	OPTION("fail-if", 0, "EXPR", "Exit with status 3 if it holds, like 'read.p99 > +10%', 'write.iops < -5%' "
	  "(against the first recording) or 'read.max > 20ms'; may be given several times",
	  .kind = OPTION_OWN, .take = take_condition),
	OPTION("format", 'f', "FORMAT", "text (default), json or markdown", TO_NAME(format, format_names)),
	OPTION("map", 0, "PAIRS", "Compare a device of the baseline with one of another name in the others, like "
	  "nullb0=md0 or a=b,c=d; may be given several times", TO_OWN(maps, take_map)),
	{ 0 },
};

/* Takes the words behind "--". */
static void take_others(char **words, void *into)
{
	struct compare *c = into;

	c->n_base = c->how.n;
	while (*words)
		c->how.files[c->how.n++] = *words++;
}

static const struct options options = {
	.about = "Compares recordings with the first one: IOPS, percentiles, distributions, and how far these differ."
		 "\v"
		 "EXPR is [PHASE:] "
		 "OP.METRIC, a comparison (< <= > >=) and a value. PHASE: the text of a mark, to judge only the time "
		 "from it to the next one; OP: read, write, flush, discard, other or total; METRIC: iops, mbps, mean, "
		 "min, max, p50 or any percentile, errors, lost (of total) or ks; the value: a latency (300us, 20ms), "
		 "a number (50k), or a change against the first recording (+10%, -5%). With --baseline a change may "
		 "be followed by 'beyond noise': then its 95 % confidence interval (Welch's t on logarithms) has to "
		 "lie on the same side of no change. Exit status: 0 done, 1 a recording can't be read or judged, 2 "
		 "the command line is wrong, 3 an EXPR holds.",
	.arguments = "BASELINE [FILE...]\n--baseline FILE FILE... -- FILE FILE...",
	.list = option_list,
	.shared = load_option_list,
	.shared_at = offsetof(struct compare, how),
	.argument = load_take_file,
	.argument_at = offsetof(struct compare, how),
	.take_command = take_others,
};

static int check_repeats(const struct compare *c, struct problem *p)
{
	u32 n_base = c->n_base, others = n_base ? c->how.n - n_base : 0;

	/* An option behind "--" would be taken for a file; a file with such a name can be given with its folder. */
	for (u32 i = n_base; n_base && i < c->how.n; i++)
		if (c->how.files[i][0] == '-')
			return problem_set(p, -EINVAL, "%s comes after '--', where only recordings are expected: put options before it", c->how.files[i]);
	if (n_base < NOISE_REPEATS_MIN || others < NOISE_REPEATS_MIN)
		return problem_set(p, -EINVAL, "--baseline needs %d repeats of each side to tell a change from noise: %u before '--' "
				   "and %u after it; name more, as in --baseline A1 A2 A3 -- B1 B2 B3", NOISE_REPEATS_MIN,
				   n_base ?: c->how.n - others, others);
	if (n_base > REPEATS_MAX || others > REPEATS_MAX)
		return problem_set(p, -EINVAL, "--baseline takes at most %d repeats of each side: name fewer", REPEATS_MAX);
	return 0;
}

static int check(const struct compare *c, struct problem *p)
{
	for (u32 i = 0; i < c->n_conditions && !c->repeats; i++)
		if (c->conditions[i].beyond_noise)
			return problem_set(p, -EINVAL, "--fail-if '%s': 'beyond noise' needs repeats; name "
					   "them, as in --baseline A1 A2 A3 -- B1 B2 B3", c->conditions[i].text);
	if (c->repeats)
		return check_repeats(c, p);
	if (!c->how.n)
		return problem_set(p, -EINVAL, "no recording given: name a baseline and what to compare with it");
	if (c->how.n == 1 && !c->n_conditions)
		return problem_set(p, -EINVAL, "only one recording given: name another one to compare with it, or a limit "
				   "with --fail-if");
	return 0;
}

static int show(const struct compare *c, const struct comparison *comparison, struct problem *p)
{
	struct print_buffer buffer CLEANUP(print_buffer_close) = { 0 };
	struct look look = terminal_look(stdout);
	int err = print_buffer_open(&buffer);

	look.out = buffer.f;
	err = err ?: formats[c->format](comparison, &look) ?: print_buffer_write(&buffer, stdout);
	if (!err || err == -EPIPE)
		return 0;
	return problem_set(p, err, "could not write the output: %s", strerror(-err));
}

static int compare(const struct compare *c, const char *who)
{
	CLEANUP(comparison_uninit) struct comparison comparison = { 0 };
	CLEANUP(runs_free) struct runs runs = { 0 };
	struct problem p;
	struct load_how how = c->how;
	u32 n_base;
	int err;

	how.takes_fio = true;
	how.max_bytes = how.max_bytes ?: limits_memory();
	err = load_runs(&how, who, &runs, &p);
	if (err)
		return command_fail(who, load_status(err), &p);
	n_base = c->repeats ? c->n_base : 0;
	if (device_maps_check(&c->maps, runs.r, runs.r + (n_base ?: 1), runs.n - (n_base ?: 1), &p))
		return command_fail(who, STATUS_USAGE, &p);
	err = comparison_make(runs.r, runs.n, n_base, &c->maps, &comparison);
	if (err)
		problem_set(&p, err, "out of memory");
	else
		err = comparison_judge(&comparison, c->conditions, c->n_conditions, &p);
	if (!err)
		err = show(c, &comparison, &p);
	if (err)
		return command_fail(who, STATUS_FAILED, &p);
	return comparison.any_holds ? STATUS_FAIL_IF : STATUS_DONE;
}

static int run(int argc, char **argv)
{
	const char **files CLEANUP(cleanup_free) = calloc(argc, sizeof(*files));
	struct condition *conditions CLEANUP(cleanup_free) = calloc(argc, sizeof(*conditions));
	struct compare c = { .how.files = files, .conditions = conditions };
	struct problem p;
	int status;

	if (!files || !conditions)
		return command_no_memory(argv[0]);
	status = options_parse(&options, argc, argv, &c);
	if (status >= 0)
		return status;
	if (check(&c, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	return compare(&c, argv[0]);
}

const struct command command_compare = {
	.name = "compare",
	.about = "compare recordings, and judge the difference",
	.run = run,
};
