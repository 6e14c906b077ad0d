// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the ways to divide IOs other than by size: by their flags, and by what is in flight when they
 * begin. The count of IOs in flight shows in the part of the next IO.
 */
#include <linux/kernel.h>

#include "bios.h"
#include "cgroups.h"
#include "kunit_session.h"
#include "parts.h"

enum { KIB = 1024, NOTHING = BLKLAT_BESIDE_NOTHING };

static const struct fake_watch stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE }, { BLKLAT_STAGE_TOTAL } };

static struct blklat_session *session(struct kunit *test, u32 by, u32 n)
{
	struct fake *f = test->priv;

	f->by = by;
	return fake_session(test, 0, 6, FAKE_MAX_BIOS, stages, n);
}

static struct request *request(struct kunit *test, u32 tag, u32 flags, u32 bytes)
{
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, flags, bytes);

	rq->tag = tag;
	return rq;
}

/* Expects the IOs, of all ops, in each part of the watch at row @whole to be those of @wanted. */
static void expect_parts(struct kunit *test, const struct blklat_session *s, u32 whole, const char *what,
			 const u32 *wanted)
{
	u32 part, op;

	for (part = 0; part <= s->parts; part++) {
		u64 ios = 0;

		for (op = 0; op < BLKLAT_OPS; op++)
			ios += fake_ios(s, whole + part, op);
		EXPECT_U64_MSG(test, ios, part ? wanted[part - 1] : 0, "%s: part %u of row %u", what, part, whole);
	}
}

/* --- flags --------------------------------------------------------------------------------- */

static const struct {
	const char *what;
	u32 flags, part, operation;
} flags[] = {
	{ "read", REQ_OP_READ, BLKLAT_FLAGS_SYNC, BLKLAT_OPERATION_READ },
	{ "background read", REQ_OP_READ | REQ_BACKGROUND, BLKLAT_FLAGS_SYNC, BLKLAT_OPERATION_READ },
	{ "readahead", REQ_OP_READ | REQ_RAHEAD, BLKLAT_FLAGS_READAHEAD, BLKLAT_OPERATION_READ },
	{ "readahead of metadata", REQ_OP_READ | REQ_RAHEAD | REQ_META, BLKLAT_FLAGS_METADATA, BLKLAT_OPERATION_READ },
	{ "read of metadata", REQ_OP_READ | REQ_META | REQ_PRIO, BLKLAT_FLAGS_METADATA, BLKLAT_OPERATION_READ },
	{ "written back", REQ_OP_WRITE, BLKLAT_FLAGS_WRITE_BACK, BLKLAT_OPERATION_WRITE },
	{ "written back in the background", REQ_OP_WRITE | REQ_BACKGROUND, BLKLAT_FLAGS_WRITE_BACK, BLKLAT_OPERATION_WRITE },
	{ "direct write", REQ_OP_WRITE | REQ_SYNC | REQ_IDLE, BLKLAT_FLAGS_SYNC, BLKLAT_OPERATION_WRITE },
	{ "metadata written back", REQ_OP_WRITE | REQ_META, BLKLAT_FLAGS_METADATA, BLKLAT_OPERATION_WRITE },
	{ "journal's commit", REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA | REQ_PREFLUSH, BLKLAT_FLAGS_FUA, BLKLAT_OPERATION_WRITE },
	{ "FUA", REQ_OP_WRITE | REQ_SYNC | REQ_FUA, BLKLAT_FLAGS_FUA, BLKLAT_OPERATION_WRITE },
	{ "preflush", REQ_OP_WRITE | REQ_PREFLUSH, BLKLAT_FLAGS_FUA, BLKLAT_OPERATION_WRITE },
	{ "flush", REQ_OP_FLUSH, BLKLAT_FLAGS_FUA, BLKLAT_OPERATION_FLUSH },
	{ "discard", REQ_OP_DISCARD, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_DISCARD },
	{ "discard that is waited for", REQ_OP_DISCARD | REQ_SYNC, BLKLAT_FLAGS_SYNC, BLKLAT_OPERATION_DISCARD },
	{ "write zeroes", REQ_OP_WRITE_ZEROES, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_WRITE_ZEROES },
	{ "secure erase", REQ_OP_SECURE_ERASE, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_SECURE_ERASE },
	{ "zone open", REQ_OP_ZONE_OPEN, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_ZONE_OPEN },
	{ "zone close", REQ_OP_ZONE_CLOSE, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_ZONE_CLOSE },
	{ "zone finish", REQ_OP_ZONE_FINISH, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_ZONE_FINISH },
	{ "zone reset", REQ_OP_ZONE_RESET, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_ZONE_RESET },
	{ "reset of all zones", REQ_OP_ZONE_RESET_ALL, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_ZONE_RESET_ALL },
	{ "passthrough that reads", REQ_OP_DRV_IN, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_PASSTHROUGH_IN },
	{ "passthrough that writes", REQ_OP_DRV_OUT, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_PASSTHROUGH_OUT },
	{ "an op that does not exist", 31, BLKLAT_FLAGS_OTHER, BLKLAT_OPERATION_OTHER },
	{ "zone append", REQ_OP_ZONE_APPEND, BLKLAT_FLAGS_WRITE_BACK, BLKLAT_OPERATION_ZONE_APPEND },
};

static void expect_flags(struct kunit *test, u32 by, u32 i, u32 parts, u32 part)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, by, 3);
	struct bio *bio = fake_bio(test, f->disk[0], false, flags[i].flags, 4 * KIB);
	u32 wanted[BLKLAT_OPERATION_PARTS] = { 0 };

	wanted[part - 1] = 1;
	fake_events(s, request(test, 3, flags[i].flags, 4 * KIB), "IDC");
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	expect_parts(test, s, 0, flags[i].what, wanted);
	expect_parts(test, s, 1 + parts, flags[i].what, wanted);
	expect_parts(test, s, 2 * (1 + parts), flags[i].what, wanted);
}

static void blklat_by_test_flags(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		expect_flags(test, BLKLAT_BY_FLAGS, i, BLKLAT_FLAGS_PARTS, flags[i].part);
		expect_flags(test, BLKLAT_BY_OPERATION, i, BLKLAT_OPERATION_PARTS, flags[i].operation);
	}
}

/* --- priority ------------------------------------------------------------------------------ */

static void blklat_by_test_priority(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, BLKLAT_BY_PRIORITY, 3);
	const u32 rows = 1 + BLKLAT_PRIORITY_PARTS;
	struct request *flush = request(test, 3, REQ_OP_FLUSH, 0);
	u32 wanted[BLKLAT_PRIORITY_PARTS] = { 0 }, i;

	for (i = 0; i < 16; i++) {
		struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);
		struct request *rq = request(test, i, REQ_OP_READ, 4 * KIB);

		bio->bi_ioprio = i / 4 << 13 | i % 4 << 1;
		wanted[blklat_priority_part(bio->bi_ioprio) - 1]++;
		rq->bio = bio;
		fake_events(s, rq, "ID");
		rq->bio = NULL;
		fake_events(s, rq, "C");
		fake_bio_queue(s, bio);
		fake_bio_end(s, bio, BLK_STS_OK);
	}
	expect_parts(test, s, 2 * rows, "of bios", wanted);
	/* A flush of the block layer has no bio. */
	flush->bio = NULL;
	fake_events(s, flush, "IDC");
	wanted[BLKLAT_PRIORITY_NONE - 1]++;
	expect_parts(test, s, 0, "at the device", wanted);
	expect_parts(test, s, rows, "in the queue", wanted);
}

/* --- depth --------------------------------------------------------------------------------- */

/*
 * 30 IOs begin before the first one ends: at depths 1, 2, 3 to 4, 5 to 8, 9 to 16, and 14 of them at 17
 * to 32.
 */
static const u32 thirty[BLKLAT_DEPTH_PARTS] = { 1, 1, 2, 4, 8, 14 };

static void blklat_by_test_depth(struct kunit *test)
{
	struct blklat_session *s = session(test, BLKLAT_BY_DEPTH, 2);
	const u32 queue = 1 + BLKLAT_DEPTH_PARTS;
	struct request *rq[30];
	u32 wanted[BLKLAT_DEPTH_PARTS], i;

	for (i = 0; i < ARRAY_SIZE(rq); i++)
		fake_events(s, rq[i] = request(test, i, i % 2, 4 * KIB), "I");
	for (i = 0; i < ARRAY_SIZE(rq); i++)
		fake_events(s, rq[i], "D");
	for (i = 0; i < ARRAY_SIZE(rq); i++)
		fake_events(s, rq[i], i % 3 ? "C" : "pE");
	expect_parts(test, s, 0, "thirty", thirty);
	expect_parts(test, s, queue, "thirty", thirty);
	/* Nothing is in flight any more: the next IO is alone. */
	memcpy(wanted, thirty, sizeof(wanted));
	wanted[0]++;
	fake_events(s, request(test, 7, REQ_OP_READ, 4 * KIB), "IDC");
	expect_parts(test, s, 0, "one more", wanted);
	expect_parts(test, s, queue, "one more", wanted);
}

static void blklat_by_test_depth_of_bios(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, BLKLAT_BY_DEPTH, 3);
	struct bio *bio[30];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bio); i++)
		fake_bio_queue(s, bio[i] = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB));
	for (i = 0; i < ARRAY_SIZE(bio); i++)
		fake_bio_end(s, bio[i], BLK_STS_OK);
	expect_parts(test, s, 2 * (1 + BLKLAT_DEPTH_PARTS), "thirty", thirty);
}

/*
 * However an IO leaves a stage, it is not in flight any more. One whose end was missed is not as soon
 * as its tag is seen again.
 */
static void blklat_by_test_leaves(struct kunit *test)
{
	static const char *const lives[] = { "IDC", "IM", "IC", "IE", "IDRDC", "IDR", "DpRDC", "ID", "I" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lives); i++) {
		struct blklat_session *s = session(test, BLKLAT_BY_DEPTH, 2);

		fake_events(s, request(test, 3, REQ_OP_READ, 64 * KIB), lives[i]);
		fake_events(s, request(test, 3, REQ_OP_WRITE, 4 * KIB), "IDC");
		EXPECT_U64_MSG(test, fake_ios(s, 1, REQ_OP_WRITE), 1, "%s, at the device", lives[i]);
		EXPECT_U64_MSG(test, fake_ios(s, 1 + BLKLAT_DEPTH_PARTS + 1, REQ_OP_WRITE), 1, "%s, in the queue", lives[i]);
		EXPECT_U64_MSG(test, atomic_read(&s->in_flight[0].all), 0, "%s, at the device", lives[i]);
		EXPECT_U64_MSG(test, atomic_read(&s->in_flight[1 + BLKLAT_DEPTH_PARTS].all), 0, "%s, in the queue", lives[i]);
		EXPECT_U64_MSG(test, fake_account(s, 0, BLKLAT_BUSY) / BLKLAT_PERIOD, 0, "%s, at the device", lives[i]);
		EXPECT_U64_MSG(test, fake_account(s, 1 + BLKLAT_DEPTH_PARTS, BLKLAT_BUSY) / BLKLAT_PERIOD, 0,
			       "%s, in the queue", lives[i]);
	}
}

/* @ios of them, one after the other or @together. Returns how long the device was busy. */
static u64 busy_with(struct kunit *test, struct blklat_session *s, u32 total, struct bio **bio, u32 ios, bool together)
{
	u64 was = fake_account(s, total, BLKLAT_BUSY);
	u32 i;

	for (i = 0; i < ios; i++) {
		fake_bio_queue(s, bio[i]);
		if (!together)
			fake_bio_end(s, bio[i], BLK_STS_OK);
	}
	KUNIT_EXPECT_EQ(test, fake_account(s, total, BLKLAT_BUSY) / (BLKLAT_PERIOD / 2) > 0, together);
	for (i = 0; together && i < ios; i++)
		fake_bio_end(s, bio[i], BLK_STS_OK);
	return fake_account(s, total, BLKLAT_BUSY) - was;
}

/* IOs that follow each other: the sum of their latencies. Together: no longer than it took, and less than the sum. */
static void blklat_by_test_busy(struct kunit *test)
{
	static const struct { u32 by, parts; } divided[] = {
		{ BLKLAT_BY_DEPTH, BLKLAT_DEPTH_PARTS }, { BLKLAT_BY_BESIDE, BLKLAT_BESIDE_PARTS },
	};
	struct fake *f = test->priv;
	struct bio *bio[8];
	u32 i, part;

	for (i = 0; i < ARRAY_SIZE(bio); i++)
		bio[i] = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);
	for (i = 0; i < ARRAY_SIZE(divided); i++) {
		struct blklat_session *s = session(test, divided[i].by, 3);
		const u32 total = 2 * (1 + divided[i].parts);
		u64 began, sum_ns = 0, alone = busy_with(test, s, total, bio, ARRAY_SIZE(bio), false), together;

		for (part = 1; part <= divided[i].parts; part++)
			sum_ns += fake_sum(s, total + part, BLKLAT_OP_READ, AT_SUM);
		EXPECT_U64(test, alone, sum_ns);
		began = blklat_now_ns();
		together = busy_with(test, s, total, bio, ARRAY_SIZE(bio), true);
		KUNIT_EXPECT_LE(test, together, blklat_now_ns() - began);
		for (part = 1; part <= divided[i].parts; part++)
			sum_ns -= fake_sum(s, total + part, BLKLAT_OP_READ, AT_SUM);
		KUNIT_EXPECT_LT(test, together, -sum_ns);
		KUNIT_EXPECT_LE(test, -sum_ns, together * ARRAY_SIZE(bio));
	}
}

static void blklat_by_test_bios_leave(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, BLKLAT_BY_DEPTH, 3);
	const u32 total = 2 * (1 + BLKLAT_DEPTH_PARTS);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);
	atomic_t *in_flight = &s->in_flight[total].all;
	u32 i;

	fake_bio_queue(s, bio);
	fake_bio_queue(s, bio);		/* the first one's end was missed */
	EXPECT_U64(test, atomic_read(in_flight), 1);
	fake_bio_end(s, bio, BLK_STS_AGAIN);
	EXPECT_U64(test, atomic_read(in_flight), 0);
	fake_bio_end(s, bio, BLK_STS_OK);
	EXPECT_U64(test, atomic_read(in_flight), 0);
	/* A bio that finds no room in the table is not counted in flight either. */
	for (i = 0; i < 4 * FAKE_MAX_BIOS; i++)
		fake_bio_queue(s, fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB));
	KUNIT_EXPECT_TRUE(test, atomic_read(in_flight) < 4 * FAKE_MAX_BIOS);
	for (i = 0; i <= s->parts; i++)
		atomic_sub(fake_bios_in_flight(test, s, total + i), in_flight);
	EXPECT_U64(test, atomic_read(in_flight), 0);
}

/* A bio held back by a limit keeps the depth at which it began. */
static void blklat_by_test_held(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, BLKLAT_BY_DEPTH, 3);
	const u32 total = 2 * (1 + BLKLAT_DEPTH_PARTS);
	struct bio *held = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB), *other[3];
	static const u32 wanted[BLKLAT_DEPTH_PARTS] = { 1, 1, 2 };
	u32 i;

	blklat_capture_bio_hold(s, held);
	for (i = 0; i < ARRAY_SIZE(other); i++)
		fake_bio_queue(s, other[i] = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB));
	fake_bio_queue(s, held);
	EXPECT_U64(test, atomic_read(&s->in_flight[total].all), 4);
	fake_bio_end(s, held, BLK_STS_OK);
	for (i = 0; i < ARRAY_SIZE(other); i++)
		fake_bio_end(s, other[i], BLK_STS_OK);
	expect_parts(test, s, total, "held", wanted);
	EXPECT_U64(test, atomic_read(&s->in_flight[total].all), 0);
}

/* --- beside -------------------------------------------------------------------------------- */

/* From the strongest to the weakest. */
static const struct {
	u32 flags, bytes;
} kinds[BLKLAT_KINDS] = {
	{ REQ_OP_FLUSH, 0 }, { REQ_OP_DISCARD, 1024 * KIB }, { REQ_OP_WRITE_ZEROES, 64 * KIB }, { REQ_OP_WRITE, 128 * KIB },
	{ REQ_OP_WRITE, 128 * KIB - 512 }, { REQ_OP_READ, 1024 * KIB },
};

/*
 * Beside each subset of the six kinds, with two IOs of each kind: the next IO is in the part of the
 * strongest kind. When all have ended, nothing is counted in flight.
 */
static void blklat_by_test_beside(struct kunit *test)
{
	u32 set, k;

	for (set = 0; set < 1U << BLKLAT_KINDS; set++) {
		struct blklat_session *s = session(test, BLKLAT_BY_BESIDE, 1);
		struct request *rq[2 * BLKLAT_KINDS] = { NULL };
		u32 part = set ? __ffs(set) + 1 : NOTHING;

		for (k = 0; k < ARRAY_SIZE(rq); k++)
			if (set >> k / 2 & 1)
				fake_events(s, rq[k] = request(test, k, kinds[k / 2].flags, kinds[k / 2].bytes), "D");
		fake_events(s, request(test, 20, REQ_OP_WRITE_ZEROES, 4 * KIB), "DE");
		EXPECT_U64_MSG(test, fake_ios(s, part, BLKLAT_OP_OTHER), 1, "set %u", set);
		/* Large writes end in portions, and so become small. */
		for (k = 0; k < ARRAY_SIZE(rq); k++)
			if (rq[k])
				fake_events(s, rq[k], rq[k]->__data_len ? "ppC" : "E");
		for (k = 0; k < BLKLAT_KINDS; k++)
			EXPECT_U64_MSG(test, atomic_read(&s->in_flight[0].of_kind[k]), 0, "set %u, kind %u", set, k + 1);
	}
}

static void blklat_by_test_bios_beside(struct kunit *test)
{
	struct fake *f = test->priv;
	const u32 total = 2 * (1 + BLKLAT_BESIDE_PARTS);
	u32 k;

	for (k = 0; k < BLKLAT_KINDS; k++) {
		struct blklat_session *s = session(test, BLKLAT_BY_BESIDE, 3);
		/* At this level a flush is an empty preflush. */
		struct bio *other = fake_bio(test, f->disk[0], false, k ? kinds[k].flags : REQ_OP_WRITE | REQ_PREFLUSH,
					     kinds[k].bytes);
		struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);

		fake_bio_queue(s, other);
		fake_bio_queue(s, bio);
		fake_bio_end(s, other, BLK_STS_OK);
		fake_bio_end(s, bio, BLK_STS_OK);
		EXPECT_U64_MSG(test, fake_ios(s, total + k + 1, BLKLAT_OP_READ), 1, "beside kind %u", k + 1);
		fake_bio_queue(s, bio);
		fake_bio_end(s, bio, BLK_STS_OK);
		/* The other bio was alone when it began, so it is there too if it is a read. */
		EXPECT_U64_MSG(test, fake_ios(s, total + NOTHING, BLKLAT_OP_READ), 1 + (k + 1 == BLKLAT_KIND_READ), "after kind %u", k + 1);
	}
}

/* Userspace may write any kind into the slots it maps: a kind that does not exist is counted nowhere. */
static void blklat_by_test_forged(struct kunit *test)
{
	u32 kind, k;

	for (kind = 0; kind < 16; kind++) {
		struct blklat_session *s = session(test, BLKLAT_BY_BESIDE, 1);
		struct request *rq = request(test, 3, REQ_OP_READ, 4 * KIB);
		int sum = 0;

		fake_events(s, rq, "D");
		*fake_slot(s, FAKE_STRIDE + 3) = blklat_parted_start(1 << 30, 1, kind);
		fake_events(s, rq, "C");
		for (k = 0; k < BLKLAT_KINDS; k++)
			sum += atomic_read(&s->in_flight[0].of_kind[k]);
		EXPECT_U64_MSG(test, sum, kind && kind <= BLKLAT_KINDS ? 0 : 1, "kind %u", kind);
	}
}

/* --- cgroups and processes ----------------------------------------------------------------- */

/* The part of the owner @id. */
static u32 part_of(const struct fake *f, u32 room, u64 id)
{
	return blklat_owner_part(f->by, room, id, "name");
}

static void expect_cgroups(struct kunit *test, const u64 *ids, u32 n)
{
	struct blklat_cgroup *list = kunit_kcalloc(test, BLKLAT_CGROUPS_MAX, sizeof(*list), GFP_KERNEL);
	struct fake *f = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, list);
	blklat_cgroups_list(f->by, list, BLKLAT_CGROUPS_MAX);
	for (i = 0; i < BLKLAT_CGROUPS_MAX; i++) {
		EXPECT_U64_MSG(test, list[i].id, i < n ? ids[i] : 0, "number %u", i);
		KUNIT_EXPECT_STREQ(test, list[i].name, i < n ? "name" : "");
	}
}

/*
 * Cgroups get numbers in the order of their first IOs, and keep them, for later sessions too, until the
 * last session ends.
 */
static void expect_appearance(struct kunit *test, u32 by)
{
	static const u64 ids[] = { 70, 1, U64_MAX, 8 };
	struct fake *f = test->priv;
	u32 i, turn;

	session(test, by, 1);
	EXPECT_U64(test, f->s[0]->parts, BLKLAT_CGROUP_REST + FAKE_CGROUPS);
	for (turn = 0; turn < 2; turn++) {
		EXPECT_U64(test, part_of(f, FAKE_CGROUPS, 0), BLKLAT_CGROUP_NONE);
		for (i = 0; i < FAKE_CGROUPS; i++)
			EXPECT_U64(test, part_of(f, FAKE_CGROUPS, ids[i]), BLKLAT_CGROUP_FIRST + i);
		EXPECT_U64(test, part_of(f, FAKE_CGROUPS, ids[FAKE_CGROUPS]), BLKLAT_CGROUP_REST);
	}
	expect_cgroups(test, ids, FAKE_CGROUPS);
	/* A session with more room has the same numbers. */
	EXPECT_U64(test, part_of(f, FAKE_CGROUPS + 1, ids[FAKE_CGROUPS]), BLKLAT_CGROUP_FIRST + FAKE_CGROUPS);
	EXPECT_U64(test, part_of(f, FAKE_CGROUPS, ids[FAKE_CGROUPS]), BLKLAT_CGROUP_REST);
	fake_session(test, 1, 6, FAKE_MAX_BIOS, stages, 1);
	blklat_session_free(f->s[0]);
	f->s[0] = NULL;
	expect_cgroups(test, ids, FAKE_CGROUPS + 1);
	blklat_session_free(f->s[1]);
	f->s[1] = NULL;
	session(test, by, 1);
	expect_cgroups(test, ids, 0);
}

/* Cgroups and processes may have the same ids, and numbers. */
static void blklat_by_test_cgroups(struct kunit *test)
{
	struct fake *f = test->priv;
	u64 id = blklat_process_id(current->tgid, current->start_boottime);
	struct blklat_cgroup list;

	expect_appearance(test, BLKLAT_BY_CGROUP);
	expect_appearance(test, BLKLAT_BY_PROCESS);
	EXPECT_U64(test, blklat_process_part(1), BLKLAT_CGROUP_FIRST);
	blklat_cgroups_list(BLKLAT_BY_PROCESS, &list, 1);
	EXPECT_U64(test, list.id, id);
	KUNIT_EXPECT_STREQ(test, list.name, current->comm);
	f->by = BLKLAT_BY_CGROUP;
	fake_session(test, 1, 6, FAKE_MAX_BIOS, stages, 1);
	EXPECT_U64(test, part_of(f, 1, id), BLKLAT_CGROUP_FIRST);
	expect_cgroups(test, (const u64[]){ id }, 1);
}

/* Agrees to the next step of number 1, and returns its step after that. */
static u32 leave(struct fake *f, u32 i, u64 id, u32 step)
{
	struct blklat_leaving l = { .id = id, .number = 1, .step = step };

	blklat_cgroups_leave(f->by, &f->s[i]->cgroups_user, &l, 1);
	return l.step;
}

/*
 * A number is free when all sessions have agreed to each step. IOs that its owner begins in the
 * meantime are not counted in it.
 */
static void expect_leaving(struct kunit *test, u32 by)
{
	static const u64 ids[] = { 70, 80, 90 };
	struct fake *f = test->priv;
	struct blklat_cgroup list[3];
	u32 i, step;

	session(test, by, 1);
	fake_session(test, 1, 6, FAKE_MAX_BIOS, stages, 1);
	for (i = 0; i < 3; i++)
		EXPECT_U64(test, part_of(f, FAKE_CGROUPS, ids[i]), BLKLAT_CGROUP_FIRST + i);
	EXPECT_U64(test, blklat_owner_part(f->by, 3, 100, "late"), BLKLAT_CGROUP_REST);
	for (step = BLKLAT_STEP_HELD; step < BLKLAT_STEP_FREE; step++) {
		/*
		 * A session can't agree for a number with another owner, to a step that was not
		 * reached, or twice.
		 */
		EXPECT_U64(test, leave(f, 0, 70, step), BLKLAT_STEP_FREE);
		EXPECT_U64(test, leave(f, 0, 80, (step + 1) % BLKLAT_STEP_FREE), step);
		for (i = 0; i < 3; i++)
			EXPECT_U64_MSG(test, leave(f, 0, 80, step), step, "alone, step %u", step);
		EXPECT_U64(test, blklat_owner_part(f->by, 3, 100, "late"), BLKLAT_CGROUP_REST);
		blklat_cgroups_list(f->by, list, 3);
		EXPECT_U64(test, list[1].id, 80);
		EXPECT_U64(test, part_of(f, 3, 80), step ? BLKLAT_CGROUP_REST : BLKLAT_CGROUP_FIRST + 1);
		EXPECT_U64_MSG(test, leave(f, 1, 80, step), step + 1, "both, step %u", step);
	}
	blklat_cgroups_list(f->by, list, 3);
	EXPECT_U64(test, list[1].id, 0);
	EXPECT_U64(test, part_of(f, 3, 70), BLKLAT_CGROUP_FIRST);
	EXPECT_U64(test, part_of(f, 3, 90), BLKLAT_CGROUP_FIRST + 2);
	EXPECT_U64(test, blklat_owner_part(f->by, 3, 100, "late"), BLKLAT_CGROUP_FIRST + 1);
	EXPECT_U64(test, part_of(f, 3, 80), BLKLAT_CGROUP_REST);
	blklat_cgroups_list(f->by, list, 3);
	EXPECT_U64(test, list[1].id, 100);
	KUNIT_EXPECT_STREQ(test, list[1].name, "late");
	EXPECT_U64(test, leave(f, 0, 80, BLKLAT_STEP_HELD), BLKLAT_STEP_FREE);
	EXPECT_U64(test, leave(f, 0, 100, BLKLAT_STEP_HELD), BLKLAT_STEP_HELD);
	/* The agreement of a session that has ended does not count, and the session is not waited for. */
	blklat_session_free(f->s[0]);
	f->s[0] = NULL;
	fake_session(test, 0, 6, FAKE_MAX_BIOS, stages, 1);
	EXPECT_U64(test, leave(f, 1, 100, BLKLAT_STEP_HELD), BLKLAT_STEP_HELD);
	blklat_session_free(f->s[0]);
	f->s[0] = NULL;
	for (step = BLKLAT_STEP_HELD; step < BLKLAT_STEP_FREE; step++)
		EXPECT_U64(test, leave(f, 1, 100, step), step + 1);
}

static void blklat_by_test_cgroups_leave(struct kunit *test)
{
	expect_leaving(test, BLKLAT_BY_CGROUP);
	expect_leaving(test, BLKLAT_BY_PROCESS);
}

/* As many as there may be, and as many without a number. Then every other one gives its number to one of those. */
static void blklat_by_test_cgroups_many(struct kunit *test)
{
	enum { ROOM = BLKLAT_CGROUPS_MAX, LEAVING = (ROOM + 1) / 2 };
	struct blklat_cgroups_user *user = fake_alloc(test, sizeof(*user));
	struct blklat_leaving *list = fake_alloc(test, LEAVING * sizeof(*list));
	struct fake *f = test->priv;
	u32 i, step;

	f->by = BLKLAT_BY_CGROUP;
	blklat_cgroups_get(f->by, ROOM);
	for (i = 0; i < 2 * ROOM; i++)
		EXPECT_U64(test, part_of(f, ROOM, 1000 + 7 * i),
			   i < ROOM ? BLKLAT_CGROUP_FIRST + i : BLKLAT_CGROUP_REST);
	for (step = BLKLAT_STEP_HELD; step < BLKLAT_STEP_FREE; step++) {
		for (i = 0; i < LEAVING; i++)
			list[i] = (struct blklat_leaving){ .id = 1000 + 7 * 2 * i, .number = 2 * i, .step = step };
		blklat_cgroups_leave(f->by, user, list, LEAVING);
		for (i = 0; i < LEAVING; i++)
			EXPECT_U64(test, list[i].step, step + 1);
	}
	for (i = 0; i < ROOM; i += 2)
		EXPECT_U64(test, part_of(f, ROOM, 1000 + 7 * (ROOM + i)), BLKLAT_CGROUP_FIRST + i);
	for (i = 0; i < ROOM; i++) {
		EXPECT_U64(test, part_of(f, ROOM, 1000 + 7 * i), i % 2 ? BLKLAT_CGROUP_FIRST + i : BLKLAT_CGROUP_REST);
		EXPECT_U64(test, part_of(f, ROOM, 1000 + 7 * (ROOM + i)),
			   i % 2 ? BLKLAT_CGROUP_REST : BLKLAT_CGROUP_FIRST + i);
	}
	blklat_cgroups_put(f->by, user, ROOM);
}

/* IOs without a bio, or whose bio is charged to no cgroup, belong to no cgroup. */
static void blklat_by_test_nobody(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = session(test, BLKLAT_BY_CGROUP, 3);
	u32 wanted[BLKLAT_CGROUP_REST + FAKE_CGROUPS] = { [BLKLAT_CGROUP_NONE - 1] = 2 };
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, 4 * KIB);

	fake_events(s, request(test, 1, REQ_OP_READ, 4 * KIB), "IDC");
	fake_events(s, request(test, 2, REQ_OP_FLUSH | REQ_PREFLUSH, 0), "IDC");
	expect_parts(test, s, 0, "device", wanted);
	expect_parts(test, s, 1 + s->parts, "queue", wanted);
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	wanted[BLKLAT_CGROUP_NONE - 1] = 1;
	expect_parts(test, s, 2 * (1 + s->parts), "total", wanted);
}

/* If IOs in flight are not counted, there is no memory for them. */
static void blklat_by_test_memory(struct kunit *test)
{
	u32 by;

	for (by = 0; by < BLKLAT_BYS; by++)
		KUNIT_EXPECT_EQ(test, !!session(test, by, 1)->in_flight,
				by == BLKLAT_BY_DEPTH || by == BLKLAT_BY_BESIDE);
}

static struct kunit_case blklat_by_test_cases[] = {
	KUNIT_CASE(blklat_by_test_flags),
	KUNIT_CASE(blklat_by_test_priority),
	KUNIT_CASE(blklat_by_test_depth),
	KUNIT_CASE(blklat_by_test_depth_of_bios),
	KUNIT_CASE(blklat_by_test_leaves),
	KUNIT_CASE(blklat_by_test_busy),
	KUNIT_CASE(blklat_by_test_bios_leave),
	KUNIT_CASE(blklat_by_test_held),
	KUNIT_CASE(blklat_by_test_beside),
	KUNIT_CASE(blklat_by_test_bios_beside),
	KUNIT_CASE(blklat_by_test_forged),
	KUNIT_CASE(blklat_by_test_cgroups),
	KUNIT_CASE(blklat_by_test_cgroups_leave),
	KUNIT_CASE(blklat_by_test_cgroups_many),
	KUNIT_CASE(blklat_by_test_nobody),
	KUNIT_CASE(blklat_by_test_memory),
	{}
};

static struct kunit_suite blklat_by_test_suite = {
	.name = "blklat_by",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_by_test_cases,
};
kunit_test_suite(blklat_by_test_suite);
