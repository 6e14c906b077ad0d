// SPDX-License-Identifier: GPL-2.0-only
#include "core/part.h"

#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};

/* --- parts that are made when they are first seen ------------------------------------------- */

struct made_part {
	struct part part;
	char label[PART_LABEL_MAX];
};

static int by_label(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	return strcmp(p->label, q->label);
}

/* Finds or makes the part with a label, in a tree that only grows. */
static const struct part *find_made(enum blklat_by by, void **tree, u32 *n, const char *label)
{
	const struct part sought = { .label = label };
	struct made_part *new;
	void *at = tfind(&sought, tree, by_label);

	if (at)
		return *(const struct part **)at;
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	strcpy(new->label, label);
	new->part = (struct part){ by_names[by], new->label, BLKLAT_CGROUP_FIRST + *n };
	if (!tsearch(&new->part, tree, by_label)) {
		free(new);
		return NULL;
	}
	(*n)++;
	return &new->part;
}

static const struct part *find_owner(enum blklat_by by, const char *label)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static void *trees[BLKLAT_BYS];
	static u32 n;
	const struct part *found;

	if (!label[0])
		return &vacant[by];
	if (strlen(label) >= PART_LABEL_MAX)
		return NULL;
	pthread_mutex_lock(&lock);
	found = find_made(by, &trees[by], &n, label);
	pthread_mutex_unlock(&lock);
	return found;
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
	u32 by = BLKLAT_BY_SIZE;

	while (strcmp(part->by, by_names[by]))
		by++;
	return by_meanings[by];
}
