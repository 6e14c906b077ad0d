// SPDX-License-Identifier: GPL-2.0-only
#include "service/slow_wire.h"

#include "util/cleanup.h"

static void put_io(struct wire_out *to, const struct slow_io *io)
{
	const struct blklat_slow *t = &io->told;

	wire_put_signed(to, io->end_ns);
	wire_put(to, t->latency_ns);
	wire_put(to, t->queue_ns);
	wire_put(to, t->device_ns);
	wire_put(to, t->sector);
	wire_put(to, t->bytes);
	wire_put_signed(to, t->error);
	wire_put(to, t->submitter);
	wire_put(to, t->hw_queue);
	wire_put(to, t->start_cpu);
	wire_put(to, t->end_cpu);
	wire_put(to, t->op);
	wire_put(to, t->known);
	wire_put(to, t->depth);
	wire_put(to, t->beside);
	wire_put(to, t->flags);
	wire_put_text(to, t->comm);
	wire_put_text(to, io->part ? io->part->by : NULL);
	wire_put_text(to, io->part ? io->part->label : NULL);
	wire_put_text(to, io->cgroup);
}

static const struct part *get_part(struct wire_in *from)
{
	char *by CLEANUP(cleanup_free) = wire_dup_text(from), *label CLEANUP(cleanup_free) = wire_dup_text(from);

	return by && label ? part_find(by, label) : NULL;
}

static s32 get_error(struct wire_in *from)
{
	s64 error = wire_get_signed(from);

	from->failed |= error != (s32)error;
	return error;
}

static int get_io(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	struct slow_io io = { .watch = watch };
	struct blklat_slow *t = &io.told;

	io.end_ns = wire_get_signed(from);
	t->latency_ns = wire_get(from);
	t->queue_ns = wire_get(from);
	t->device_ns = wire_get(from);
	t->sector = wire_get(from);
	t->bytes = wire_get_most(from, UINT32_MAX);
	t->error = get_error(from);
	t->submitter = wire_get_most(from, UINT32_MAX);
	t->hw_queue = wire_get_most(from, UINT16_MAX);
	t->start_cpu = wire_get_most(from, UINT16_MAX);
	t->end_cpu = wire_get_most(from, UINT16_MAX);
	t->op = wire_get_most(from, BLKLAT_OPS - 1);
	t->known = wire_get_most(from, UINT8_MAX);
	t->depth = wire_get_most(from, UINT32_MAX);
	t->beside = wire_get_most(from, BLKLAT_BESIDE_PARTS);
	t->flags = wire_get_most(from, BLKLAT_FLAGS_PARTS);
	wire_get_text(from, t->comm, sizeof(t->comm));
	io.part = get_part(from);
	io.cgroup = wire_dup_text(from);
	return slow_ios_add(slow, &io);
}

/* Writes a whole's number of slow IOs, and as many of them as take no more than @most bytes. */
static void put_whole(struct wire_out *to, const struct slow_ios *slow, const struct slow_of *of, size_t most)
{
	size_t end = to->len + most;

	wire_put(to, of->found);
	for (u32 k = 0; k < of->n && to->len < end; k++) {
		wire_put(to, 1);
		put_io(to, &slow->io[of->first + k]);
	}
	wire_put(to, 0);
}

static int get_whole(struct wire_in *from, u32 watch, struct slow_ios *slow)
{
	u64 found = wire_get(from);
	int err = 0;
	u64 n = 0;

	for (; wire_get_most(from, 1) && !from->failed; n++)
		err = get_io(from, watch, slow) ?: err;
	from->failed |= n > found || n > slow->most;
	slow->of[watch].found = found;
	return err;
}

/* A whole with few slow IOs leaves room for those behind it. */
void wire_put_slow(struct wire_out *to, const struct watch *watches, const struct frames *fs)
{
	static const struct slow_of none;
	size_t left = WIRE_SLOW_BYTES;
	u32 wholes = 0;

	for (u32 i = 0; i < fs->n; i++)
		wholes += !fs->f[i].watch->part;
	for (u32 i = 0; i < fs->n; i++) {
		size_t before = to->len, took;

		if (fs->f[i].watch->part)
			continue;
		put_whole(to, fs->slow, fs->slow ? &fs->slow->of[fs->f[i].watch - watches] : &none, left / wholes--);
		took = to->len - before;
		left -= took < left ? took : left;
	}
}

int wire_get_slow(struct wire_in *from, const struct frames *fs, struct slow_ios *slow)
{
	int err = 0;

	slow_ios_clear(slow);
	for (u32 i = 0; i < fs->n && !from->failed; i++)
		if (!fs->f[i].watch->part)
			err = get_whole(from, i, slow) ?: err;
	slow_ios_sort(slow);
	return err;
}
