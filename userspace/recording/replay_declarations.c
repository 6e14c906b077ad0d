// SPDX-License-Identifier: GPL-2.0-only
/* The statements about a script's whole run: the machine, its devices, the watches. */
#include <string.h>

#include "recording/replay_parser.h"
#include "recording/replay_words.h"

#define SIZE_MAX_BYTES (1ULL << 62)
#define QUEUES_MAX 65536

static struct device *find_device(struct replay_parser *r, const char *name)
{
	for (u32 i = 0; i < r->s->n_devices; i++)
		if (!strcmp(r->s->devices[i].name, name))
			return &r->s->devices[i];
	return NULL;
}

static int take_text(struct replay_parser *r, const char *what, const char *text, char *to, size_t room)
{
	if (strlen(text) >= room)
		return parser_bad(r, "%s is longer than %zu bytes", what, room - 1);
	strcpy(to, text);
	return 0;
}

static int on_engine(struct replay_parser *r)
{
	return take_text(r, "the engine's name", r->word[1], r->s->engine, sizeof(r->s->engine));
}

static int on_scale(struct replay_parser *r)
{
	u64 n;
	int err = parser_number(r, "scale", r->word[1], BLKLAT_SCALE_MAX, &n);

	if (!err)
		r->s->scale = n;
	return err;
}

static int on_cpus(struct replay_parser *r)
{
	u64 n;
	int err = parser_number(r, "cpus", r->word[1], 65536, &n);

	if (!err && !n)
		err = parser_bad(r, "cpus must be at least 1");
	if (!err)
		r->s->cpus = n;
	return err;
}

static int on_memory(struct replay_parser *r)
{
	return parser_number(r, "memory", r->word[1], SIZE_MAX_BYTES, &r->s->memory_bytes);
}

static int on_idle_gap(struct replay_parser *r)
{
	u64 ns;

	if (!word_latency(r->word[1], &ns) || !ns)
		return parser_bad(r, "idle-gap '%.40s' must be like 100ms (ns, us, ms, s), above 0", r->word[1]);
	r->s->idle_gap_ns = ns;
	return 0;
}

static int on_start(struct replay_parser *r)
{
	if (!word_time(r->word[1], &r->s->start_ns))
		return parser_bad(r, "'%.40s' is not a time, write it as 2026-11-21T07:35:00.000Z", r->word[1]);
	r->wall_ns = r->s->start_ns;
	return 0;
}

static int take_fact(struct replay_parser *r, struct device *d, const char *word)
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
		return parser_number(r, "size", v, SIZE_MAX_BYTES, &d->size_bytes);
	if ((v = word_value(word, "queues"))) {
		err = parser_number(r, "queues", v, QUEUES_MAX, &n);
		if (!err)
			d->hw_queues = n;
		return err;
	}
	if ((v = word_value(word, "tags"))) {
		err = parser_number(r, "tags", v, QUEUES_MAX, &n);
		if (!err)
			d->tags = n;
		return err;
	}
	return parser_bad(r, "a device has no '%.40s'", word);
}

static int on_device(struct replay_parser *r)
{
	struct replay_script *s = r->s;
	struct device *d = &s->devices[s->n_devices];
	int err;

	if (s->n_devices == REPLAY_DEVICES_MAX)
		return parser_bad(r, "more than %u devices", REPLAY_DEVICES_MAX);
	if (!r->word[1][0])
		return parser_bad(r, "a device needs a name");
	if (find_device(r, r->word[1]))
		return parser_bad(r, "device '%.40s' already exists", r->word[1]);
	d->hw_queues = 1;
	d->parent = s->n_devices;
	err = take_text(r, "the device's name", r->word[1], d->name, sizeof(d->name));
	for (u32 i = 2; !err && i < r->words; i++)
		err = take_fact(r, d, r->word[i]);
	if (!err)
		s->n_devices++;
	return err;
}

int parser_find_watch(struct replay_parser *r, struct watch *ret, u32 *ret_index)
{
	u32 stage, i;

	ret->device = find_device(r, r->word[1]);
	if (!ret->device)
		return parser_bad(r, "no device '%.40s', declare it with 'device'", r->word[1]);
	if (!word_index(stage_names, BLKLAT_STAGES, r->word[2], &stage))
		return parser_bad(r, "unknown stage '%.40s', it is device, queue or total", r->word[2]);
	ret->stage = stage;
	for (i = 0; i < r->s->n_watches; i++)
		if (r->s->watches[i].device == ret->device && r->s->watches[i].stage == ret->stage)
			break;
	*ret_index = i;
	return 0;
}

static int on_by(struct replay_parser *r)
{
	u32 chosen;

	if (!word_index(by_names + 1, BLKLAT_BYS - 1, r->word[1], &chosen))
		return parser_bad(r, "unknown '%.40s', it is size, flags, depth, beside or cgroup", r->word[1]);
	r->s->by = chosen + 1;
	return 0;
}

static int on_slow_max(struct replay_parser *r)
{
	return parser_number(r, "slow-max", r->word[1], 10000, &r->s->slow_most) ?:
	       r->s->slow_most ? 0 : parser_bad(r, "slow-max '0' keeps none: leave it out");
}

static int on_watch(struct replay_parser *r)
{
	struct replay_script *s = r->s;
	struct watch w = { 0 };
	u32 i;
	int err = parser_find_watch(r, &w, &i);

	if (err)
		return err;
	if (i < s->n_watches)
		return parser_bad(r, "stage %s of '%.40s' is watched already", r->word[2], r->word[1]);
	if (s->n_watches == REPLAY_WATCHES_MAX)
		return parser_bad(r, "more than %u watches", REPLAY_WATCHES_MAX);
	find_device(r, r->word[1])->stages |= 1u << w.stage;
	s->watches[s->n_watches++] = w;
	return 0;
}

const struct replay_statement replay_declarations[] = {
	{ "engine", 1, 1, on_engine },
	{ "scale", 1, 1, on_scale },
	{ "cpus", 1, 1, on_cpus },
	{ "memory", 1, 1, on_memory },
	{ "idle-gap", 1, 1, on_idle_gap },
	{ "by", 1, 1, on_by },
	{ "slow-max", 1, 1, on_slow_max },
	{ "start", 1, 1, on_start },
	{ "device", 1, 8, on_device },
	{ "watch", 2, 2, on_watch },
	{ 0 }
};
