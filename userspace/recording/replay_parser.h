/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files that parse a replay script: the parser's state and its statements. */
#ifndef RECORDING_REPLAY_PARSER_H
#define RECORDING_REPLAY_PARSER_H

#include "recording/replay_script.h"

#define REPLAY_WORDS_MAX 19

struct replay_parser {
	struct replay_script *s;
	struct problem *p;
	const char *file;
	u32 line;
	char *word[REPLAY_WORDS_MAX];	/* of the statement; the first one is its name */
	u32 words;
	u32 watch;		/* chosen by 'on' */
	u32 room;		/* for events */
	u64 total;		/* of everything that will be added up, in any unit */
	s64 wall_ns;
};

/* A statement's read returns 0, or -EINVAL or -ENOMEM and a sentence. */
struct replay_statement {
	const char *name;
	u32 min, max;		/* words after the name */
	int (*read)(struct replay_parser *r);
};

/* Both lists end with a NULL name. Declarations have to come before events. */
extern const struct replay_statement replay_declarations[], replay_events[];

/* Sets the sentence, which begins with file and line. Returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int parser_bad(struct replay_parser *r, const char *format, ...);

/* A whole number up to @max; @what names it in the sentence. */
int parser_number(struct replay_parser *r, const char *what, const char *text, u64 max, u64 *ret);

/*
 * For statements of what happens: the op that word 1 names; and the part of @e, which @label names or,
 * if IOs are divided by size, its bytes decide.
 */
int parser_op(struct replay_parser *r, u32 *ret);
int parser_part(struct replay_parser *r, const char *label, struct replay_event *e);

/* Adds an event to the watch that was chosen last. Returns 0, or -EINVAL or -ENOMEM and a sentence. */
int parser_add_event(struct replay_parser *r, const struct replay_event *e);

/* The statement 'slow'. */
int parser_slow(struct replay_parser *r);

/* Limits of the IOs of one statement, and of the bytes of one IO. */
#define PARSER_COUNT_MAX 1000000000000ULL
#define PARSER_BYTES_MAX (1ULL << 40)

/* The watch that words 1 and 2 name; its index is n_watches if it was not declared. */
int parser_find_watch(struct replay_parser *r, struct watch *ret, u32 *ret_index);

#endif
