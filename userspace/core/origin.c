// SPDX-License-Identifier: GPL-2.0-only
#include "core/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void origin_uninit(struct origin *o)
{
	for (u32 i = 0; i < o->n_marks; i++)
		free(o->marks[i].text);
	free(o->marks);
	free(o->file);
	free(o->label);
	free(o->host);
	free(o->kernel);
	free(o->version);
	free(o->command);
	*o = (struct origin){ 0 };
}

static int copy_text(char **to, const char *from)
{
	*to = strdup(from ?: "");
	return *to ? 0 : -ENOMEM;
}

static int copy_marks(struct origin *to, const struct origin *from)
{
	int err = 0;

	to->marks = calloc(from->n_marks ?: 1, sizeof(*to->marks));
	if (!to->marks)
		return -ENOMEM;
	for (u32 i = 0; !err && i < from->n_marks; i++) {
		to->marks[i] = from->marks[i];
		err = copy_text(&to->marks[i].text, from->marks[i].text);
		to->n_marks += !err;
	}
	return err;
}

int origin_copy(struct origin *to, const struct origin *from)
{
	struct origin made = {
		.start_mono_ns = from->start_mono_ns, .start_wall_ns = from->start_wall_ns,
		.interval_s = from->interval_s, .idle_gap_ns = from->idle_gap_ns, .dropped = from->dropped,
		.finished = from->finished,
	};
	int err = copy_text(&made.file, from->file) ?: copy_text(&made.label, from->label) ?:
		  copy_text(&made.host, from->host) ?: copy_text(&made.kernel, from->kernel) ?:
		  copy_text(&made.version, from->version) ?: copy_text(&made.command, from->command) ?:
		  copy_marks(&made, from);

	if (err) {
		origin_uninit(&made);
		return err;
	}
	*to = made;
	return 0;
}

double mark_s(const struct origin *o, const struct mark *m)
{
	return (double)(s64)(m->mono_ns - o->start_mono_ns) / NSEC_PER_SEC;
}
