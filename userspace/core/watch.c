// SPDX-License-Identifier: GPL-2.0-only
#include "core/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"

const char *const stage_names[BLKLAT_STAGES] = {
	[BLKLAT_STAGE_DEVICE] = "device",
	[BLKLAT_STAGE_QUEUE] = "queue",
	[BLKLAT_STAGE_TOTAL] = "total",
};

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

int watches_divide(const struct watch *w, u32 n, enum blklat_by by, u32 cgroups, struct watch **ret, u32 *ret_n)
{
	u32 n_parts = blklat_parts(by, cgroups), made = 0;
	struct watch *list = calloc((size_t)n * (1 + n_parts) + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		list[made++] = w[i];
		for (u32 p = 1; p <= n_parts; p++) {
			list[made] = w[i];
			list[made++].part = part_numbered(by, p);
		}
	}
	*ret = list;
	*ret_n = made;
	return 0;
}
