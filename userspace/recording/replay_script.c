// SPDX-License-Identifier: GPL-2.0-only
/* Parses a replay script: lines into words, words into statements. */
#include "recording/replay_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recording/replay_parser.h"
#include "recording/replay_words.h"
#include "util/cleanup.h"

#define LINE_MAX_BYTES 4096

int parser_bad(struct replay_parser *r, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return problem_set(r->p, -EINVAL, "%s:%u: %s", r->file, r->line, text);
}

int parser_number(struct replay_parser *r, const char *what, const char *text, u64 max, u64 *ret)
{
	if (word_number(text, max, ret))
		return 0;
	return parser_bad(r, "%s '%.40s' must be a whole number up to %llu", what, text, max);
}

static const struct replay_statement *find_statement(const struct replay_statement *list, const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

static int read_statement(struct replay_parser *r)
{
	const struct replay_statement *declaration = find_statement(replay_declarations, r->word[0]);
	const struct replay_statement *st = declaration ?: find_statement(replay_events, r->word[0]);

	if (!st)
		return parser_bad(r, "unknown statement '%.40s'", r->word[0]);
	if (st->min == st->max && r->words - 1 != st->min)
		return parser_bad(r, "'%s' takes %u word%s, not %u", st->name, st->min, st->min == 1 ? "" : "s",
				  r->words - 1);
	if (r->words - 1 < st->min || r->words - 1 > st->max)
		return parser_bad(r, "'%s' takes %u to %u words, not %u", st->name, st->min, st->max,
				  r->words - 1);
	if (declaration && r->s->n_events)
		return parser_bad(r, "'%s' must come before anything happens", st->name);
	if (!declaration && !r->s->n_watches)
		return parser_bad(r, "nothing is watched, declare it with 'watch' before '%s'", st->name);
	return st->read(r);
}

static int split_words(struct replay_parser *r, char *text)
{
	r->words = 0;
	for (;;) {
		text += strspn(text, " \t");
		if (!*text || *text == '#')
			return 0;
		if (r->words == REPLAY_WORDS_MAX)
			return parser_bad(r, "more than %u words", REPLAY_WORDS_MAX);
		r->word[r->words] = word_cut(&text);
		if (!r->word[r->words])
			return parser_bad(r, "a quote is left open");
		r->words++;
	}
}

static int read_line(struct replay_parser *r, char *line, size_t len)
{
	int err;

	if (len && line[len - 1] == '\n')
		line[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' && line[i] != '\t')
			return parser_bad(r, "a control character (byte %zu of the line)", i + 1);
	if (r->line == 1)
		return strcmp(line, "blklat-replay 1") ?
			parser_bad(r, "not a replay script, its first line must be 'blklat-replay 1'") : 0;
	err = split_words(r, line);
	if (err || !r->words)
		return err;
	return read_statement(r);
}

static int read_file(struct replay_parser *r, FILE *f)
{
	char *line CLEANUP(cleanup_free) = NULL;
	size_t room = 0;
	ssize_t len;
	int err;

	for (r->line = 1; (len = getline(&line, &room, f)) >= 0; r->line++) {
		if (len > LINE_MAX_BYTES)
			return parser_bad(r, "the line is longer than %d bytes", LINE_MAX_BYTES);
		err = read_line(r, line, len);
		if (err)
			return err;
	}
	if (!feof(f))
		return problem_set(r->p, -errno, "%s: can't be read: %s", r->file, strerror(errno));
	if (r->line == 1)
		return parser_bad(r, "an empty file is not a replay script");
	if (!r->s->n_events || r->s->events[r->s->n_events - 1].kind != REPLAY_TICK)
		return parser_bad(r, "the script must end with a 'tick'");
	return 0;
}

int replay_script_read(struct replay_script *s, const char *file, struct problem *p)
{
	struct replay_parser r = { .s = s, .p = p, .file = file };
	FILE *f CLEANUP(cleanup_fclose) = fopen(file, "re");
	int err;

	if (!f)
		return problem_set(p, -errno, "%s: can't be opened: %s", file, strerror(errno));
	*s = (struct replay_script){ .engine = "replay", .scale = BLKLAT_SCALE_MAX, .cpus = 1 };
	s->devices = calloc(REPLAY_DEVICES_MAX, sizeof(*s->devices));
	if (!s->devices)
		return problem_set(p, -ENOMEM, "%s: no memory", file);
	err = read_file(&r, f);
	if (err)
		replay_script_free(s);
	return err;
}

void replay_script_free(struct replay_script *s)
{
	for (u32 i = 0; i < s->n_events; i++)
		if (s->events[i].slow) {
			free(s->events[i].slow->cgroup);
			free(s->events[i].slow);
		}
	free(s->devices);
	free(s->events);
	*s = (struct replay_script){ 0 };
}
