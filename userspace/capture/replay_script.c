// SPDX-License-Identifier: GPL-2.0-only
/* Reads a replay script: lines to statements, statements to declarations and events. */
#include "capture/replay_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/replay_words.h"
#include "util/cleanup.h"

#define LINE_MAX_BYTES 4096
#define WORDS_MAX 16
#define EVENTS_MAX (1u << 20)
#define COUNT_MAX 1000000000000ULL	/* of one statement */
#define BYTES_MAX (1ULL << 40)		/* of one IO */
#define TOTAL_MAX (1ULL << 62)
#define SIZE_MAX_BYTES (1ULL << 62)
#define QUEUES_MAX 65536

struct reader {
	struct replay_script *s;
	struct problem *p;
	const char *file;
	u32 line;
	char *word[WORDS_MAX];
	u32 words;
	u32 watch;		/* that 'on' chose */
	u32 room;		/* for events */
	u64 total;		/* of everything that is ever added up, whatever its unit */
	s64 wall_ns;
};

__attribute__((format(printf, 2, 3)))
static int bad(struct reader *r, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return problem_set(r->p, -EINVAL, "%s:%u: %s", r->file, r->line, text);
}

static int take_number(struct reader *r, const char *what, const char *text, u64 max, u64 *ret)
{
	if (word_number(text, max, ret))
		return 0;
	return bad(r, "%s '%.40s' must be a whole number up to %llu", what, text, max);
}

/* Keeps every sum that a reader of the script may form within 2^62. */
static int add_total(struct reader *r, u64 n, u64 each)
{
	u64 product;

	if (__builtin_mul_overflow(n, each, &product) || product > TOTAL_MAX - r->total)
		return bad(r, "the sums of this script are beyond 2^62");
	r->total += product;
	return 0;
}

static int add_event(struct reader *r, const struct replay_event *e)
{
	struct replay_script *s = r->s;

	if (s->n_events == EVENTS_MAX)
		return bad(r, "more than %u statements", EVENTS_MAX);
	if (s->n_events == r->room) {
		u32 room = r->room ? r->room * 2 : 64;
		struct replay_event *more = reallocarray(s->events, room, sizeof(*more));

		if (!more)
			return problem_set(r->p, -ENOMEM, "%s: no memory", r->file);
		s->events = more;
		r->room = room;
	}
	s->events[s->n_events] = *e;
	s->events[s->n_events++].watch = r->watch;
	return 0;
}

static struct device *find_device(struct reader *r, const char *name)
{
	for (u32 i = 0; i < r->s->n_devices; i++)
		if (!strcmp(r->s->devices[i].name, name))
			return &r->s->devices[i];
	return NULL;
}

static int take_text(struct reader *r, const char *what, const char *text, char *to, size_t room)
{
	if (strlen(text) >= room)
		return bad(r, "%s is longer than %zu bytes", what, room - 1);
	strcpy(to, text);
	return 0;
}

static int on_engine(struct reader *r)
{
	return take_text(r, "the engine's name", r->word[1], r->s->engine, sizeof(r->s->engine));
}

static int on_scale(struct reader *r)
{
	u64 n;
	int err = take_number(r, "scale", r->word[1], BLKLAT_SCALE_MAX, &n);

	if (!err)
		r->s->scale = n;
	return err;
}

static int on_cpus(struct reader *r)
{
	u64 n;
	int err = take_number(r, "cpus", r->word[1], 65536, &n);

	if (!err && !n)
		err = bad(r, "cpus must be at least 1");
	if (!err)
		r->s->cpus = n;
	return err;
}

static int on_memory(struct reader *r)
{
	return take_number(r, "memory", r->word[1], SIZE_MAX_BYTES, &r->s->memory_bytes);
}

static int on_idle_gap(struct reader *r)
{
	u64 ns;

	if (!word_latency(r->word[1], &ns) || !ns)
		return bad(r, "idle-gap '%.40s' must be like 100ms (ns, us, ms, s), above 0", r->word[1]);
	r->s->idle_gap_ns = ns;
	return 0;
}

static int on_start(struct reader *r)
{
	if (!word_time(r->word[1], &r->s->start_ns))
		return bad(r, "'%.40s' is no time, write it as 2026-11-21T07:35:00.000Z", r->word[1]);
	r->wall_ns = r->s->start_ns;
	return 0;
}

static int take_fact(struct reader *r, struct device *d, const char *word)
{
	const char *v;
	u64 n;
	int err;

	if ((v = word_value(word, "kind")))
		return take_text(r, "kind", v, d->kind, sizeof(d->kind));
	if ((v = word_value(word, "model")))
		return take_text(r, "model", v, d->model, sizeof(d->model));
	if ((v = word_value(word, "mapper")))
		return take_text(r, "mapper", v, d->mapper, sizeof(d->mapper));
	if ((v = word_value(word, "scheduler")))
		return take_text(r, "scheduler", v, d->scheduler, sizeof(d->scheduler));
	if ((v = word_value(word, "size")))
		return take_number(r, "size", v, SIZE_MAX_BYTES, &d->size_bytes);
	if ((v = word_value(word, "queues"))) {
		err = take_number(r, "queues", v, QUEUES_MAX, &n);
		if (!err)
			d->hw_queues = n;
		return err;
	}
	if ((v = word_value(word, "tags"))) {
		err = take_number(r, "tags", v, QUEUES_MAX, &n);
		if (!err)
			d->tags = n;
		return err;
	}
	return bad(r, "a device has no '%.40s'", word);
}

static int on_device(struct reader *r)
{
	struct replay_script *s = r->s;
	struct device *d = &s->devices[s->n_devices];
	int err;

	if (s->n_devices == REPLAY_DEVICES_MAX)
		return bad(r, "more than %u devices", REPLAY_DEVICES_MAX);
	if (!r->word[1][0])
		return bad(r, "a device needs a name");
	if (find_device(r, r->word[1]))
		return bad(r, "device '%.40s' is there already", r->word[1]);
	d->hw_queues = 1;
	d->parent = s->n_devices;
	err = take_text(r, "the device's name", r->word[1], d->name, sizeof(d->name));
	for (u32 i = 2; !err && i < r->words; i++)
		err = take_fact(r, d, r->word[i]);
	if (!err)
		s->n_devices++;
	return err;
}

/* The watch that words 1 and 2 name, or n_watches. */
static int find_watch(struct reader *r, struct watch *ret, u32 *ret_index)
{
	u32 stage, i;

	ret->device = find_device(r, r->word[1]);
	if (!ret->device)
		return bad(r, "no device '%.40s', declare it with 'device'", r->word[1]);
	if (!word_index(stage_names, BLKLAT_STAGES, r->word[2], &stage))
		return bad(r, "unknown stage '%.40s', it is device, queue or total", r->word[2]);
	ret->stage = stage;
	for (i = 0; i < r->s->n_watches; i++)
		if (r->s->watches[i].device == ret->device && r->s->watches[i].stage == ret->stage)
			break;
	*ret_index = i;
	return 0;
}

static int on_watch(struct reader *r)
{
	struct replay_script *s = r->s;
	struct watch w;
	u32 i;
	int err = find_watch(r, &w, &i);

	if (err)
		return err;
	if (i < s->n_watches)
		return bad(r, "stage %s of '%.40s' is watched already", r->word[2], r->word[1]);
	if (s->n_watches == REPLAY_WATCHES_MAX)
		return bad(r, "more than %u watches", REPLAY_WATCHES_MAX);
	find_device(r, r->word[1])->stages |= 1u << w.stage;
	s->watches[s->n_watches++] = w;
	return 0;
}

static int on_on(struct reader *r)
{
	struct watch w;
	u32 i;
	int err = find_watch(r, &w, &i);

	if (!err && i == r->s->n_watches)
		err = bad(r, "stage %s of '%.40s' is not watched, declare it with 'watch'", r->word[2],
			  r->word[1]);
	if (!err)
		r->watch = i;
	return err;
}

static int on_io(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_IO, .n = 1 };
	int err;

	if (!word_index(op_names, BLKLAT_OPS, r->word[1], &e.what))
		return bad(r, "unknown op '%.40s', it is read, write, flush, discard or other", r->word[1]);
	if (!word_latency(r->word[2], &e.ns))
		return bad(r, "latency '%.40s' must be like 81.2us (ns, us, ms, s), whole in ns", r->word[2]);
	err = take_number(r, "bytes", r->word[3], BYTES_MAX, &e.bytes);
	for (u32 i = 4; !err && i < r->words; i++) {
		const char *errors = word_value(r->word[i], "errors");

		if (errors)
			err = take_number(r, "errors", errors, COUNT_MAX, &e.errors);
		else if (r->word[i][0] == 'x')
			err = take_number(r, "count", r->word[i] + 1, COUNT_MAX, &e.n);
		else if (!strcmp(r->word[i], "after-idle"))
			e.after_idle = true;
		else
			err = bad(r, "'%.40s' is neither xCOUNT, errors=N nor after-idle", r->word[i]);
	}
	if (!err && e.after_idle && !r->s->idle_gap_ns)
		err = bad(r, "after-idle says nothing without an 'idle-gap' before");
	if (!err && e.errors > e.n)
		err = bad(r, "%llu errors are more than the %llu IOs", e.errors, e.n);
	if (!err)
		err = add_total(r, e.n, e.ns);
	if (!err)
		err = add_total(r, e.n, e.bytes);
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: add_event(r, &e);
}

static int on_in_flight(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_IN_FLIGHT };
	int err = take_number(r, "in-flight", r->word[1], COUNT_MAX, &e.n);
	const char *age = r->words > 2 ? word_value(r->word[2], "oldest") : NULL;

	if (!err && r->words > 2 && (!age || !word_latency(age, &e.ns)))
		err = bad(r, "'%.40s' must be like oldest=81.2us", r->word[2]);
	if (!err && e.ns && !e.n)
		err = bad(r, "none in flight, so there is no oldest");
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: add_event(r, &e);
}

static int on_account(struct reader *r)
{
	static const char *const cells[] = {
		[BLKLAT_REQUEUED] = "requeued", [BLKLAT_NO_START] = "no_start",
		[BLKLAT_OVERWRITTEN] = "overwritten", [BLKLAT_TAG_RANGE] = "tag_range",
		[BLKLAT_TABLE_FULL] = "table_full", [BLKLAT_BEFORE] = "before",
		[BLKLAT_UNISSUED] = "unissued",
	};
	struct replay_event e = { .kind = REPLAY_ACCOUNT };
	int err;

	if (!word_index(cells, ARRAY_SIZE(cells), r->word[1], &e.what))
		return bad(r, "unknown cell '%.40s', it is requeued, no_start, overwritten, tag_range, "
			   "table_full, before or unissued", r->word[1]);
	err = take_number(r, r->word[1], r->word[2], COUNT_MAX, &e.n);
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: add_event(r, &e);
}

static int on_skipped(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_SKIPPED };
	int err = take_number(r, "skipped", r->word[1], COUNT_MAX, &e.n);

	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: add_event(r, &e);
}

/* "+5", "-5" */
static int take_difference(struct reader *r, s64 *ret)
{
	const char *text = r->word[1];
	u64 n;
	int err;

	if (*text != '+' && *text != '-')
		return bad(r, "%s '%.40s' must be +N or -N", r->word[0], text);
	err = take_number(r, r->word[0], text + 1, COUNT_MAX, &n);
	if (!err)
		err = add_total(r, n, 1);
	if (!err)
		*ret = *text == '-' ? -(s64)n : (s64)n;
	return err;
}

static int on_starts(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_STARTS };

	return take_difference(r, &e.more) ?: add_event(r, &e);
}

static int on_kernel(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_KERNEL };

	if (!strcmp(r->word[1], "unknown"))
		e.kind = REPLAY_KERNEL_UNKNOWN;
	else if (take_difference(r, &e.more))
		return -EINVAL;
	return add_event(r, &e);
}

static int on_after(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_AFTER };
	int err = 0;

	for (u32 i = 1; !err && i < r->words; i++) {
		const char *starts = word_value(r->word[i], "starts");
		const char *in_flight = word_value(r->word[i], "in-flight");

		if (starts) {
			err = take_number(r, "starts", starts, COUNT_MAX, &e.n);
		} else if (in_flight) {
			err = take_number(r, "in-flight", in_flight, COUNT_MAX, &e.in_flight);
			e.what = 1;
		} else {
			err = bad(r, "'%.40s' is neither starts=N nor in-flight=N", r->word[i]);
		}
	}
	if (!err)
		err = add_total(r, e.n + e.in_flight, 1);
	return err ?: add_event(r, &e);
}

static int on_gone(struct reader *r)
{
	return add_event(r, &(struct replay_event){ .kind = REPLAY_GONE });
}

static int on_tick(struct reader *r)
{
	struct replay_event e = { .kind = REPLAY_TICK };
	const char *length = r->word[1], *at;
	int err;

	if (!word_decimal(length, length + strlen(length), NSEC_PER_SEC, &e.ns) || !e.ns)
		return bad(r, "tick '%.40s' must be seconds, like 1.0003, above 0, whole in ns", length);
	err = add_total(r, e.ns, 1);
	if (err)
		return err;
	if (__builtin_add_overflow(r->wall_ns, (s64)e.ns, &r->wall_ns))
		return bad(r, "the wall clock is beyond the year 2262");
	if (r->words > 2) {
		at = word_value(r->word[2], "at");
		if (!at || !word_time(at, &r->wall_ns))
			return bad(r, "'%.40s' must be like at=2026-11-21T07:35:00.000Z", r->word[2]);
	}
	e.more = r->wall_ns;
	return add_event(r, &e);
}

static const struct statement {
	const char *name;
	u32 min, max;		/* words after the name */
	bool declares;
	int (*read)(struct reader *r);
} statements[] = {
	{ "engine", 1, 1, true, on_engine },
	{ "scale", 1, 1, true, on_scale },
	{ "cpus", 1, 1, true, on_cpus },
	{ "memory", 1, 1, true, on_memory },
	{ "idle-gap", 1, 1, true, on_idle_gap },
	{ "start", 1, 1, true, on_start },
	{ "device", 1, 8, true, on_device },
	{ "watch", 2, 2, true, on_watch },
	{ "on", 2, 2, false, on_on },
	{ "io", 3, 6, false, on_io },
	{ "in-flight", 1, 2, false, on_in_flight },
	{ "account", 2, 2, false, on_account },
	{ "starts", 1, 1, false, on_starts },
	{ "after", 1, 2, false, on_after },
	{ "kernel-ios", 1, 1, false, on_kernel },
	{ "skipped", 1, 1, false, on_skipped },
	{ "gone", 0, 0, false, on_gone },
	{ "tick", 1, 2, false, on_tick },
};

static int read_statement(struct reader *r)
{
	const struct statement *st = statements;
	const struct statement *end = statements + ARRAY_SIZE(statements);

	while (st < end && strcmp(st->name, r->word[0]))
		st++;
	if (st == end)
		return bad(r, "unknown statement '%.40s'", r->word[0]);
	if (st->min == st->max && r->words - 1 != st->min)
		return bad(r, "'%s' takes %u word%s, not %u", st->name, st->min, st->min == 1 ? "" : "s",
			   r->words - 1);
	if (r->words - 1 < st->min || r->words - 1 > st->max)
		return bad(r, "'%s' takes %u to %u words, not %u", st->name, st->min, st->max,
			   r->words - 1);
	if (st->declares && r->s->n_events)
		return bad(r, "'%s' must come before anything happens", st->name);
	if (!st->declares && !r->s->n_watches)
		return bad(r, "nothing is watched, declare it with 'watch' before '%s'", st->name);
	return st->read(r);
}

static int split_words(struct reader *r, char *text)
{
	r->words = 0;
	for (;;) {
		text += strspn(text, " \t");
		if (!*text || *text == '#')
			return 0;
		if (r->words == WORDS_MAX)
			return bad(r, "more than %u words", WORDS_MAX);
		r->word[r->words] = word_cut(&text);
		if (!r->word[r->words])
			return bad(r, "a quote is left open");
		r->words++;
	}
}

static int read_line(struct reader *r, char *line, size_t len)
{
	int err;

	if (len && line[len - 1] == '\n')
		line[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' && line[i] != '\t')
			return bad(r, "a control character (byte %zu of the line)", i + 1);
	if (r->line == 1)
		return strcmp(line, "blklat-replay 1") ?
			bad(r, "no replay script, its first line must be 'blklat-replay 1'") : 0;
	err = split_words(r, line);
	if (err || !r->words)
		return err;
	return read_statement(r);
}

static int read_file(struct reader *r, FILE *f)
{
	char *line CLEANUP(cleanup_free) = NULL;
	size_t room = 0;
	ssize_t len;
	int err;

	for (r->line = 1; (len = getline(&line, &room, f)) >= 0; r->line++) {
		if (len > LINE_MAX_BYTES)
			return bad(r, "the line is longer than %d bytes", LINE_MAX_BYTES);
		err = read_line(r, line, len);
		if (err)
			return err;
	}
	if (ferror(f))
		return problem_set(r->p, -errno, "%s: can't be read: %s", r->file, strerror(errno));
	if (r->line == 1)
		return bad(r, "an empty file is no replay script");
	if (!r->s->n_events || r->s->events[r->s->n_events - 1].kind != REPLAY_TICK)
		return bad(r, "the script must end with a 'tick'");
	return 0;
}

int replay_script_read(struct replay_script *s, const char *file, struct problem *p)
{
	struct reader r = { .s = s, .p = p, .file = file };
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
	free(s->devices);
	free(s->events);
	*s = (struct replay_script){ 0 };
}
