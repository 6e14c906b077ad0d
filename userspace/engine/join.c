// SPDX-License-Identifier: GPL-2.0-only
/* A capture that goes on in place of several; see capture_join(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/carry.h"
#include "util/cleanup.h"

/* If a disk was replaced by another one of its name, their diskseq differs. */
static bool same_device(const struct device *a, const struct device *b)
{
	return a->major == b->major && a->minor == b->minor && a->diskseq == b->diskseq && !strcmp(a->name, b->name);
}

/* The whole of @from that corresponds to @w and is not gone, or -1. */
static int find(const struct capture_end *from, const struct watch *w)
{
	const struct kernel_capture *k = (const struct kernel_capture *)from->capture;

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		const struct watch *is = &k->capture.watches[i];

		if (is->stage == w->stage && !from->read->w[i].gone && same_device(is->device, w->device))
			return i;
	}
	return -1;
}

/*
 * Takes over a whole and its parts: what was carried so far is carried on, and the next interval begins
 * at what was last read.
 */
static void take(const struct capture_end *from, u32 i, struct kernel_capture *to, u32 j, struct snapshot *carry,
		 struct snapshot *begin, const struct snapshot *read, struct carried *list)
{
	const struct kernel_capture *of = (const struct kernel_capture *)from->capture;

	to->ios[j].base = of->ios[i].base;
	for (u32 p = 0; p <= to->parts; p++) {
		list[p] = (struct carried){
			.of = of, .from = i + p, .to = j + p, .carry = &carry->w[j + p],
			.read_from = &from->read->w[i + p], .read_to = &read->w[j + p],
		};
		if (of->carry.n)
			carry_add(&carry->w[j + p], &of->carry.w[i + p]);
		watch_counts_copy(&begin->w[j + p], &from->read->w[i + p]);
	}
}

int capture_join(struct capture *heir, const struct snapshot *read, const struct capture_end *from, u32 n,
		 struct snapshot *begin, u64 *ret_gap_ns)
{
	struct kernel_capture *to = (struct kernel_capture *)heir;
	struct carried *list CLEANUP(cleanup_free) = calloc(heir->n_watches, sizeof(*list));
	struct snapshot carry = { 0 };
	u32 found = 0;
	int err = list ? snapshot_init(&carry, heir->n_watches, heir->scale) : -ENOMEM;

	if (err)
		return err;
	snapshot_track(&carry);
	snapshot_copy(begin, read);
	carry.skipped = -read->skipped;
	for (u32 e = 0; e < n; e++) {
		carry.skipped += from[e].read->skipped;
		begin->mono_ns = from[e].read->mono_ns;
		begin->wall_ns = from[e].read->wall_ns;
	}
	for (u32 j = 0; j < heir->n_watches; j = next_whole(to, j)) {
		int i = -1;

		for (u32 e = 0; i < 0 && e < n; e++) {
			i = find(&from[e], &heir->watches[j]);
			if (i >= 0)
				take(&from[e], i, to, j, &carry, begin, read, &list[found]);
		}
		found += i < 0 ? 0 : 1 + to->parts;
	}
	err = carry_over(to, list, found, ret_gap_ns);
	if (err) {
		snapshot_uninit(&carry);
		return err;
	}
	for (struct carried *c = list; c < list + found; c++)
		carry_keep_told(c->read_from->accounts[BLKLAT_TAG_RANGE], region_account(&to->region, c->to, BLKLAT_TAG_RANGE), c->carry);
	to->carry = carry;
	return 0;
}
