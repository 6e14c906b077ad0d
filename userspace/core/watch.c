// SPDX-License-Identifier: GPL-2.0-only
#include "core/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "blklat/parts.h"

const char *const stage_names[BLKLAT_STAGES] = {
	[BLKLAT_STAGE_DEVICE] = "device",
	[BLKLAT_STAGE_QUEUE] = "queue",
	[BLKLAT_STAGE_TOTAL] = "total",
};

const char *const by_names[BLKLAT_BYS] = {
	[BLKLAT_BY_SIZE] = "size",
	[BLKLAT_BY_FLAGS] = "flags",
	[BLKLAT_BY_DEPTH] = "depth",
	[BLKLAT_BY_BESIDE] = "beside",
};

static const char *const by_meanings[BLKLAT_BYS] = {
	[BLKLAT_BY_SIZE] = "bytes, rounded up",
	[BLKLAT_BY_FLAGS] = "what the IO is for, by its flags",
	[BLKLAT_BY_DEPTH] = "IOs in flight when it begins, with it",
	[BLKLAT_BY_BESIDE] = "the strongest of those in flight when it begins",
};

/* In the order of parts.h, which numbers them from 1. */
static const struct part size_parts[] = {
	{ "size", "4 KiB", 1 },
	{ "size", "8 KiB", 2 },
	{ "size", "16 KiB", 3 },
	{ "size", "32 KiB", 4 },
	{ "size", "64 KiB", 5 },
	{ "size", "128 KiB", 6 },
	{ "size", "256 KiB", 7 },
	{ "size", "512 KiB", 8 },
	{ "size", "1 MiB+", 9 },
};
static_assert(ARRAY_SIZE(size_parts) == BLKLAT_SIZE_PARTS, "a label for each");

static const struct part flags_parts[] = {
	{ "flags", "FUA/flush", BLKLAT_FLAGS_FUA },
	{ "flags", "metadata", BLKLAT_FLAGS_METADATA },
	{ "flags", "readahead", BLKLAT_FLAGS_READAHEAD },
	{ "flags", "sync", BLKLAT_FLAGS_SYNC },
	{ "flags", "writeback", BLKLAT_FLAGS_WRITE_BACK },
	{ "flags", "other", BLKLAT_FLAGS_OTHER },
};
static_assert(ARRAY_SIZE(flags_parts) == BLKLAT_FLAGS_PARTS, "a label for each");

static const struct part depth_parts[] = {
	{ "depth", "1", 1 },
	{ "depth", "2", 2 },
	{ "depth", "3-4", 3 },
	{ "depth", "5-8", 4 },
	{ "depth", "9-16", 5 },
	{ "depth", "17-32", 6 },
	{ "depth", "33-64", 7 },
	{ "depth", "65-128", 8 },
	{ "depth", "129-256", 9 },
	{ "depth", "257-512", 10 },
	{ "depth", "513+", 11 },
};
static_assert(ARRAY_SIZE(depth_parts) == BLKLAT_DEPTH_PARTS, "a label for each");

static const struct part beside_parts[] = {
	{ "beside", "flush", BLKLAT_KIND_FLUSH },
	{ "beside", "discard", BLKLAT_KIND_DISCARD },
	{ "beside", "other", BLKLAT_KIND_OTHER },
	{ "beside", "big write", BLKLAT_KIND_LARGE_WRITE },
	{ "beside", "write", BLKLAT_KIND_WRITE },
	{ "beside", "read", BLKLAT_KIND_READ },
	{ "beside", "nothing", BLKLAT_BESIDE_NOTHING },
};
static_assert(ARRAY_SIZE(beside_parts) == BLKLAT_BESIDE_PARTS, "a label for each");

static const struct part *const parts[BLKLAT_BYS] = {
	[BLKLAT_BY_SIZE] = size_parts,
	[BLKLAT_BY_FLAGS] = flags_parts,
	[BLKLAT_BY_DEPTH] = depth_parts,
	[BLKLAT_BY_BESIDE] = beside_parts,
};

const struct part *part_find(const char *by, const char *label)
{
	for (u32 i = BLKLAT_BY_SIZE; i < BLKLAT_BYS; i++)
		for (u32 n = 0; !strcmp(by, by_names[i]) && n < blklat_parts(i); n++)
			if (!strcmp(label, parts[i][n].label))
				return &parts[i][n];
	return NULL;
}

const char *part_meaning(const struct part *part)
{
	u32 by = BLKLAT_BY_SIZE;

	while (strcmp(part->by, by_names[by]))
		by++;
	return by_meanings[by];
}

bool same_part(const struct watch *a, const struct watch *b)
{
	if (!a->part || !b->part)
		return !a->part && !b->part;
	return !strcmp(a->part->by, b->part->by) && !strcmp(a->part->label, b->part->label);
}

u32 watch_parts(const struct watch *w, u32 n, u32 i)
{
	u32 behind = 0;

	while (!w[i].part && i + 1 + behind < n && w[i + 1 + behind].part)
		behind++;
	return behind;
}

int watches_divide(const struct watch *w, u32 n, enum blklat_by by, struct watch **ret, u32 *ret_n)
{
	u32 n_parts = blklat_parts(by), made = 0;
	struct watch *list = calloc((size_t)n * (1 + n_parts) + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		list[made++] = w[i];
		for (u32 p = 0; p < n_parts; p++) {
			list[made] = w[i];
			list[made++].part = &parts[by][p];
		}
	}
	*ret = list;
	*ret_n = made;
	return 0;
}
