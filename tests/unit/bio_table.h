/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bpf/bio_cells.bpf.h works on: two buckets for any bio, or those of a table if there is one, one for notes of what
 * found no room, and the standbys.
 */
#ifndef TEST_BIO_TABLE_H
#define TEST_BIO_TABLE_H

#include "../bpf/capture.h"

#define __noinline __attribute__((noinline))

static struct bio_bucket buckets[2], notes;
static struct bio_bucket *table;
static u32 table_mask;
static u32 standbys;

static bool has_next(u32 turn, enum bpf_event event)
{
	assert_int_equal(event, BPF_BIO_QUEUE);
	return turn < standbys;
}

static struct bio_bucket *bio_bucket_of(u64 key, u32 choice)
{
	return table ? &table[BIO_BUCKET_NUMBER((u32)key, choice, table_mask)] : &buckets[choice];
}

static struct bio_bucket *no_room_bucket(u64 key)
{
	(void)key;
	return &notes;
}

#endif
