// SPDX-License-Identifier: GPL-2.0-only
/* The statement 'slow' of a script. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/part.h"
#include "recording/replay_parser.h"
#include "recording/replay_words.h"
#include "util/cleanup.h"

static int take_latency(struct replay_parser *r, const char *value, u64 *ret)
{
	return word_latency(value, ret) ? 0 : parser_bad(r, "'%.40s' must be like 81.2us (ns, us, ms, s), whole in ns", value);
}

static int take_number(struct replay_parser *r, const char *word, u64 max, u64 *ret)
{
	char key[16];

	snprintf(key, sizeof(key), "%.*s", (int)(strchr(word, '=') - word), word);
	return parser_number(r, key, strchr(word, '=') + 1, max, ret);
}

static int take_path(struct replay_parser *r, struct slow_io *io, const char *path)
{
	free(io->cgroup);
	io->cgroup = strdup(path);
	return io->cgroup ? 0 : problem_set(r->p, -ENOMEM, "%s: no memory", r->file);
}

static int take_depth(struct replay_parser *r, const char *word, struct blklat_slow *t)
{
	u64 n;
	int err = take_number(r, word, UINT32_MAX, &n);

	if (err)
		return err;
	t->depth = n;
	return n ? 0 : parser_bad(r, "depth must be at least 1, which is the IO itself");
}

static int take_part(struct replay_parser *r, enum blklat_by by, const char *label, u8 *ret)
{
	*ret = slow_part_number(by, label);
	return *ret ? 0 : parser_bad(r, "'%.40s' is not a part by %s", label, by_names[by]);
}

/* Takes a "key=value" other than in=. */
static int take_fact(struct replay_parser *r, const char *word, struct slow_io *io)
{
	struct blklat_slow *t = &io->told;
	const char *v;
	u64 n = 0;
	int err;

	if ((v = word_value(word, "ago"))) {
		err = take_latency(r, v, &n);
		io->end_ns = -(s64)n;
	} else if ((v = word_value(word, "queue"))) {
		err = take_latency(r, v, &t->queue_ns);
	} else if ((v = word_value(word, "device"))) {
		err = take_latency(r, v, &t->device_ns);
	} else if (word_value(word, "sector")) {
		err = take_number(r, word, 1ULL << 55, &n);
		t->sector = n;
		t->known |= BLKLAT_SLOW_SECTOR;
	} else if (word_value(word, "error")) {
		err = take_number(r, word, 255, &n);
		t->error = n;
	} else if (word_value(word, "depth")) {
		err = take_depth(r, word, t);
	} else if ((v = word_value(word, "beside"))) {
		err = take_part(r, BLKLAT_BY_BESIDE, v, &t->beside);
	} else if ((v = word_value(word, "flags"))) {
		err = take_part(r, BLKLAT_BY_FLAGS, v, &t->flags);
	} else if (word_value(word, "hw-queue")) {
		err = take_number(r, word, 65535, &n);
		t->hw_queue = n;
		t->known |= BLKLAT_SLOW_QUEUE;
	} else if (word_value(word, "cpu")) {
		err = take_number(r, word, 65535, &n);
		t->start_cpu = n;
		t->known |= BLKLAT_SLOW_START_CPU;
	} else if (word_value(word, "pid") || word_value(word, "thread")) {
		err = take_number(r, word, 1 << 22, &n);
		t->submitter = n;
		t->known |= BLKLAT_SLOW_SUBMITTER | (*word == 't' ? BLKLAT_SLOW_KERNEL_THREAD : 0);
	} else if ((v = word_value(word, "comm"))) {
		err = strlen(v) < BLKLAT_COMM ? 0 : parser_bad(r, "'%.40s' is longer than %d bytes", v, BLKLAT_COMM - 1);
		strncpy(t->comm, v, BLKLAT_COMM - 1);
	} else if ((v = word_value(word, "cgroup"))) {
		err = take_path(r, io, v);
	} else {
		err = parser_bad(r, "'%.40s' is neither a KEY=VALUE of a slow IO, in=PART nor xCOUNT", word);
	}
	return err;
}

static void free_io(struct slow_io **io)
{
	if (*io)
		free((*io)->cgroup);
	free(*io);
}

int parser_slow(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_SLOW, .n = 1 };
	struct slow_io *io CLEANUP(free_io) = calloc(1, sizeof(*io));
	const char *label = NULL;
	int err = parser_op(r, &e.what);

	if (!err && !io)
		err = problem_set(r->p, -ENOMEM, "%s: no memory", r->file);
	if (!err && !r->s->slow_most)
		err = parser_bad(r, "slow needs a 'slow-max' before it, which says how many are kept");
	if (!err)
		err = take_latency(r, r->word[2], &e.ns);
	if (!err)
		err = parser_number(r, "bytes", r->word[3], UINT32_MAX, &e.bytes);
	for (u32 i = 4; !err && i < r->words; i++) {
		if (word_value(r->word[i], "in"))
			label = word_value(r->word[i], "in");
		else if (r->word[i][0] == 'x')
			err = parser_number(r, "count", r->word[i] + 1, 100000, &e.n);
		else
			err = take_fact(r, r->word[i], io);
	}
	if (!err)
		err = parser_part(r, label, &e);
	if (err)
		return err;
	io->told.op = e.what;
	io->told.latency_ns = e.ns;
	io->told.bytes = e.bytes;
	e.slow = io;
	err = parser_add_event(r, &e);
	if (!err)
		io = NULL;
	return err;
}
