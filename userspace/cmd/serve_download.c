// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes files of the last minutes, for whoever asks the web server: a recording, and the report that 'blklat report'
 * makes of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/load_run.h"
#include "cmd/serve_recorder.h"
#include "report/document.h"
#include "util/cleanup.h"
#include "util/json.h"

#define RUN_BYTES (64u << 20)	/* most memory of the report's run; if that is too little, intervals are merged */
#define NAME "the last minutes"	/* of the recording, in messages and in the report */

static int write_report(const struct runs *runs, char **ret, size_t *ret_len)
{
	const struct document_window steady = { NAN, NAN };
	struct json_object *document CLEANUP(cleanup_json) = document_make(runs->r, runs->n, &steady);
	const char *text = json_line(document);
	FILE *out = text ? open_memstream(ret, ret_len) : NULL;
	int err;

	if (!out)
		return -ENOMEM;
	err = html_write(out, text, strlen(text));
	return fclose(out) ? -ENOMEM : err;
}

/* Of a recording; what 'blklat report' would write. */
static int report(const char *recording, size_t len, u64 run_bytes, const char *who, char **ret, size_t *ret_len)
{
	const struct load_how how = { .files = (const char *[]){ NAME }, .n = 1, .max_bytes = RUN_BYTES + run_bytes, .given = recording, .given_len = len };
	CLEANUP(runs_free) struct runs runs = { 0 };
	struct problem p;

	return load_runs(&how, who, &runs, &p) ?: write_report(&runs, ret, ret_len);
}

int serve_download(void *of, enum download kind, const struct recent *from, char **ret, size_t *ret_len)
{
	const struct serve *s = of;
	const struct serve_recorder_config cfg = { .who = s->who, .origin = &s->origin };
	struct archiver CLEANUP(archiver_uninit) archiver = { 0 };
	char *recording CLEANUP(cleanup_free) = NULL;
	struct problem p;
	size_t len;
	int err;

	archiver_init(&archiver, &cfg, ARCHIVER_MEMORY);
	err = archiver_play(&archiver, from) ?: archiver_bytes(&archiver, &recording, &len, &p);
	if (err)
		return err;
	if (kind == DOWNLOAD_REPORT)
		return report(recording, len, archiver_run_bytes(&archiver), s->who, ret, ret_len);
	*ret = TAKE(recording);
	*ret_len = len;
	return 0;
}
