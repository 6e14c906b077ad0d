// SPDX-License-Identifier: GPL-2.0-only
#include "slow.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "bios.h"
#include "count.h"
#include "file.h"
#include "kernel.h"
#include "parts.h"

/*
 * A note, protected by its bio field. A writer claims the note by compare-and-exchange and restores the
 * field when everything is written. Nobody waits: a writer that finds the note claimed, perhaps by the
 * code that it interrupted, gives up.
 */
struct blklat_note {
	const void *bio;	/* NULL: unused; CLAIMED: being written */
	u64 sector;
	u64 cgroup;
	u64 queue_ns;		/* time of its request in each stage, written when the stage ends */
	u64 device_ns;
	u32 submitter;
	u16 cpu;
	u8 known;		/* bit set of enum blklat_slow_known */
	u8 flags;		/* enum blklat_flags_part */
	char comm[BLKLAT_COMM];
} __aligned(64);

#define CLAIMED ((const void *)1)

/*
 * The company of a bio in each of its watches: the lower half. The upper half is the lower one of the
 * bio's address, so each value says whose it is.
 */
struct blklat_bio_company {
	u64 of[2];
};

/* @each: bytes for every note. NULL: there is too little memory. */
static void *for_notes(u32 notes, size_t each)
{
	u64 bytes = (u64)notes * each;

	return bytes / PAGE_SIZE <= si_mem_available() / 2 ? kvzalloc(bytes, BLKLAT_GFP) : NULL;
}

int blklat_teller_new(const struct blklat_setup *setup, struct blklat_teller **ret)
{
	struct blklat_teller *t;

	BUILD_BUG_ON(sizeof(struct blklat_note) != 64);
	*ret = NULL;
	if (!setup->slow_places)
		return 0;
	t = kzalloc(sizeof(*t), BLKLAT_GFP);
	if (!t)
		return -ENOMEM;
	t->places = setup->slow_places;
	t->owners = setup->owners;
	if (setup->notes) {
		t->note_shift = 32 - ilog2(setup->notes);
		t->notes = for_notes(setup->notes, sizeof(*t->notes));
		if (blklat_counts_in_flight(setup->by))
			t->bio_company = for_notes(setup->notes, sizeof(*t->bio_company));
		if (!t->notes || (blklat_counts_in_flight(setup->by) && !t->bio_company)) {
			blklat_teller_free(t);
			return -ENOMEM;
		}
	}
	*ret = t;
	return 0;
}

void blklat_teller_free(struct blklat_teller *t)
{
	if (!t)
		return;
	kvfree(t->notes);
	kvfree(t->bio_company);
	kfree(t);
}

void blklat_teller_begin(struct blklat_teller *t, struct blklat_header *h)
{
	memset((void *)h + h->slow_from_offset, 0xff, (size_t)h->watches * BLKLAT_OPS * sizeof(u64));
	t->untold = (void *)h + h->slow_untold_offset;
	t->ring = (void *)h + h->slow_ring_offset;
}

/* --- notes --------------------------------------------------------------------------------- */

static struct blklat_note *note_at(const struct blklat_teller *t, const void *bio)
{
	return &t->notes[blklat_note_place((uintptr_t)bio, t->note_shift)];
}

static bool claim(struct blklat_note *n, const void *bio)
{
	return bio != CLAIMED && cmpxchg(&n->bio, bio, CLAIMED) == bio;
}

/*
 * Reads the note of @bio, which may be NULL or any address: it is only compared. False: there is no
 * note, and @ret is undefined.
 */
static bool read_note(const struct blklat_teller *t, const void *bio, struct blklat_note *ret)
{
	const struct blklat_note *n = note_at(t, bio);

	if (!bio || smp_load_acquire(&n->bio) != bio)
		return false;
	*ret = *n;
	smp_rmb();
	return READ_ONCE(n->bio) == bio;
}

/*
 * The note of a request's first bio, or of the bio from which that one was split off, to which
 * bio_chain() has made it point.
 */
static struct blklat_note note_of_sender(const struct blklat_teller *t, const struct bio *bio)
{
	struct blklat_note note;

	if (t->notes && bio && (read_note(t, bio, &note) || read_note(t, bio->bi_private, &note)))
		return note;
	return (struct blklat_note){ .bio = NULL };
}

static bool is_watched(const struct blklat_session *s, const void *key)
{
	const struct blklat_target *t = blklat_target_of(s, key);

	return t && blklat_is_open(t, BLKLAT_ALL_STARTS);
}

static void note_owner(struct blklat_note *n, struct bio *bio)
{
	const char *name;

	BUILD_BUG_ON(TASK_COMM_LEN != BLKLAT_COMM);
	rcu_read_lock();
	n->cgroup = blklat_bio_cgroup(bio, &name);
	rcu_read_unlock();
	n->submitter = current->tgid;
	n->known |= BLKLAT_SLOW_SUBMITTER | (current->flags & PF_KTHREAD ? BLKLAT_SLOW_KERNEL_THREAD : 0);
	/*
	 * A task that renames itself at this moment leaves a mix of two names here; get_task_comm() may
	 * take a lock.
	 */
	memcpy(n->comm, current->comm, sizeof(n->comm));
}

void blklat_note_bio(const struct blklat_session *s, struct bio *bio)
{
	struct blklat_note *n;

	if (!is_watched(s, blklat_bio_disk(bio)) && !(s->partitions && is_watched(s, blklat_bio_part(bio))))
		return;
	n = note_at(s->slow, bio);
	if (!claim(n, READ_ONCE(n->bio)))
		return;
	n->sector = bio->bi_iter.bi_sector;
	n->queue_ns = 0;
	n->device_ns = 0;
	n->cpu = smp_processor_id();
	n->known = BLKLAT_SLOW_START_CPU;
	n->flags = blklat_flags_part_of(blklat_bio_op(bio), bio->bi_opf);
	n->cgroup = 0;
	if (s->slow->owners)
		note_owner(n, bio);
	smp_store_release(&n->bio, bio);
}

void blklat_note_stage(const struct blklat_session *s, const struct bio *bio, enum blklat_stage stage, u64 ns)
{
	struct blklat_note *n;

	if (!s->slow->notes || !bio)
		return;
	n = note_at(s->slow, bio);
	if (READ_ONCE(n->bio) != bio || !claim(n, bio))
		return;
	if (stage == BLKLAT_STAGE_QUEUE)
		n->queue_ns = ns;
	else
		n->device_ns = ns;
	smp_store_release(&n->bio, bio);
}

/* --- company ------------------------------------------------------------------------------- */

static u64 *company_of(const struct blklat_teller *t, const struct bio *bio, u32 i)
{
	return &t->bio_company[blklat_note_place((uintptr_t)bio, t->note_shift)].of[i];
}

static u64 company_key(const struct bio *bio)
{
	return (u64)(uintptr_t)bio << 32;
}

void blklat_keep_bio_company(const struct blklat_session *s, const struct bio *bio, const u32 company[2])
{
	u32 i;

	for (i = 0; s->slow->bio_company && i < 2; i++)
		WRITE_ONCE(*company_of(s->slow, bio, i), company_key(bio) | company[i]);
}

/* What was kept of a bio that ends, in its watch @i. 0: nothing; another bio's has replaced it. */
static u32 kept_bio_company(const struct blklat_session *s, const struct bio *bio, u32 i)
{
	u64 kept = s->slow->bio_company ? READ_ONCE(*company_of(s->slow, bio, i)) : 0;

	return kept >> 32 == company_key(bio) >> 32 ? (u32)kept : 0;
}

/* --- the ring ------------------------------------------------------------------------------ */

/*
 * The reader's position may be any value: if it is impossible, the ring counts as full. NULL: the ring
 * is full.
 */
static struct blklat_slow_place *reserve(struct blklat_teller *t, u32 *ret_number)
{
	u32 number = atomic_read(&t->next), seen;

	for (;;) {
		if (number - smp_load_acquire(&t->ring->taken) >= t->places)
			return NULL;
		seen = atomic_cmpxchg(&t->next, number, number + 1);
		if (seen == number)
			break;
		number = seen;
	}
	*ret_number = number;
	return &t->ring->place[number & (t->places - 1)];
}

static void tell(const struct blklat_session *s, u32 watch, struct blklat_slow *io, const struct blklat_note *note,
		 u32 company)
{
	struct blklat_slow_place *p;
	u32 number;

	p = reserve(s->slow, &number);
	if (!p) {
		atomic64_inc((atomic64_t *)&s->slow->untold[blklat_whole_of(s, watch) - 1]);
		return;
	}
	io->end_ns = blklat_now_ns();
	io->watch = watch - 1;
	io->end_cpu = smp_processor_id();
	io->queue_ns = note->queue_ns;
	io->device_ns = note->device_ns;
	io->cgroup = note->cgroup;
	io->submitter = note->submitter;
	io->known |= note->known;
	memcpy(io->comm, note->comm, sizeof(io->comm));
	io->depth = blklat_company_depth(company);
	io->beside = blklat_company_beside(company);
	p->io = *io;
	smp_store_release(&p->next, number + 1);
}

void blklat_tell_request(const struct blklat_session *s, const struct request *rq, u32 watch, u64 ns, int error,
			 u32 company)
{
	const struct blklat_note note = note_of_sender(s->slow, rq->bio);
	struct blklat_slow io = {
		.latency_ns = ns,
		.sector = blk_rq_pos(rq),
		.bytes = rq->__data_len,
		.error = error,
		.hw_queue = rq->mq_hctx->queue_num,
		.start_cpu = blk_mq_rq_cpu((struct request *)rq),
		.op = blklat_op_of(rq->cmd_flags),
		.known = BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU,
		.flags = blklat_flags_part_of(blklat_op_of(rq->cmd_flags), rq->cmd_flags),
	};

	if (io.sector != (u64)-1 && io.op != BLKLAT_OP_FLUSH)
		io.known |= BLKLAT_SLOW_SECTOR;
	if (s->slow->owners)
		blklat_tell_file(&io, rq->bio);
	tell(s, watch, &io, &note, company);
}

/* A bio's hardware queue is not known. */
void blklat_tell_bio(const struct blklat_session *s, const struct bio *bio, const struct bio *ending,
		     const struct blklat_bio *start, u32 i, u64 ns)
{
	struct blklat_note note = { .bio = NULL };
	struct blklat_slow io = { .latency_ns = ns, .bytes = start->bytes, .error = start->error, .op = start->op };

	if (s->slow->notes && read_note(s->slow, bio, &note)) {
		io.sector = note.sector;
		io.start_cpu = note.cpu;
		io.flags = note.flags;
		if (start->op != BLKLAT_OP_FLUSH)
			io.known = BLKLAT_SLOW_SECTOR;
	} else {
		note = (struct blklat_note){ .bio = NULL };
	}
	if (s->slow->owners)
		blklat_tell_file(&io, ending);
	tell(s, start->watch[i], &io, &note, kept_bio_company(s, bio, i));
}
