// SPDX-License-Identifier: GPL-2.0-only
/* The statements about what happens in a script. Each becomes an event. All sums stay within bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "recording/replay_parser.h"
#include "recording/replay_words.h"

#define EVENTS_MAX (1u << 20)
#define TOTAL_MAX (1ULL << 62)

/* Keeps any sum over the script within 2^62. */
static int add_total(struct replay_parser *r, u64 n, u64 each)
{
	u64 product;

	if (__builtin_mul_overflow(n, each, &product) || product > TOTAL_MAX - r->total)
		return parser_bad(r, "the sums of this script are beyond 2^62");
	r->total += product;
	return 0;
}

int parser_add_event(struct replay_parser *r, const struct replay_event *e)
{
	struct replay_script *s = r->s;

	if (s->n_events == EVENTS_MAX)
		return parser_bad(r, "more than %u statements", EVENTS_MAX);
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

static int on_on(struct replay_parser *r)
{
	struct watch w = { 0 };
	u32 i;
	int err = parser_find_watch(r, &w, &i);

	if (!err && i == r->s->n_watches)
		err = parser_bad(r, "stage %s of '%.40s' is not watched, declare it with 'watch'", r->word[2],
				 r->word[1]);
	if (!err)
		r->watch = i;
	return err;
}

int parser_op(struct replay_parser *r, u32 *ret)
{
	if (word_index(op_names, BLKLAT_OPS, r->word[1], ret))
		return 0;
	return parser_bad(r, "unknown op '%.40s', it is read, write, flush, discard or other", r->word[1]);
}

/* A path names a cgroup, which gets a part when it is named for the first time. */
static int take_cgroup(struct replay_parser *r, const char *label, struct replay_event *e)
{
	struct replay_script *s = r->s;
	const struct part *part = part_find(by_names[BLKLAT_BY_CGROUP], label);
	u32 i = 0;

	if (!part && strlen(label) < PART_LABEL_MAX)
		return problem_set(r->p, -ENOMEM, "%s: no memory", r->file);
	if (!part)
		return parser_bad(r, "'%.40s...' is too long", label);
	while (i < s->n_cgroups && s->cgroups[i] != part)
		i++;
	if (i == BLKLAT_CGROUPS_MAX)
		return parser_bad(r, "more than %u cgroups", BLKLAT_CGROUPS_MAX);
	s->cgroups[i] = part;
	s->n_cgroups += i == s->n_cgroups;
	e->part = BLKLAT_CGROUP_FIRST + i;
	return 0;
}

/* Finds the IO's part: @label names it or, if IOs are divided by size, its bytes decide. */
int parser_part(struct replay_parser *r, const char *label, struct replay_event *e)
{
	enum blklat_by by = r->s->by;
	const struct part *part;

	if (by == BLKLAT_BY_SIZE && !label) {
		e->part = blklat_size_part(e->bytes);
		return 0;
	}
	if (by == BLKLAT_BY_CGROUP && label && label[0] == '/')
		return take_cgroup(r, label, e);
	part = label && by ? part_find(by_names[by], label) : NULL;
	if (label && !by)
		return parser_bad(r, "in= needs a 'by' before it");
	if (by && !label)
		return parser_bad(r, "in=PART is missing, since IOs are divided by %s", by_names[by]);
	if (label && (!part || part->number > blklat_parts(by, 0) || part_is_vacant(part)))
		return parser_bad(r, "'%.40s' is not a part by %s", label, by_names[by]);
	e->part = part ? part->number : 0;
	return 0;
}

static int on_io(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_IO, .n = 1 };
	const char *label = NULL;
	int err = parser_op(r, &e.what);

	if (err)
		return err;
	if (!word_latency(r->word[2], &e.ns))
		return parser_bad(r, "latency '%.40s' must be like 81.2us (ns, us, ms, s), whole in ns", r->word[2]);
	err = parser_number(r, "bytes", r->word[3], PARSER_BYTES_MAX, &e.bytes);
	for (u32 i = 4; !err && i < r->words; i++) {
		const char *errors = word_value(r->word[i], "errors");

		if (errors)
			err = parser_number(r, "errors", errors, PARSER_COUNT_MAX, &e.errors);
		else if (r->word[i][0] == 'x')
			err = parser_number(r, "count", r->word[i] + 1, PARSER_COUNT_MAX, &e.n);
		else if (!strcmp(r->word[i], "after-idle"))
			e.after_idle = true;
		else if (word_value(r->word[i], "in"))
			label = word_value(r->word[i], "in");
		else
			err = parser_bad(r, "'%.40s' is neither xCOUNT, errors=N, in=PART nor after-idle", r->word[i]);
	}
	if (!err)
		err = parser_part(r, label, &e);
	if (!err && e.after_idle && !r->s->idle_gap_ns)
		err = parser_bad(r, "after-idle needs an 'idle-gap' before it");
	if (!err && e.errors > e.n)
		err = parser_bad(r, "%llu errors are more than the %llu IOs", e.errors, e.n);
	if (!err)
		err = add_total(r, e.n, e.ns);
	if (!err)
		err = add_total(r, e.n, e.bytes);
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: parser_add_event(r, &e);
}

static int on_part(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_PART };
	const char *label = NULL, *errors;
	int err = parser_op(r, &e.what);

	if (!err)
		err = parser_number(r, "bytes", r->word[2], PARSER_BYTES_MAX, &e.bytes);
	for (u32 i = 3; !err && i < r->words; i++) {
		if ((errors = word_value(r->word[i], "errors")))
			err = parser_number(r, "errors", errors, PARSER_COUNT_MAX, &e.errors);
		else if (word_value(r->word[i], "in"))
			label = word_value(r->word[i], "in");
		else
			err = parser_bad(r, "'%.40s' is neither errors=N nor in=PART", r->word[i]);
	}
	if (!err)
		err = parser_part(r, label, &e);
	if (!err)
		err = add_total(r, e.bytes + e.errors, 1);
	return err ?: parser_add_event(r, &e);
}

static int on_in_flight(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_IN_FLIGHT };
	int err = parser_number(r, "in-flight", r->word[1], PARSER_COUNT_MAX, &e.n);
	const char *age = r->words > 2 ? word_value(r->word[2], "oldest") : NULL;
	const char *waited = r->words > 3 ? word_value(r->word[3], "waited") : NULL;

	if (!err && r->words > 2 && (!age || !word_latency(age, &e.ns)))
		err = parser_bad(r, "'%.40s' must be like oldest=81.2us", r->word[2]);
	if (!err && r->words > 3 && (!waited || !word_latency(waited, &e.waited_ns)))
		err = parser_bad(r, "'%.40s' must be like waited=1.3ms", r->word[3]);
	if (!err && e.ns && !e.n)
		err = parser_bad(r, "none in flight, so there is no oldest");
	if (!err && r->words > 3 && (!e.n || e.waited_ns < e.ns || e.waited_ns / e.n > e.ns))
		err = parser_bad(r, "%llu IOs of which the oldest has that age can't have waited for '%.40s' in all", (unsigned long long)e.n,
				 waited);
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: parser_add_event(r, &e);
}

static int on_account(struct replay_parser *r)
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
		return parser_bad(r, "unknown cell '%.40s', it is requeued, no_start, overwritten, tag_range, "
				  "table_full, before or unissued", r->word[1]);
	err = parser_number(r, r->word[1], r->word[2], PARSER_COUNT_MAX, &e.n);
	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: parser_add_event(r, &e);
}

static int on_skipped(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_SKIPPED };
	int err = parser_number(r, "skipped", r->word[1], PARSER_COUNT_MAX, &e.n);

	if (!err)
		err = add_total(r, e.n, 1);
	return err ?: parser_add_event(r, &e);
}

/* "+5", "-5" */
static int take_difference(struct replay_parser *r, s64 *ret)
{
	const char *text = r->word[1];
	u64 n;
	int err;

	if (*text != '+' && *text != '-')
		return parser_bad(r, "%s '%.40s' must be +N or -N", r->word[0], text);
	err = parser_number(r, r->word[0], text + 1, PARSER_COUNT_MAX, &n);
	if (!err)
		err = add_total(r, n, 1);
	if (!err)
		*ret = *text == '-' ? -(s64)n : (s64)n;
	return err;
}

static int on_starts(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_STARTS };

	return take_difference(r, &e.more) ?: parser_add_event(r, &e);
}

static int on_kernel(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_KERNEL };

	if (!strcmp(r->word[1], "unknown"))
		e.kind = REPLAY_KERNEL_UNKNOWN;
	else if (take_difference(r, &e.more))
		return -EINVAL;
	return parser_add_event(r, &e);
}

static int on_after(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_AFTER };
	int err = 0;

	for (u32 i = 1; !err && i < r->words; i++) {
		const char *starts = word_value(r->word[i], "starts");
		const char *in_flight = word_value(r->word[i], "in-flight");

		if (starts) {
			err = parser_number(r, "starts", starts, PARSER_COUNT_MAX, &e.n);
		} else if (in_flight) {
			err = parser_number(r, "in-flight", in_flight, PARSER_COUNT_MAX, &e.in_flight);
			e.what = 1;
		} else {
			err = parser_bad(r, "'%.40s' is neither starts=N nor in-flight=N", r->word[i]);
		}
	}
	if (!err)
		err = add_total(r, e.n + e.in_flight, 1);
	return err ?: parser_add_event(r, &e);
}

static int on_gone(struct replay_parser *r)
{
	return parser_add_event(r, &(struct replay_event){ .kind = REPLAY_GONE });
}

static int on_tick(struct replay_parser *r)
{
	struct replay_event e = { .kind = REPLAY_TICK };
	const char *length = r->word[1], *at;
	int err;

	if (!word_decimal(length, length + strlen(length), NSEC_PER_SEC, &e.ns) || !e.ns)
		return parser_bad(r, "tick '%.40s' must be seconds, like 1.0003, above 0, whole in ns", length);
	err = add_total(r, e.ns, 1);
	if (err)
		return err;
	if (__builtin_add_overflow(r->wall_ns, (s64)e.ns, &r->wall_ns))
		return parser_bad(r, "the wall clock is beyond the year 2262");
	if (r->words > 2) {
		at = word_value(r->word[2], "at");
		if (!at || !word_time(at, &r->wall_ns))
			return parser_bad(r, "'%.40s' must be like at=2026-11-21T07:35:00.000Z", r->word[2]);
	}
	e.more = r->wall_ns;
	return parser_add_event(r, &e);
}

const struct replay_statement replay_events[] = {
	{ "on", 2, 2, on_on },
	{ "io", 3, 7, on_io },
	{ "part", 2, 4, on_part },
	{ "slow", 3, REPLAY_WORDS_MAX - 1, parser_slow },
	{ "in-flight", 1, 3, on_in_flight },
	{ "account", 2, 2, on_account },
	{ "starts", 1, 1, on_starts },
	{ "after", 1, 2, on_after },
	{ "kernel-ios", 1, 1, on_kernel },
	{ "skipped", 1, 1, on_skipped },
	{ "gone", 0, 0, on_gone },
	{ "tick", 1, 2, on_tick },
	{ 0 }
};
