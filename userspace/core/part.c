// SPDX-License-Identifier: GPL-2.0-only
#include "core/part.h"

#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "blklat/parts.h"
#include "core/kinds.h"

const char *const by_names[BLKLAT_BYS] = { DIVISIONS(KIND_NAME) };
static const char *const by_meanings[BLKLAT_BYS] = { DIVISIONS(KIND_MEANING) };

/* In the order of parts.h, which numbers them from 1. */
#define SIZE(label, number) { "size", label, number }
static const struct part size_parts[] = {
	SIZE("4 KiB", 1), SIZE("8 KiB", 2), SIZE("16 KiB", 3), SIZE("32 KiB", 4), SIZE("64 KiB", 5), SIZE("128 KiB", 6),
	SIZE("256 KiB", 7), SIZE("512 KiB", 8), SIZE("1 MiB+", 9),
};
static_assert(ARRAY_SIZE(size_parts) == BLKLAT_SIZE_PARTS, "a label for each");

static const struct part flags_parts[] = {
	{ "flags", "FUA/flush", BLKLAT_FLAGS_FUA }, { "flags", "metadata", BLKLAT_FLAGS_METADATA },
	{ "flags", "readahead", BLKLAT_FLAGS_READAHEAD }, { "flags", "sync", BLKLAT_FLAGS_SYNC },
	{ "flags", "writeback", BLKLAT_FLAGS_WRITE_BACK }, { "flags", "other", BLKLAT_FLAGS_OTHER },
};
static_assert(ARRAY_SIZE(flags_parts) == BLKLAT_FLAGS_PARTS, "a label for each");

#define DEPTH(label, number) { "depth", label, number }
static const struct part depth_parts[] = {
	DEPTH("1", 1), DEPTH("2", 2), DEPTH("3-4", 3), DEPTH("5-8", 4), DEPTH("9-16", 5), DEPTH("17-32", 6),
	DEPTH("33-64", 7), DEPTH("65-128", 8), DEPTH("129-256", 9), DEPTH("257-512", 10), DEPTH("513+", 11),
};
static_assert(ARRAY_SIZE(depth_parts) == BLKLAT_DEPTH_PARTS, "a label for each");

static const struct part beside_parts[] = {
	{ "beside", "flush", BLKLAT_KIND_FLUSH }, { "beside", "discard", BLKLAT_KIND_DISCARD },
	{ "beside", "other", BLKLAT_KIND_OTHER }, { "beside", "big write", BLKLAT_KIND_LARGE_WRITE },
	{ "beside", "write", BLKLAT_KIND_WRITE }, { "beside", "read", BLKLAT_KIND_READ },
	{ "beside", "nothing", BLKLAT_BESIDE_NOTHING },
};
static_assert(ARRAY_SIZE(beside_parts) == BLKLAT_BESIDE_PARTS, "a label for each");

#define LEVELS(class, first) \
	{ "priority", class "/0", first }, { "priority", class "/1", first + 1 }, { "priority", class "/2", first + 2 }, \
	{ "priority", class "/3", first + 3 }, { "priority", class "/4", first + 4 }, { "priority", class "/5", first + 5 }, \
	{ "priority", class "/6", first + 6 }, { "priority", class "/7", first + 7 }
static const struct part priority_parts[] = {
	LEVELS("rt", 1), LEVELS("be", 9), { "priority", "none", BLKLAT_PRIORITY_NONE },
	{ "priority", "idle", BLKLAT_PRIORITY_PARTS },
};
static_assert(ARRAY_SIZE(priority_parts) == BLKLAT_PRIORITY_PARTS, "a label for each");

#define OPERATION(label, number) { "operation", label, number }
static const struct part operation_parts[] = {
	OPERATION("read", 1), OPERATION("write", 2), OPERATION("flush", 3), OPERATION("discard", 4), OPERATION("zone append", 5),
	OPERATION("write zeroes", 6), OPERATION("secure erase", 7), OPERATION("zone open", 8), OPERATION("zone close", 9),
	OPERATION("zone finish", 10), OPERATION("zone reset", 11), OPERATION("zone reset all", 12),
	OPERATION("passthrough in", 13), OPERATION("passthrough out", 14), OPERATION("other", 15),
};
static_assert(ARRAY_SIZE(operation_parts) == BLKLAT_OPERATION_PARTS, "a label for each");

/* The others depend on the machine: see find_owner(). */
static const struct part cgroup_parts[] = {
	{ "cgroup", "none", BLKLAT_CGROUP_NONE },
	{ "cgroup", "rest", BLKLAT_CGROUP_REST },
};
static_assert(ARRAY_SIZE(cgroup_parts) == BLKLAT_CGROUP_FIRST - 1, "a label for each");

static const struct part process_parts[] = {
	{ "process", "kworker", BLKLAT_PROCESS_WORKERS },
	{ "process", "rest", BLKLAT_CGROUP_REST },
};
static_assert(ARRAY_SIZE(process_parts) == BLKLAT_CGROUP_FIRST - 1, "a label for each");

static const struct part vacant[BLKLAT_BYS] = {
	[BLKLAT_BY_CGROUP] = { "cgroup", "", 0 },
	[BLKLAT_BY_PROCESS] = { "process", "", 0 },
};

static const struct part *const parts[BLKLAT_BYS] = {
	[BLKLAT_BY_SIZE] = size_parts,
	[BLKLAT_BY_FLAGS] = flags_parts,
	[BLKLAT_BY_DEPTH] = depth_parts,
	[BLKLAT_BY_BESIDE] = beside_parts,
	[BLKLAT_BY_CGROUP] = cgroup_parts,
	[BLKLAT_BY_PROCESS] = process_parts,
	[BLKLAT_BY_PRIORITY] = priority_parts,
	[BLKLAT_BY_OPERATION] = operation_parts,
};

/* --- parts that are made when they are first seen ------------------------------------------- */

struct made_part {
	struct part part;
	u32 keepers;
	TAILQ_ENTRY(made_part) spare;	/* if nobody keeps it */
	char label[];
};

/* All that were made, as trees by label; those that nobody keeps also stand in a list, the one used last at its end. */
static struct {
	pthread_mutex_t lock;
	void *trees[BLKLAT_BYS];
	u32 n_made;
	u32 n_spare;
	TAILQ_HEAD(, made_part) spare;
} made = { .lock = PTHREAD_MUTEX_INITIALIZER, .spare = TAILQ_HEAD_INITIALIZER(made.spare) };

static int by_label(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	return strcmp(p->label, q->label);
}

static u32 by_of(const struct part *part)
{
	u32 by = BLKLAT_BY_SIZE;

	while (strcmp(part->by, by_names[by]))
		by++;
	return by;
}

static void take_out(struct made_part *m)
{
	TAILQ_REMOVE(&made.spare, m, spare);
	made.n_spare--;
}

/* Puts one that nobody keeps at the end of the list. */
static void put_last(struct made_part *m)
{
	struct made_part *first = TAILQ_FIRST(&made.spare);

	TAILQ_INSERT_TAIL(&made.spare, m, spare);
	if (++made.n_spare <= PARTS_SPARE)
		return;
	take_out(first);
	tdelete(&first->part, &made.trees[by_of(&first->part)], by_label);
	free(first);
}

static struct made_part *make(enum blklat_by by, const char *label)
{
	struct made_part *m = calloc(1, sizeof(*m) + strlen(label) + 1);

	if (!m)
		return NULL;
	strcpy(m->label, label);
	m->part = (struct part){ by_names[by], m->label, BLKLAT_CGROUP_FIRST + made.n_made };
	if (!tsearch(&m->part, &made.trees[by], by_label)) {
		free(m);
		return NULL;
	}
	made.n_made++;
	return m;
}

/* Finds or makes the part with a label. */
static struct made_part *find_made(enum blklat_by by, const char *label)
{
	const struct part sought = { .label = label };
	struct made_part **at = tfind(&sought, &made.trees[by], by_label), *m = at ? *at : make(by, label);

	if (at && !m->keepers)
		take_out(m);
	if (m && !m->keepers)
		put_last(m);
	return m;
}

static const struct part *find_owner(enum blklat_by by, const char *label)
{
	struct made_part *found;

	if (!label[0])
		return &vacant[by];
	if (strlen(label) >= PART_LABEL_MAX)
		return NULL;
	pthread_mutex_lock(&made.lock);
	found = find_made(by, label);
	pthread_mutex_unlock(&made.lock);
	return found ? &found->part : NULL;
}

static struct made_part *as_made(const struct part *part)
{
	return part_has_owners(part) && part->number >= BLKLAT_CGROUP_FIRST ? (struct made_part *)part : NULL;
}

void part_keep(const struct part **at, const struct part *part)
{
	struct made_part *was = as_made(*at), *is = as_made(part);

	*at = part;
	if (was == is)
		return;
	pthread_mutex_lock(&made.lock);
	if (is && !is->keepers++)
		take_out(is);
	if (was && !--was->keepers)
		put_last(was);
	pthread_mutex_unlock(&made.lock);
}

const struct part *part_find(const char *by, const char *label)
{
	for (u32 i = BLKLAT_BY_SIZE; i < BLKLAT_BYS; i++) {
		if (strcmp(by, by_names[i]) != 0)
			continue;
		for (u32 n = 0; n < blklat_parts(i, 0); n++)
			if (!strcmp(label, parts[i][n].label))
				return &parts[i][n];
		return blklat_has_owners(i) ? find_owner(i, label) : NULL;
	}
	return NULL;
}

const struct part *part_numbered(enum blklat_by by, u32 number)
{
	return number <= blklat_parts(by, 0) ? &parts[by][number - 1] : &vacant[by];
}

bool part_is_vacant(const struct part *part)
{
	return !part->label[0];
}

bool part_is_by(const struct part *part, enum blklat_by by)
{
	return part && !strcmp(part->by, by_names[by]);
}

bool part_has_owners(const struct part *part)
{
	return part_is_by(part, BLKLAT_BY_CGROUP) || part_is_by(part, BLKLAT_BY_PROCESS);
}

bool part_is_owner(const struct part *part)
{
	return part_has_owners(part) && (part_is_by(part, BLKLAT_BY_PROCESS) ? part->number >= BLKLAT_CGROUP_FIRST
									   : !!strchr(part->label, '/'));
}

void part_text(char ret[PART_TEXT_MAX], const struct part *part)
{
	bool plain = part_is_owner(part) || !strcmp(part->by, by_names[BLKLAT_BY_SIZE]);

	snprintf(ret, PART_TEXT_MAX, "%s%s%s", plain ? "" : part->by, plain ? "" : " ", part->label);
}

const char *part_meaning(const struct part *part)
{
	return by_meanings[by_of(part)];
}
