// SPDX-License-Identifier: GPL-2.0-only
/* Runs with faults: losses, counts that disagree, errors, IOs that hang, a device that goes away. */
#include "findings_run.h"

static void losses_and_errors(void **state)
{
	struct accounting *a;
	struct made m;

	(void)state;
	begin(&m, 1);
	a = &m.s.frames.f[0].accounting;
	synthetic_io(&m.s, 0, READ, 27000, 997);
	synthetic_tick(&m.s, 1);
	synthetic_io(&m.s, 0, READ, 27000, 1000);
	m.s.frames.f[0].ops[READ].errors = 2;
	a->lost = 3;
	a->lost_by[LOST_RECURSION] = 2;
	a->lost_by[LOST_TABLE_FULL] = 1;
	a->kernel_known = true;
	a->kernel_ios = 2004;
	synthetic_tick(&m.s, 1);
	judge(&m);
	assert_string_equal(only(&m, "losses")->text, "sda: 3 IOs are lost from the figures (0.15 %): 1 for want of room "
			    "in the table of bios, 2 in program runs that the kernel skipped");
	assert_string_equal(only(&m, "kernel_count")->text, "sda: the kernel's statistics counted 2 004 IOs, blklat 1 997");
	assert_string_equal(only(&m, "errors")->text, "sda read: 2 of 1 997 IOs failed, the first at 1.0 s");
	assert_close(only(&m, "errors")->from_s, 1, 1e-9);
	end(&m);
}

/*
 * Two in flight at the start and one that failed unissued explain a difference of three. They do not explain four,
 * unless IOs moved during the read.
 */
static void kernel_count_limits(void **state)
{
	(void)state;
	for (u32 more = 3; more <= 5; more++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, 27000, 997);
		m.s.frames.f[0].accounting.before = 2;
		m.s.frames.f[0].accounting.moved = more == 5;
		m.s.frames.f[0].accounting.unissued = 1;
		m.s.frames.f[0].accounting.kernel_known = true;
		m.s.frames.f[0].accounting.kernel_ios = 997 + more;
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "kernel_count", more == 4);
		end(&m);
	}
}

/* 1 s where 100 medians are less; 100 medians of 50 ms; never more than 30 s. */
static void hung_limits(void **state)
{
	static const struct { u64 p50_ns, age_ns; u32 findings; } cases[] = {
		{ 27000, 1000000000, 1 }, { 27000, 999999999, 0 }, { 50000000, 5000000000, 1 },
		{ 50000000, 4999999999, 0 }, { 900000000, 30000000000, 1 }, { 900000000, 29999999999, 0 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, cases[c].p50_ns, 100);
		synthetic_tick(&m.s, 60);
		synthetic_io(&m.s, 0, READ, cases[c].p50_ns, 100);
		synthetic_in_flight(&m.s, 0, 1, cases[c].age_ns);
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "hung", cases[c].findings);
		if (cases[c].findings)
			assert_close(value(only(&m, "hung"), "pending"), 1, 0);
		if (!c)
			assert_string_equal(only(&m, "hung")->text, "sda: an IO hung: at 61.0 s it had been in flight for 1.00 s, "
					    "and it still was when the run ended");
		end(&m);
	}
}

static void device_gone(void **state)
{
	struct made m;

	(void)state;
	synthetic_init(&m.s);
	synthetic_begin(&m.s, 2, 6, 1);
	for (u32 i = 0; i < 3; i++) {
		synthetic_io(&m.s, 1, READ, 27000, 100);
		m.s.frames.f[1].gone = i == 2;
		synthetic_tick(&m.s, 1);
	}
	m.s.frames.n = 1;
	synthetic_tick(&m.s, 1);
	m.s.frames.n = 2;
	judge(&m);
	assert_string_equal(only(&m, "gone")->text, "sdb: the device went away at 3.0 s");
	end(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_and_errors),
		cmocka_unit_test(kernel_count_limits),
		cmocka_unit_test(hung_limits),
		cmocka_unit_test(device_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
