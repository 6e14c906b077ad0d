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

const struct part *part_find(const char *by, const char *label)
{
	for (u32 i = 0; i < ARRAY_SIZE(size_parts); i++)
		if (!strcmp(size_parts[i].by, by) && !strcmp(size_parts[i].label, label))
			return &size_parts[i];
	return NULL;
}

bool same_part(const struct watch *a, const struct watch *b)
{
	if (!a->part || !b->part)
		return !a->part && !b->part;
	return !strcmp(a->part->by, b->part->by) && !strcmp(a->part->label, b->part->label);
}

const struct part *parts_by(enum blklat_by by)
{
	return by == BLKLAT_BY_SIZE ? size_parts : NULL;
}

u32 watch_parts(const struct watch *w, u32 n, u32 i)
{
	u32 parts = 0;

	while (!w[i].part && i + 1 + parts < n && w[i + 1 + parts].part)
		parts++;
	return parts;
}

int watches_divide(const struct watch *w, u32 n, enum blklat_by by, struct watch **ret, u32 *ret_n)
{
	u32 parts = blklat_parts(by), made = 0;
	struct watch *list = calloc((size_t)n * (1 + parts) + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		list[made++] = w[i];
		for (u32 p = 0; p < parts; p++) {
			list[made] = w[i];
			list[made++].part = &parts_by(by)[p];
		}
	}
	*ret = list;
	*ret_n = made;
	return 0;
}
