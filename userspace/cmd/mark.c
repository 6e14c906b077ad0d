// SPDX-License-Identifier: GPL-2.0-only
/* blklat mark: note an event in a recording that is being made. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "recording/marks.h"
#include "util/utf8.h"

#define TEXT_MAX_BYTES 500

struct mark_words {
	const char *file;
	const char *text;
};

static int take(int key, const char *value, void *into, struct problem *p)
{
	struct mark_words *m = into;

	(void)key;
	if (m->text)
		return problem_set(p, -EINVAL, "unexpected argument '%s': a text of several words is quoted", value);
	if (m->file)
		m->text = value;
	else
		m->file = value;
	return 0;
}

static const struct options options = {
	.about = "Notes what happens now in the recording FILE, which 'blklat record' is making. Reports and charts "
		 "show it there.",
	.arguments = "FILE TEXT",
	.take = take,
};

static int check(const struct mark_words *m, struct problem *p)
{
	if (!m->file)
		return problem_set(p, -EINVAL, "no file given: which recording, and what happened?");
	if (!m->text)
		return problem_set(p, -EINVAL, "no text given: what happened?");
	if (!m->text[strspn(m->text, " ")])
		return problem_set(p, -EINVAL, "the text is empty: what happened?");
	if (strlen(m->text) > TEXT_MAX_BYTES)
		return problem_set(p, -EINVAL, "the text has %zu bytes: at most %d can be noted", strlen(m->text),
				   TEXT_MAX_BYTES);
	if (!text_is_clean(m->text))
		return problem_set(p, -EINVAL, "the text has to be one line of UTF-8, without control characters");
	return 0;
}

static int run(int argc, char **argv)
{
	struct mark_words m = { 0 };
	struct problem p;
	int status = options_parse(&options, argc, argv, &m);

	if (status >= 0)
		return status;
	if (check(&m, &p))
		return command_fail(argv[0], STATUS_USAGE, &p);
	if (recording_mark(m.file, m.text, &p))
		return command_fail(argv[0], STATUS_FAILED, &p);
	return STATUS_DONE;
}

const struct command command_mark = {
	.name = "mark",
	.about = "note an event in a recording that is being made",
	.run = run,
};
