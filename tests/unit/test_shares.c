// SPDX-License-Identifier: GPL-2.0-only
/* Where the time of IOs goes: shares of known sums. */
#include "unit.h"

#include "core/shares.h"

enum { DEVICE, QUEUE, TOTAL, WAIT, OTHER, WATCHES };

static const struct device disk = { .name = "sda" }, other = { .name = "sdb" };
static const struct watch watches[] = {
	{ .device = &disk, .stage = BLKLAT_STAGE_DEVICE }, { .device = &disk, .stage = BLKLAT_STAGE_QUEUE },
	{ .device = &disk, .stage = BLKLAT_STAGE_TOTAL }, { .device = &disk, .stage = BLKLAT_STAGE_WAIT },
	{ .device = &other, .stage = BLKLAT_STAGE_WAIT },
};
static struct frame frames[WATCHES];
static struct frames fs = { .f = frames };

void set_up(void)
{
	memset(frames, 0, sizeof(frames));
	for (u32 i = 0; i < WATCHES; i++)
		frames[i].watch = &watches[i];
	fs.n = WATCHES;
}

static void had(u32 watch, u64 ios, u64 sum_ns)
{
	frames[watch].ops[BLKLAT_OP_READ].ios = ios;
	frames[watch].ops[BLKLAT_OP_READ].sum_ns = sum_ns;
}

/* They add up to the total, whatever the sums are. */
static struct shares check(u64 wait, u64 plug, u64 queue, u64 device)
{
	struct shares s;

	assert_true(shares_of(&fs, TOTAL, BLKLAT_OP_READ, &s));
	assert_int_equal(s.ns[SHARE_WAIT], wait);
	assert_int_equal(s.ns[SHARE_PLUG], plug);
	assert_int_equal(s.ns[SHARE_QUEUE], queue);
	assert_int_equal(s.ns[SHARE_DEVICE], device);
	assert_int_equal(wait + plug + queue + device, frames[TOTAL].ops[BLKLAT_OP_READ].sum_ns);
	return s;
}

TEST(test_exact)
{
	had(TOTAL, 10, 1000003);
	had(WAIT, 10, 600000);
	had(DEVICE, 10, 300000);
	had(OTHER, 10, 7);
	assert_true(check(600000, 100003, 0, 300000).exact);
	had(QUEUE, 4, 100000);		/* the others went straight to the driver */
	assert_true(check(600000, 3, 100000, 300000).exact);
}

/* IOs in flight at the beginning may have more time at the device than at stage total. */
TEST(test_no_more_than_all)
{
	had(TOTAL, 10, 1000);
	had(WAIT, 10, 300);
	had(DEVICE, 10, 900);
	check(300, 0, 0, 700);
}

TEST(test_not_watched)
{
	struct shares s;

	assert_false(shares_of(&fs, TOTAL, BLKLAT_OP_READ, &s));	/* no IO */
	had(TOTAL, 1, 10);
	assert_true(shares_of(&fs, TOTAL, BLKLAT_OP_READ, &s));
	had(WAIT, 1, 10);
	assert_true(shares_of(&fs, WAIT, BLKLAT_OP_READ, &s));	/* whichever stage is asked for */
	frames[WAIT].watch = &watches[OTHER];
	assert_false(shares_of(&fs, TOTAL, BLKLAT_OP_READ, &s));
}

static void check_rounded(struct shares s, u32 wait, u32 plug, u32 queue, u32 device)
{
	u32 part[SHARES];

	shares_round(&s, part);
	assert_int_equal(part[SHARE_WAIT], wait);
	assert_int_equal(part[SHARE_PLUG], plug);
	assert_int_equal(part[SHARE_QUEUE], queue);
	assert_int_equal(part[SHARE_DEVICE], device);
	assert_int_equal(wait + plug + queue + device, SHARES_WHOLE);
}

/* Each by itself would be rounded to 1001 or 999 in all. */
TEST(test_rounded_shares_add_up)
{
	const u64 years_ns = 1ULL << 61;

	check_rounded((struct shares){ .ns = { 75160, 60, 0, 24780 } }, 752, 0, 0, 248);
	check_rounded((struct shares){ .ns = { 3336, 3336, 3328, 0 } }, 334, 333, 333, 0);
	check_rounded((struct shares){ .ns = { 3333, 3333, 3334, 0 } }, 333, 333, 334, 0);
	check_rounded((struct shares){ .ns = { 0, 0, 0, 1 } }, 0, 0, 0, 1000);
	check_rounded((struct shares){ .ns = { UINT64_MAX, UINT64_MAX, 0, 2 } }, 500, 500, 0, 0);
	check_rounded((struct shares){ .ns = { years_ns, years_ns, years_ns, years_ns } }, 250, 250, 250, 250);
}

/* Without a scheduler, nr_requests limits the driver's tags. */
TEST(test_how_many_tags)
{
	const struct shares s = { .ns = { [SHARE_WAIT] = 944, [SHARE_DEVICE] = 56 }, .bios = 1, .requests = 1 };
	struct device few = { .name = "loop0", .scheduler = "none", .tags = 128, .nr_requests = 4, .hw_queues = 1 };
	char text[SHARES_TEXT];

	assert_string_equal(shares_text(text, &s, &few), "wait 94.4 %, plug 0.0 %, queue 0.0 %, device 5.6 % of this time; the device has 4 tags");
	few.nr_requests = 128;
	assert_non_null(strstr(shares_text(text, &s, &few), "; the device has 128 tags"));
	strcpy(few.scheduler, "mq-deadline");
	few.nr_requests = 256;
	assert_non_null(strstr(shares_text(text, &s, &few), "; the scheduler has 256 tags"));
}
