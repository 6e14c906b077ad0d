// SPDX-License-Identifier: GPL-2.0-only
/* blklat report: makes one page of charts from recordings, or prints the same figures as JSON or text. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/load_run.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "report/document.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/process.h"
#include "util/parse.h"
#include "util/stream.h"

struct report {
	const char *output;		/* NULL: stdout */
	u32 format;
	struct document_window steady;
	struct load_how how;		/* max_bytes is 0 unless given */
};

enum { FORMAT_HTML, FORMAT_JSON, FORMAT_TEXT };

static const char *const format_names[] = { "html", "json", "text" };

#define RUNS_SHARE 3	/* runs get a third of the memory; their documents take one to two times as much */

static int take_steady(void *to, const char *value, struct problem *p)
{
	struct document_window *steady = to;

	steady->to_s = INFINITY;
	return parse_seconds("--steady-from", value, &steady->from_s, p);
}

#define INTO struct report

static const struct option_row option_list[] = {
	OPTION("output", 'o', "FILE", "Write to FILE, which is replaced once the report is complete (default: standard "
	  "output)", TO(WORD, output)),
	OPTION("format", 'f', "FORMAT", "html (default): one page of charts that needs nothing else; json: the same "
	  "figures; text: findings and the main figures", TO_NAME(format, format_names)),
	OPTION("steady-from", 0, "S", "Look for a steady state from second S on (default: 1400, or the "
	  "second half of a shorter run)", TO_OWN(steady, take_steady)),
	{ 0 },
};

static const struct options options = {
	.about = "Draws recordings: distribution, percentiles, IOPS and latency over time, findings."
		 "\v"
		 "Several "
		 "recordings are drawn over each other. A page of charts opens from disk in any browser and needs no "
		 "network. Exit status: 0 done, 1 a recording can't be read or the report can't be written, 2 the "
		 "command line is wrong.",
	.arguments = "FILE...",
	.list = option_list,
	.shared = load_option_list,
	.shared_at = offsetof(struct report, how),
	.argument = load_take_file,
	.argument_at = offsetof(struct report, how),
};

static int write_text(const struct report *r, const struct runs *runs, FILE *out)
{
	struct print_buffer buffer CLEANUP(print_buffer_close) = { 0 };
	struct look look = terminal_look(stdout);
	int err = print_buffer_open(&buffer);

	look.out = buffer.f;
	return err ?: document_text(runs->r, runs->n, &r->steady, &look) ?: print_buffer_write(&buffer, out);
}

static int write_report(const struct report *r, const struct runs *runs, FILE *out)
{
	struct json_object *document CLEANUP(cleanup_json) = document_make(runs->r, runs->n, &r->steady);
	const char *text = json_line(document);

	if (!text)
		return -ENOMEM;
	if (r->format == FORMAT_HTML)
		return html_write(out, text, strlen(text));
	return fprintf(out, "%s\n", text) < 0 ? -errno : 0;
}

static int report(const struct report *r, const char *who)
{
	CLEANUP(runs_free) struct runs runs = { 0 };
	CLEANUP(output_drop) struct output out = { 0 };
	struct problem p;
	struct load_how how = r->how;
	int err;

	how.max_bytes = (how.max_bytes ?: limits_memory()) / RUNS_SHARE;
	err = load_runs(&how, who, &runs, &p);
	if (err)
		return command_fail(who, load_status(err), &p);
	err = output_begin(&out, r->output, &p);
	if (err)
		return command_fail(who, command_err_is_ours(err) ? STATUS_FAILED : STATUS_USAGE, &p);
	err = output_end(&out, r->format == FORMAT_TEXT ? write_text(r, &runs, out.f) : write_report(r, &runs, out.f),
			 &p);
	return err ? command_fail(who, STATUS_FAILED, &p) : STATUS_DONE;
}

static int check(const struct report *r, struct problem *p)
{
	if (!r->how.n)
		return problem_set(p, -EINVAL, "no recording given: say which ('blklat record' makes one)");
	if (r->format == FORMAT_HTML && !r->output && isatty(STDOUT_FILENO))
		return problem_set(p, -EINVAL, "a page can't be shown on a terminal: write it to a file with -o "
				   "report.html, or use --format text or json");
	return 0;
}

static int run(int argc, char **argv)
{
	const char **files CLEANUP(cleanup_free) = calloc(argc, sizeof(*files));
	struct report r = { .how.files = files, .steady = { NAN, NAN } };
	struct problem p;
	int status;

	if (!files)
		return command_no_memory(argv[0]);
	status = options_parse(&options, argc, argv, &r);
	if (status >= 0)
		return status;
	if (check(&r, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	return report(&r, argv[0]);
}

const struct command command_report = {
	.name = "report",
	.about = "draw recordings: a page of charts",
	.run = run,
};
