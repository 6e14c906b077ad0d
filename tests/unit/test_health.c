// SPDX-License-Identifier: GPL-2.0-only
/* Which devices are marked as sick: each reason at its limit, and the past that a p99 is compared with. */
#include "unit.h"

#include "core/frame.h"

/* Five disks, each with one watch. */
static struct device d[5];
static struct watch watch[5];
static struct frames fs;
static char text[HEALTH_TEXT];

void set_up(void)
{
	memset(d, 0, sizeof(d));
	for (u32 i = 0; i < 5; i++) {
		snprintf(d[i].name, sizeof(d[i].name), "sd%c", 'a' + (char)i);
		strcpy(d[i].model, "A");
		watch[i] = (struct watch){ .device = &d[i] };
	}
	assert_int_equal(frames_init(&fs, watch, 5, BLKLAT_SCALE_MAX), 0);
}

void tear_down(void)
{
	frames_uninit(&fs);
}

/* An interval of a second in which @n reads took @ns each. */
static struct frame *interval(u64 ns, u64 n)
{
	struct frame *f = &fs.f[0];
	struct op_frame *o = &f->ops[BLKLAT_OP_READ];

	hist_clear(&o->hist);
	o->ios = n;
	o->min_ns = o->max_ns = ns;
	o->errors = 0;
	if (n)
		hist_put(&o->hist, blklat_cell(ns, BLKLAT_SCALE_MAX), n);
	f->end_ns += NSEC_PER_SEC;
	f->interval_s = 1;
	f->in_flight = f->oldest_ns = 0;
	f->accounting = (struct accounting){ 0 };
	return f;
}

static struct health judge(void)
{
	assert_int_equal(health_judge(&fs), 0);
	return fs.f[0].health;
}

static enum ailment of(u64 ns, u64 n)
{
	interval(ns, n);
	return judge().ailment;
}

/* Begins anew with @n intervals of a millisecond. */
static void have_past(u32 n)
{
	tear_down();
	set_up();
	while (n--)
		assert_int_equal(of(1000000, 100), AILMENT_NONE);
}

TEST(slow_is_five_times_the_past)
{
	struct health one;

	have_past(9);		/* too few */
	assert_int_equal(of(100000000, 19), AILMENT_NONE);
	have_past(20);
	assert_int_equal(of(4900000, 100), AILMENT_NONE);
	/* With few IOs p99 is the slowest IO, which means nothing. */
	have_past(20);
	assert_int_equal(of(8000000, 19), AILMENT_NONE);
	have_past(20);
	interval(8000000, 100);
	one = judge();
	assert_int_equal(one.ailment, AILMENT_SLOW);
	assert_true(one.times > 7.99 && one.times < 8.01);
	assert_true(health_worst_ns(&one, one.p99_ns) == 8e6);
	assert_string_equal(health_text(text, &one), "slow: p99 is 8 times its past");
}

/* What is slow for long is not what is usual. It is well below half of the limit, so that one at the limit does not come and go. */
TEST(a_sick_device_stays_sick)
{
	struct health one;
	s64 began_ns;

	have_past(100);
	began_ns = fs.f[0].end_ns;
	for (u32 i = 0; i < 10000; i++) {
		interval(10000000, 100);
		one = judge();
		assert_int_equal(one.ailment, AILMENT_SLOW);
		assert_true(one.times > 9.99 && one.times < 10.01);
		assert_true(one.since_ns == began_ns);
	}
	assert_string_equal(health_since(text, &one, began_ns + NSEC_PER_SEC, 1), "");
	setenv("TZ", "UTC", 1);
	assert_string_equal(health_since(text, &one, began_ns + 1320 * NSEC_PER_SEC, 1), "since 00:01:40 (22 min)");
	assert_int_equal(of(2600000, 100), AILMENT_SLOW);
	/* Too few IOs to say that it is well, and none. */
	assert_int_equal(of(1000000, 19), AILMENT_NONE);
	assert_int_equal(of(0, 0), AILMENT_NONE);
	interval(10000000, 100);
	one = judge();
	assert_true(one.ailment == AILMENT_SLOW && one.since_ns == began_ns);
	assert_int_equal(of(2400000, 100), AILMENT_NONE);
	assert_int_equal(fs.f[0].health.since_ns, 0);
	assert_int_equal(of(4900000, 100), AILMENT_NONE);
	began_ns = fs.f[0].end_ns;
	interval(10000000, 100);
	assert_true(judge().since_ns == began_ns);
}

/* After a day it is what is usual. */
TEST(other_work_is_no_illness_for_ever)
{
	have_past(20);
	for (u32 i = 0; i < HEALTH_SLOW_MAX_S + 1; i++)
		assert_int_equal(of(10000000, 100), AILMENT_SLOW);
	for (u32 i = 0; i < 20; i++)
		assert_int_equal(of(10000000, 100), AILMENT_NONE);
	assert_int_equal(of(60000000, 100), AILMENT_SLOW);
}

TEST(what_waits_or_failed)
{
	static const struct { u64 ios, in_flight, oldest_ns, errors; enum ailment ailment; u64 worst_ns; const char *text; } cases[] = {
		{ 100, 1, 1000000000, 0, AILMENT_NONE, 1000000000, "" },
		{ 100, 1, 1000000001, 0, AILMENT_OLD, 1000000001, "an IO has waited 1.00 s" },
		{ 0, 3, 600000000, 0, AILMENT_STALLED, 600000000, "stalled: no completions, an IO has waited 600 ms" },
		{ 100, 0, 0, 1, AILMENT_ERRORS, 1000000, "1 IO failed" },
	};
	struct health one;
	struct frame *f;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		f = interval(1000000, cases[i].ios);
		f->in_flight = cases[i].in_flight;
		f->oldest_ns = cases[i].oldest_ns;
		f->ops[BLKLAT_OP_READ].errors = cases[i].errors;
		one = judge();
		assert_int_equal(one.ailment, cases[i].ailment);
		assert_true(health_worst_ns(&one, one.p99_ns) == cases[i].worst_ns);
		assert_string_equal(health_text(text, &one), cases[i].text);
	}
	/* The kernel has counted their ends: they were missed, and nothing hangs. */
	f = interval(0, 0);
	f->in_flight = 3;
	f->oldest_ns = 600000000;
	f->accounting = (struct accounting){ .started = 3, .in_flight = 3, .kernel_known = true, .kernel_ios = 3 };
	assert_true(accounting_ends_missed(&f->accounting));
	one = judge();
	assert_int_equal(one.ailment, AILMENT_NONE);
	assert_true(health_worst_ns(&one, one.p99_ns) == 0);
}

/* A minute of rest is no change, and no past either. */
TEST(rest_is_no_illness)
{
	have_past(20);
	for (u32 i = 0; i < 60; i++)
		assert_int_equal(of(0, 0), AILMENT_NONE);
	assert_int_equal(fs.f[0].past.intervals, 20);
	assert_int_equal(of(1000000, 100), AILMENT_NONE);
	assert_int_equal(of(6000000, 100), AILMENT_SLOW);
}

TEST(losses_tell_of_the_measurement)
{
	static const struct { u64 ios, lost; bool gone; enum ailment ailment; const char *grade, *text; } cases[] = {
		{ 9900, 99, false, AILMENT_NONE, "well", "" }, { 9900, 100, false, AILMENT_LOST, "watch", "1.00 % of its IOs lost" },
		{ 9900, 100, true, AILMENT_GONE, "watch", "gone" },
	};
	struct health one;
	struct frame *f;
	u64 lost = 0;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		f = interval(1000000, cases[i].ios);
		f->accounting.lost = lost += cases[i].lost;
		f->gone = cases[i].gone;
		one = judge();
		assert_int_equal(one.lost, cases[i].lost);
		assert_int_equal(one.ailment, cases[i].ailment);
		assert_string_equal(health_grade_names[health_grade(&one)], cases[i].grade);
		assert_string_equal(health_text(text, &one), cases[i].text);
		assert_int_equal(one.since_ns, 0);
	}
	/* One of them is explained now. */
	f = interval(1000000, 9900);
	f->gone = false;
	f->accounting.lost = lost - 1;
	assert_int_equal(judge().lost, 0);
}

/* Of the last minute, that is: one IO a minute is far less than 1 % of those of a device that does 10 a second. */
TEST(losses_of_the_last_minute)
{
	struct frame *f;

	for (u32 i = 1; i <= 600; i++) {
		f = interval(1000000, 10);
		f->accounting.lost = i / 60;
		assert_false(judge().lost_lately);
	}
	f = interval(1000000, 10);
	f->accounting.lost = 10 + 7;
	assert_true(judge().lost_lately);
	f = interval(1000000, 10);
	f->accounting.lost = 17;
	assert_false(judge().lost_lately);
}

static void health_of(const double p99_ms[5])
{
	for (u32 i = 0; i < 5; i++)
		fs.f[i].health = (struct health){ .ios = HEALTH_IOS_MIN, .p99_ns = p99_ms[i] * 1e6 };
}

static u32 unlike(void)
{
	u32 found = 0;

	assert_int_equal(health_compare(&fs), 0);
	for (u32 i = 0; i < 5; i++)
		found |= (fs.f[i].health.ailment == AILMENT_UNLIKE) << i;
	return found;
}

/* A device that is slow from its first interval on has no better past, but it has peers. */
TEST(slower_than_its_like)
{
	health_of((double[]){ 2, 10, 1, 3, 1 });
	assert_int_equal(unlike(), 1 << 1);	/* 10 / 2, the middle of 1 1 2 3 10 */
	assert_true(fs.f[1].health.times_like == 5);
	assert_string_equal(health_text(text, &fs.f[1].health), "p99 is 5 times that of its peers");
	assert_string_equal(health_grade_names[health_grade(&fs.f[1].health)], "watch");
	health_of((double[]){ 2, 9.99, 1, 3, 1 });
	assert_int_equal(unlike(), 0);

	/* Devices of another model, or with few IOs, do not count as peers; three are too few. */
	health_of((double[]){ 1, 10, 1, 1, 1 });
	strcpy(d[0].model, "B");
	fs.f[2].health.ios--;
	assert_int_equal(unlike(), 0);
	fs.f[2].health.ios++;
	assert_int_equal(unlike(), 1 << 1);

	/* Of four peers the lower of the two middle ones counts, so half of them may be slow. */
	health_of((double[]){ 1, 10, 10, 1, 1 });
	assert_int_equal(unlike(), 1 << 1 | 1 << 2);

	/* A more serious mark stays. */
	health_of((double[]){ 1, 10, 1, 1, 1 });
	fs.f[1].health.ailment = AILMENT_OLD;
	assert_int_equal(health_compare(&fs), 0);
	assert_int_equal(fs.f[1].health.ailment, AILMENT_OLD);
	assert_string_equal(health_grade_names[health_grade(&fs.f[1].health)], "sick");
}

/* @n devices, slower by these factors; the rest of the five have no past. Returns those slow by themselves, as bits. */
static u32 together(const double times[5])
{
	u32 slow = 0;

	for (u32 i = 0; i < 5; i++)
		fs.f[i].health = (struct health){ .times = times[i], .ailment = times[i] >= HEALTH_TIMES ? AILMENT_SLOW : AILMENT_NONE };
	health_together(&fs);
	for (u32 i = 0; i < 5; i++)
		slow |= (fs.f[i].health.ailment == AILMENT_SLOW) << i;
	return slow;
}

/* If all devices become slow at once, no single device is to blame. */
TEST(all_slower_is_the_host)
{
	assert_int_equal(together((double[]){ 8, 8, 8, 8, 8 }), 0);
	assert_true(fs.host.n == 5 && fs.host.of == 5 && fs.host.times > 7.99 && fs.host.times < 8.01);
	assert_string_equal(health_grade_names[health_grade(&fs.f[0].health)], "well");
	assert_string_equal(health_text(text, &fs.f[0].health), "all slower, this p99 by 8 times: the host?");
	/* Four of five are enough, three are not, three of three are, two of two are not. */
	assert_int_equal(together((double[]){ 8, 8, 8, 8, 1 }), 0);
	assert_true(fs.host.n == 4 && fs.host.of == 5);
	assert_int_equal(together((double[]){ 8, 8, 8, 1, 1 }), 7);
	assert_int_equal(fs.host.n, 0);
	assert_int_equal(together((double[]){ 8, 8, 8, 0, 0 }), 0);
	assert_int_equal(together((double[]){ 8, 8, 0, 0, 0 }), 3);
	/* One that is much slower keeps its mark: the mean is 8 * (100 / 8)^(1/5), 13.3. Unlike factors prove nothing. */
	assert_int_equal(together((double[]){ 8, 8, 100, 8, 8 }), 1 << 2);
	assert_int_equal(fs.host.n, 4);
	assert_int_equal(together((double[]){ 5, 20, 80, 320, 1280 }), 31);
	/* A slow disk makes its partitions slow, and what lies on it. */
	strcpy(d[1].kind, "partition");
	strcpy(d[2].kind, "loop");
	d[3].n_lower = 1;
	assert_int_equal(together((double[]){ 8, 8, 8, 8, 8 }), 31);
	/* A device at three stages counts once. */
	for (u32 i = 0; i < 3; i++)
		watch[i].device = &d[0];
	d[3].n_lower = 0;
	assert_int_equal(together((double[]){ 8, 8, 8, 8, 0 }), 15);
}

/* @n of five devices wait, the others only complete IOs, or do nothing. Returns those marked for it, as bits. */
static u32 waiting(const double waited_s[5], u64 ios)
{
	u32 marked = 0;

	for (u32 i = 0; i < 5; i++) {
		fs.f[i].health = (struct health){ .ios = ios, .waited_ns = waited_s[i] * NSEC_PER_SEC };
		if (waited_s[i] > 1)
			fs.f[i].health.ailment = ios ? AILMENT_OLD : AILMENT_STALLED;
	}
	health_together(&fs);
	for (u32 i = 0; i < 5; i++)
		marked |= health_marks(&fs.f[i].health) << i;
	return marked;
}

/* If all devices hang at once, the cause is what they share. */
TEST(all_wait_for_the_host)
{
	for (u64 ios = 0; ios <= 100; ios += 100) {
		assert_int_equal(waiting((double[]){ 3, 3, 3, 3, 3 }, ios), 0);
		assert_true(fs.host.waiting == 5 && fs.host.busy == 5 && fs.host.waited_ns > 2.99e9 && fs.host.waited_ns < 3.01e9 && !fs.host.n);
		assert_string_equal(health_grade_names[health_grade(&fs.f[0].health)], "watch");
		assert_string_equal(health_text(text, &fs.f[0].health), "all waiting, an IO here for 3.00 s: the host?");
		assert_string_equal(health_host_text(&fs.host), "all waiting: the host?");
	}
	/* Three of five devices that have IOs are too few; three of three are enough: the others have none. */
	assert_int_equal(waiting((double[]){ 3, 3, 3, 0, 0 }, 100), 7);
	assert_int_equal(fs.host.waiting, 0);
	assert_string_equal(health_host_text(&fs.host), "");
	assert_int_equal(waiting((double[]){ 3, 3, 3, 0, 0 }, 0), 0);
	assert_int_equal(fs.host.waiting, 3);
	/* One that has hung for longer keeps its mark: the mean is 5 * (60 / 5)^(1/5), 8.22. Unlike times prove nothing. */
	assert_int_equal(waiting((double[]){ 5, 5, 60, 5, 5 }, 100), 1 << 2);
	assert_int_equal(fs.host.waiting, 4);
	assert_int_equal(waiting((double[]){ 2, 5, 20, 60, 3600 }, 100), 31);
}
