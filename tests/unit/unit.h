/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame of a unit test's program: TEST(name) { ... } for each test, and nothing else. Tests run in the order in which
 * they stand in the file.
 */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/types.h"

#define TESTS_MAX 64

/* A file whose tests all have the same fixture defines set_up() and tear_down(), a header tear_down_world(), which comes last. */
void set_up(void) __attribute__((weak));
void tear_down(void) __attribute__((weak));
void tear_down_world(void) __attribute__((weak));

static struct CMUnitTest unit_tests[TESTS_MAX];
static unsigned int unit_tests_n;

static inline int unit_set_up(void **state)
{
	(void)state;
	if (set_up)
		set_up();
	return 0;
}

static inline int unit_tear_down(void **state)
{
	(void)state;
	if (tear_down)
		tear_down();
	if (tear_down_world)
		tear_down_world();
	return 0;
}

static inline void unit_add(struct CMUnitTest test)
{
	if (unit_tests_n == TESTS_MAX)
		abort();
	unit_tests[unit_tests_n++] = test;
}

/* The constructors run by their priority, here the number of the line. Those up to 100 are the compiler's. */
#define TEST(name)											\
	static void name(void **state);									\
	static __attribute__((constructor(1000 + __LINE__))) void unit_add_##name(void)			\
	{												\
		unit_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, unit_set_up, unit_tear_down)); \
	}												\
	static void name(__attribute__((unused)) void **state)

/* For a child process, whose exit status is the result: 0 if all is as expected, else a line. */
#define EXPECT(what) do { if (!(what)) _exit(__LINE__ % 256); } while (0)

/* Memory that is in use, in bytes; under a sanitizer always 0. */
static inline size_t in_use(void)
{
	return mallinfo2().uordblks;
}

/* The same numbers in each run: xorshift64 (Marsaglia 2003). @seed is never 0. */
static inline u64 next_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

int main(void)
{
	return _cmocka_run_group_tests("tests", unit_tests, unit_tests_n, NULL, NULL);
}

#endif
