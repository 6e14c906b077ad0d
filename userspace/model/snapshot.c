// SPDX-License-Identifier: GPL-2.0-only
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>

const char *const stage_names[BLKLAT_STAGES] = {
	[BLKLAT_STAGE_DEVICE] = "device",
	[BLKLAT_STAGE_QUEUE] = "queue",
	[BLKLAT_STAGE_TOTAL] = "total",
};

const char *const op_names[BLKLAT_OPS] = {
	[BLKLAT_OP_READ] = "read",
	[BLKLAT_OP_WRITE] = "write",
	[BLKLAT_OP_FLUSH] = "flush",
	[BLKLAT_OP_DISCARD] = "discard",
	[BLKLAT_OP_OTHER] = "other",
};

int snapshot_init(struct snapshot *s, u32 n, u32 scale)
{
	struct snapshot made = { .n = n, .w = calloc(n ? n : 1, sizeof(*made.w)) };

	if (!made.w)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			int err = hist_init(&made.w[i].ops[op].hist, scale);

			if (err) {
				snapshot_uninit(&made);
				return err;
			}
		}
	}
	*s = made;
	return 0;
}

void snapshot_uninit(struct snapshot *s)
{
	for (u32 i = 0; s->w && i < s->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			hist_uninit(&s->w[i].ops[op].hist);
	free(s->w);
	s->w = NULL;
	s->n = 0;
}
