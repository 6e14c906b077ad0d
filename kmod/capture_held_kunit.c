// SPDX-License-Identifier: GPL-2.0-only
/* What becomes of bios at stage total that a limit may hold back before they are queued. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "bios.h"
#include "kunit_session.h"

enum { BYTES = 4096, READ_IO = BLKLAT_OP_READ };

static const struct fake_watch total = { BLKLAT_STAGE_TOTAL };
static const struct fake_totals on_its_way = { .accounts[BLKLAT_STARTED] = 1 };
static const struct fake_totals one_io = {
	.ios[READ_IO] = 1, .bytes[READ_IO] = BYTES, .accounts[BLKLAT_STARTED] = 1,
};

static void hold(struct blklat_session *s, struct bio *bio)
{
	preempt_disable();
	blklat_capture_bio_hold(s, bio);
	preempt_enable();
}

/* Waits by the clock under test: a delay counts loops, and an emulated CPU's loops vary. */
static void wait_for(u64 ns)
{
	u64 begin = ktime_get_mono_fast_ns();

	while (ktime_get_mono_fast_ns() - begin < ns)
		cpu_relax();
}

/*
 * Held back by a limit, once or again when the bio comes by a second time, and then queued: one IO, in
 * flight from the first time on. The rest of a bio that was split is no IO.
 */
static void blklat_capture_held_test_one(struct kunit *test)
{
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, &total, 1);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);
	u64 held = ktime_get_mono_fast_ns(), ns;
	u32 i;

	for (i = 0; i < 3; i++) {
		if (i < 2)
			hold(s, bio);
		else
			fake_bio_queue(s, bio);
		fake_expect(test, 0, 0, i < 2 ? "held" : "queued", &on_its_way);
		EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 1);
		wait_for(2 * NSEC_PER_MSEC);
	}
	bio_set_flag(bio, BIO_TRACE_COMPLETION);
	hold(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	ns = fake_sum(s, 0, READ_IO, AT_SUM);
	KUNIT_EXPECT_TRUE_MSG(test, 6 * NSEC_PER_MSEC <= ns && ns <= ktime_get_mono_fast_ns() - held, "%llu ns", ns);
	hold(s, bio);
	fake_expect(test, 0, 0, "ended", &one_io);
	EXPECT_U64(test, fake_bios_in_flight(test, s, 0), 0);
}

/* A device that goes away takes its held bios with it: the next bio at such an address is another one. */
static void blklat_capture_held_test_device_gone(struct kunit *test)
{
	static const struct fake_watch both[] = { { BLKLAT_STAGE_TOTAL }, { BLKLAT_STAGE_TOTAL, .disk = 1 } };
	static const struct fake_totals left = { .accounts = { [BLKLAT_STARTED] = 1, [BLKLAT_OVERWRITTEN] = 1 } };
	struct fake *f = test->priv;
	struct blklat_session *s = fake_session(test, 0, 6, FAKE_MAX_BIOS, both, 2);
	struct bio *bio = fake_bio(test, f->disk[0], false, REQ_OP_READ, BYTES);

	hold(s, bio);
	memcpy(bio, fake_bio(test, f->disk[1], false, REQ_OP_READ, BYTES), sizeof(*bio));
	fake_bio_queue(s, bio);
	fake_bio_end(s, bio, BLK_STS_OK);
	fake_expect(test, 0, 0, "left", &left);
	fake_expect(test, 0, 1, "of the other", &one_io);
}

static struct kunit_case blklat_capture_held_test_cases[] = {
	KUNIT_CASE(blklat_capture_held_test_one),
	KUNIT_CASE(blklat_capture_held_test_device_gone),
	{}
};

static struct kunit_suite blklat_capture_held_test_suite = {
	.name = "blklat_capture_held",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = blklat_capture_held_test_cases,
};
kunit_test_suite(blklat_capture_held_test_suite);
