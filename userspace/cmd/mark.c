// SPDX-License-Identifier: GPL-2.0-only
/* blklat mark: notes an event in a recording, now or, once it has ended, at any time within it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "recording/marks.h"
#include "util/clock.h"
#include "util/utf8.h"

#define TEXT_MAX_BYTES 500
#define WAIT_NS (10 * (u64)NSEC_PER_SEC)
#define TELL_NS ((u64)NSEC_PER_SEC)
#define LOOK_US 20000

struct mark_words {
	const char *file;
	const char *text;
	const char *at;			/* NULL: now */
	struct moment moment;
};

static int take_at(void *to, const char *value, struct problem *p)
{
	struct mark_words *m = to;

	m->at = value;
	return moment_parse(value, &m->moment) ? 0 :
	       problem_set(p, -EINVAL, "--at '%s': must be seconds from the start like 90 or 12.5, or a time in UTC "
			   "like 07:35:10 or 2026-11-21T07:35:10", value);
}

static const struct option_row option_list[] = {
	OPTION("at", 0, "TIME", "In a recording that has ended: the time of the event, in seconds from the start "
	  "(90, 12.5), or 07:35:10, 2026-11-21T07:35:10 (UTC)", .kind = OPTION_OWN, .take = take_at),
	{ 0 },
};

static int take_word(void *into, const char *value, struct problem *p)
{
	struct mark_words *m = into;

	if (m->text)
		return problem_set(p, -EINVAL, "unexpected argument '%s': quote a text of several words", value);
	*(m->file ? &m->text : &m->file) = value;
	return 0;
}

static const struct options options = {
	.about = "Notes an event that happens now in FILE, a recording that 'blklat record' is making. Reports and "
		 "charts show it at that time, and the time between two marks is a phase. If FILE is not there yet, it "
		 "waits up to 10 s for it. With --at it notes an event in a recording that has ended.",
	.arguments = "FILE TEXT",
	.list = option_list,
	.argument = take_word,
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
		return problem_set(p, -EINVAL, "the text has %zu bytes: the limit is %d", strlen(m->text),
				   TEXT_MAX_BYTES);
	if (!text_is_clean(m->text))
		return problem_set(p, -EINVAL, "the text must be one line of UTF-8, without control characters");
	return 0;
}

/* A recorder that has just been started makes its file once it captures: that takes seconds on a busy machine. */
static int mark_now(const char *who, const struct mark_words *m, struct problem *p)
{
	u64 until_ns = access(m->file, F_OK) ? now_ns() + WAIT_NS : 0;
	bool told = false;
	int err;

	while ((err = recording_mark(m->file, m->text, p)) && now_ns() < until_ns) {
		if (!told && now_ns() > until_ns - WAIT_NS + TELL_NS) {
			problem_set(p, err, "%s is not there yet: waiting up to 10 s for it", m->file);
			command_fail(who, STATUS_DONE, p);
			told = true;
		}
		usleep(LOOK_US);
	}
	return err;
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
	if (m.at ? recording_mark_at(m.file, &m.moment, m.text, &p) : mark_now(argv[0], &m, &p))
		return command_fail(argv[0], STATUS_FAILED, &p);
	return STATUS_DONE;
}

const struct command command_mark = {
	.name = "mark",
	.about = "note an event in a recording",
	.run = run,
};
