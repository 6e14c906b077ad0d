// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/window.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "util/moment.h"
#include "util/units.h"

/* Each returns 1 if @word is a time of its kind, 0 if it is not, or -EINVAL and a sentence. */

static int as_moment(const char *word, const struct origin *o, double *ret)
{
	struct moment m;

	if (!moment_parse(word, &m))
		return 0;
	*ret = (double)moment_since(&m, o->start_wall_ns) / NSEC_PER_SEC;
	return 1;
}

static int as_mark(const char *option, const char *word, const struct origin *o, double *ret, struct problem *p)
{
	u32 found = 0;

	for (u32 i = 0; i < o->n_marks; i++) {
		if (strcmp(o->marks[i].text, word))
			continue;
		*ret = mark_s(o, &o->marks[i]);
		found++;
	}
	if (found > 1)
		return problem_set(p, -EINVAL, "%s '%s': %s has %u marks of that name: give the time in seconds "
			"instead", option, word,
				   o->file, found);
	return found;
}

static int find(const char *option, const char *word, const struct origin *o, double *ret, struct problem *p)
{
	int found = as_moment(word, o, ret) ?: as_mark(option, word, o, ret, p);

	if (found < 0)
		return found;
	if (!found && o->n_marks)
		return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no mark of that name "
				   "(its first is '%s')", option, word, o->file, o->marks[0].text);
	if (!found)
		return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no marks", option, word,
				   o->file);
	return 0;
}

int window_find(const struct window_words *words, const struct origin *origin, struct asked_window *ret, struct problem *p)
{
	struct asked_window w = { .from = words->from, .to = words->to };
	char from[UNITS_TEXT], to[UNITS_TEXT];
	int err = 0;

	if (w.from)
		err = find("--from", words->from, origin, &w.from_s, p);
	if (!err && w.to)
		err = find("--to", words->to, origin, &w.to_s, p);
	if (err)
		return err;
	if (w.from && w.to && w.from_s >= w.to_s)
		return problem_set(p, -EINVAL, "--from '%s' is not before --to '%s': in %s they are at %s and %s", words->from, words->to,
				   origin->file, units_seconds(from, w.from_s), units_seconds(to, w.to_s));
	*ret = w;
	return 0;
}
