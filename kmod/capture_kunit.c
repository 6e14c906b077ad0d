// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of requests: rows of events with the expected counts, and which op and which slot an IO
 * gets. Bios are in capture_bios_kunit.c, latencies and sessions in capture_sessions_kunit.c.
 */
#include <linux/kernel.h>

#include "kunit_session.h"

enum { DEVICE_WATCH, QUEUE_WATCH, BYTES = 8192 };

#define READ_IO BLKLAT_OP_READ
#define WRITE_IO BLKLAT_OP_WRITE
#define FLUSH_IO BLKLAT_OP_FLUSH
#define OTHER_IO BLKLAT_OP_OTHER

static const struct fake_watch both_stages[] = { { BLKLAT_STAGE_DEVICE }, { BLKLAT_STAGE_QUEUE } };

static const struct rule {
	const char *events;
	u32 flags, bytes;
	struct fake_totals device, queue;
} rules[] = {
#define RQ(op, n_bytes) .flags = (__force u32)REQ_OP_##op, .bytes = n_bytes
#define IOS(op, n, n_bytes) .ios[op] = n, .bytes[op] = n_bytes
#define SLOTS(n_started, n_ended, n_occupied) .started = n_started, .ended = n_ended, .occupied = n_occupied

	/* A whole life. */
	{ "D", RQ(READ, BYTES), { SLOTS(1, 0, 1) } },
	{ "DC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "DE", RQ(WRITE, BYTES), { IOS(WRITE_IO, 1, BYTES), .errors[WRITE_IO] = 1, SLOTS(1, 1, 0) } },
	{ "Dx", RQ(WRITE, 0), { IOS(WRITE_IO, 1, 0), .errors[WRITE_IO] = 1, SLOTS(1, 1, 0) } },
	{ "Dz", RQ(FLUSH, 0), { IOS(FLUSH_IO, 1, 0), SLOTS(1, 1, 0) } },
	{ "Dz", RQ(DRV_IN, 0), { IOS(OTHER_IO, 1, 0), SLOTS(1, 1, 0) } },
	{ "DCnDCnD", RQ(READ, BYTES), { IOS(READ_IO, 2, 2 * BYTES), SLOTS(3, 2, 1) } },

	/* Portions: they count as bytes and don't end the request. */
	{ "Dp", RQ(READ, BYTES), { IOS(READ_IO, 0, 4096), SLOTS(1, 0, 1) } },
	{ "Dz", RQ(READ, BYTES), { SLOTS(1, 0, 1) } },
	{ "DpC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "Dppp", RQ(READ, BYTES), { IOS(READ_IO, 0, 7168), SLOTS(1, 0, 1) } },
	{ "DpppC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "De", RQ(READ, BYTES), { IOS(READ_IO, 0, 4096), .errors[READ_IO] = 1, SLOTS(1, 0, 1) } },
	{ "DpE", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .errors[READ_IO] = 1, SLOTS(1, 1, 0) } },

	/* Taken back; without a start there is nothing to take back. */
	{ "R", RQ(READ, BYTES), {} },
	{ "DR", RQ(READ, BYTES), { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "DRR", RQ(READ, BYTES), { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "DCR", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "DRDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_REQUEUED] = 1, SLOTS(2, 2, 0) } },
	{ "DRDRD", RQ(READ, BYTES), { .accounts[BLKLAT_REQUEUED] = 2, SLOTS(3, 2, 1) } },
	{ "DpRDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_REQUEUED] = 1, SLOTS(2, 2, 0) } },

	/* A flush sequence ends a second time; a request without data was never issued. */
	{ "DCz", RQ(WRITE, BYTES), { IOS(WRITE_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "z", RQ(WRITE, BYTES), {} },
	{ "z", RQ(WRITE, 0), { .accounts[BLKLAT_EMPTY_FLUSH] = 1 } },
	{ "Dzz", RQ(WRITE, 0), { IOS(WRITE_IO, 1, 0), .accounts[BLKLAT_EMPTY_FLUSH] = 1, SLOTS(1, 1, 0) } },
	{ "z", RQ(FLUSH, 0), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "Dzz", RQ(FLUSH, 0), { IOS(FLUSH_IO, 1, 0), .accounts[BLKLAT_NO_START] = 1, SLOTS(1, 1, 0) } },

	/* No start was seen: the capture began later, the start was missed, or there was none. */
	{ "C", RQ(READ, BYTES), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "E", RQ(READ, BYTES), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "x", RQ(READ, 0), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "DCnC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_NO_START] = 1, SLOTS(1, 1, 0) } },
	{ "DCnE", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_UNISSUED] = 1, SLOTS(1, 1, 0) } },
	{ "Dznx", RQ(READ, 0), { IOS(READ_IO, 1, 0), .accounts[BLKLAT_UNISSUED] = 1, SLOTS(1, 1, 0) } },
	/* Counted once for several portions. */
	{ "p", RQ(READ, BYTES), {} },
	{ "ppC", RQ(READ, BYTES), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "pE", RQ(READ, BYTES), { .accounts[BLKLAT_BEFORE] = 1 } },
	{ "DCnpC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_NO_START] = 1, SLOTS(1, 1, 0) } },
	{ "DCneE", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_UNISSUED] = 1, SLOTS(1, 1, 0) } },
	{ "DRC", RQ(READ, BYTES),
	  { .accounts = { [BLKLAT_REQUEUED] = 1, [BLKLAT_NO_START] = 1 }, SLOTS(1, 1, 0) } },

	/* The end was missed: neither ends nor occupied slots explain one of the starts. */
	{ "DDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(2, 1, 0) } },
	{ "DDD", RQ(READ, BYTES), { SLOTS(3, 0, 1) } },

	/* The queue. */
	{ "I", RQ(READ, BYTES), {}, { SLOTS(1, 0, 1) } },
	{ "ID", RQ(READ, BYTES), { SLOTS(1, 0, 1) }, { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "IDC", RQ(DISCARD, BYTES), { IOS(BLKLAT_OP_DISCARD, 1, BYTES), SLOTS(1, 1, 0) },
	  { IOS(BLKLAT_OP_DISCARD, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "IR", RQ(READ, BYTES), {}, { SLOTS(1, 0, 1) } },
	{ "IDRIDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_REQUEUED] = 1, SLOTS(2, 2, 0) },
	  { IOS(READ_IO, 2, 2 * BYTES), SLOTS(2, 2, 0) } },
	{ "IIDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) },
	  { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_OVERWRITTEN] = 1, SLOTS(2, 1, 0) } },
	/* The next one waits before the end of the first was seen. */
	{ "DIDC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(2, 1, 0) }, { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "M", RQ(READ, BYTES), {} },
	{ "IM", RQ(READ, BYTES), {}, { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "IDM", RQ(READ, BYTES), { SLOTS(1, 0, 1) }, { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	/* Requests that are never issued. */
	{ "IE", RQ(READ, BYTES), { .accounts[BLKLAT_UNISSUED] = 1 },
	  { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "IDCnIE", RQ(READ, BYTES),
	  { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_UNISSUED] = 1, SLOTS(1, 1, 0) },
	  { IOS(READ_IO, 1, BYTES), .accounts[BLKLAT_REQUEUED] = 1, SLOTS(2, 2, 0) } },
	{ "Dzuz", RQ(FLUSH, 0), { IOS(FLUSH_IO, 1, 0), .accounts[BLKLAT_UNISSUED] = 1, SLOTS(1, 1, 0) } },
	{ "Iz", RQ(WRITE, 0), { .accounts[BLKLAT_EMPTY_FLUSH] = 1 },
	  { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },

	/* The device is gone: nothing starts; IOs that had started may end; other ends are not ours. */
	{ "gIDC", RQ(READ, BYTES), {} },
	{ "gDE", RQ(READ, BYTES), {} },
	{ "Dg", RQ(READ, BYTES), { SLOTS(1, 0, 1) } },
	{ "DgC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "DgE", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), .errors[READ_IO] = 1, SLOTS(1, 1, 0) } },
	{ "DgpC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "DgCnC", RQ(READ, BYTES), { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "DgRDC", RQ(READ, BYTES), { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "IgDC", RQ(READ, BYTES), {}, { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) } },
	{ "IgE", RQ(READ, BYTES), {}, { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
	{ "IgM", RQ(READ, BYTES), {}, { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) } },
};

static void blklat_capture_test_rules(struct kunit *test)
{
	struct fake *f = test->priv;
	char what[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		struct request *rq = fake_request(test, f->disk[0], false, rules[i].flags, rules[i].bytes);

		fake_events(fake_session(test, 0, 0, 0, both_stages, 2), rq, rules[i].events);
		snprintf(what, sizeof(what), "%s, op %u, %u bytes", rules[i].events, rules[i].flags,
			 rules[i].bytes);
		fake_expect(test, 0, DEVICE_WATCH, what, &rules[i].device);
		fake_expect(test, 0, QUEUE_WATCH, what, &rules[i].queue);
	}
}

/* A stage that is watched alone counts the same. */
static void blklat_capture_test_single_stage(struct kunit *test)
{
	static const struct fake_totals io = { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) };
	static const struct fake_totals taken_back = { .accounts[BLKLAT_REQUEUED] = 1, SLOTS(1, 1, 0) };
	static const struct {
		const char *events;
		u32 stage;
		const struct fake_totals *wanted;
	} cases[] = {
		{ "IDC", BLKLAT_STAGE_DEVICE, &io }, { "IDpC", BLKLAT_STAGE_QUEUE, &io },
		{ "IDR", BLKLAT_STAGE_DEVICE, &taken_back }, { "IDRC", BLKLAT_STAGE_QUEUE, &io },
		{ "IE", BLKLAT_STAGE_QUEUE, &taken_back }, { "Iz", BLKLAT_STAGE_QUEUE, &taken_back },
		{ "IM", BLKLAT_STAGE_QUEUE, &taken_back }, { "IgE", BLKLAT_STAGE_QUEUE, &taken_back },
	};
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_events(fake_session(test, 0, 0, 0, &both_stages[cases[i].stage], 1),
			    fake_request(test, f->disk[0], false, READ_IO, BYTES), cases[i].events);
		fake_expect(test, 0, 0, cases[i].events, cases[i].wanted);
	}
}

static void blklat_capture_test_ops(struct kunit *test)
{
	static const struct {
		u32 flags, op;
	} cases[] = {
		{ REQ_OP_READ, READ_IO }, { REQ_OP_READ | REQ_RAHEAD | REQ_SYNC, READ_IO },
		{ REQ_OP_WRITE, WRITE_IO }, { REQ_OP_WRITE | REQ_FUA | REQ_PREFLUSH | REQ_META, WRITE_IO },
		{ REQ_OP_FLUSH, FLUSH_IO }, { REQ_OP_FLUSH | REQ_PREFLUSH, FLUSH_IO },
		{ REQ_OP_DISCARD, BLKLAT_OP_DISCARD }, { REQ_OP_SECURE_ERASE, OTHER_IO },
		{ REQ_OP_WRITE_ZEROES | REQ_NOUNMAP, OTHER_IO }, { REQ_OP_ZONE_APPEND, WRITE_IO },
		{ REQ_OP_ZONE_RESET, OTHER_IO }, { REQ_OP_DRV_IN, OTHER_IO }, { REQ_OP_DRV_OUT, OTHER_IO },
		{ 4, OTHER_IO }, { 255, OTHER_IO },
	};
	struct fake *f = test->priv;
	char what[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_totals wanted = { SLOTS(1, 1, 0) };

		wanted.ios[cases[i].op] = 1;
		wanted.bytes[cases[i].op] = 512;
		fake_events(fake_session(test, 0, 0, 0, both_stages, 2),
		       fake_request(test, f->disk[0], false, cases[i].flags, 512), "IDC");
		snprintf(what, sizeof(what), "flags %x", cases[i].flags);
		fake_expect(test, 0, DEVICE_WATCH, what, &wanted);
		fake_expect(test, 0, QUEUE_WATCH, what, &wanted);
	}
}

/* --- the slot of a start ------------------------------------------------------------------- */

static void blklat_capture_test_tags(struct kunit *test)
{
	static const struct {
		u32 queue;
		int tag, internal_tag, slot;	/* slot -1: no slot */
	} cases[] = {
		{ 0, 0, -1, 0 },
		{ 0, FAKE_STRIDE - 1, -1, FAKE_STRIDE - 1 },
		{ 0, FAKE_STRIDE, -1, -1 },
		{ 2, 7, -1, 2 * FAKE_STRIDE + 7 },
		{ 1, -1, 5, FAKE_STRIDE + 5 },
		{ 1, 9, 5, FAKE_STRIDE + 5 },
		{ 1, 9, FAKE_STRIDE, -1 },
		{ FAKE_QUEUES, 0, -1, -1 },
		{ 0, -1, -1, -1 },
	};
	static const struct fake_totals one = { SLOTS(1, 0, 1) };
	static const struct fake_totals ended = { IOS(READ_IO, 1, BYTES), SLOTS(1, 1, 0) };
	static const struct fake_totals lost = { .accounts[BLKLAT_TAG_RANGE] = 1 };
	struct fake *f = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blklat_session *s = fake_session(test, 0, 0, 0, both_stages, 2);
		struct request *rq = fake_request(test, f->disk[0], false, READ_IO, BYTES);
		bool in_range = cases[i].slot >= 0;

		rq->mq_hctx = f->disk[0]->hctx[cases[i].queue];
		rq->tag = cases[i].tag;
		rq->internal_tag = cases[i].internal_tag;
		fake_events(s, rq, "I");
		fake_expect(test, 0, QUEUE_WATCH, "inserted", in_range ? &one : &lost);
		if (in_range)
			KUNIT_EXPECT_TRUE_MSG(test, *fake_slot(s, cases[i].slot) >> 61 == 1,
					      "case %u", i);
		fake_events(s, rq, "D");
		fake_expect(test, 0, DEVICE_WATCH, "issued", in_range ? &one : &lost);
		if (in_range)
			KUNIT_EXPECT_TRUE_MSG(test, *fake_slot(s, cases[i].slot) > 1, "case %u", i);
		/* An IO whose tag was out of range at its start is not accounted a second time. */
		fake_events(s, rq, in_range ? "C" : "RMpC");
		fake_expect(test, 0, DEVICE_WATCH, "ended", in_range ? &ended : &lost);
		fake_expect(test, 0, QUEUE_WATCH, "ended", in_range ? &ended : &lost);
	}
}

/* Under a scheduler a request gets its driver tag late and gives it back early. */
static void blklat_capture_test_scheduler(struct kunit *test)
{
	static const struct fake_totals device = {
		IOS(WRITE_IO, 1, BYTES), .accounts[BLKLAT_REQUEUED] = 1, SLOTS(2, 2, 0),
	};
	static const struct fake_totals queue = { IOS(WRITE_IO, 2, 2 * BYTES), SLOTS(2, 2, 0) };
	struct fake *f = test->priv;
	struct request *rq = fake_request(test, f->disk[0], false, REQ_OP_WRITE, BYTES);
	struct blklat_session *s = fake_session(test, 0, 6, 0, both_stages, 2);
	static const struct {
		int tag;
		const char *events;
	} life[] = { { -1, "I" }, { 4, "D" }, { -1, "RI" }, { 8, "DC" } };
	u32 i;

	rq->internal_tag = 7;
	for (i = 0; i < ARRAY_SIZE(life); i++) {
		rq->tag = life[i].tag;
		fake_events(s, rq, life[i].events);
	}
	fake_expect(test, 0, DEVICE_WATCH, "scheduler", &device);
	fake_expect(test, 0, QUEUE_WATCH, "scheduler", &queue);
}

static struct kunit_case blklat_capture_test_cases[] = {
	KUNIT_CASE(blklat_capture_test_rules),
	KUNIT_CASE(blklat_capture_test_single_stage),
	KUNIT_CASE(blklat_capture_test_ops),
	KUNIT_CASE(blklat_capture_test_tags),
	KUNIT_CASE(blklat_capture_test_scheduler),
	{}
};

static struct kunit_suite blklat_capture_test_suite = {
	.name = "blklat_capture",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_capture_test_cases,
};
kunit_test_suite(blklat_capture_test_suite);
