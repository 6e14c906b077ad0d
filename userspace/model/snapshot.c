// SPDX-License-Identifier: GPL-2.0-only
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static void op_uninit(struct op_counts *o)
{
	hist_uninit(&o->hist);
	hist_uninit(&o->after_idle);
}

int snapshot_init(struct snapshot *s, u32 n, u32 scale)
{
	struct snapshot made = { .n = n, .w = calloc(n ? n : 1, sizeof(*made.w)) };

	if (!made.w)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_counts *o = &made.w[i].ops[op];
			int err = hist_init(&o->hist, scale) ?: hist_init(&o->after_idle, idle_scale(scale));

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
			op_uninit(&s->w[i].ops[op]);
	free(s->w);
	s->w = NULL;
	s->n = 0;
}

static void op_copy(struct op_counts *to, const struct op_counts *from)
{
	struct hist hist = to->hist, after_idle = to->after_idle;

	hist_copy(&hist, &from->hist);
	hist_copy(&after_idle, &from->after_idle);
	*to = *from;
	to->hist = hist;
	to->after_idle = after_idle;
}

void watch_counts_copy(struct watch_counts *to, const struct watch_counts *from)
{
	struct op_counts ops[BLKLAT_OPS];

	memcpy(ops, to->ops, sizeof(ops));
	*to = *from;
	memcpy(to->ops, ops, sizeof(ops));
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_copy(&to->ops[op], &from->ops[op]);
}

void snapshot_copy(struct snapshot *to, const struct snapshot *from)
{
	struct watch_counts *w = to->w;

	*to = *from;
	to->w = w;
	for (u32 i = 0; i < from->n; i++)
		watch_counts_copy(&w[i], &from->w[i]);
}
