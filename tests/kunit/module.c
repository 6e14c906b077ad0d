// SPDX-License-Identifier: GPL-2.0-only
/*
 * blklat_kunit.ko: runs the suites when it is loaded, on a kernel that has no KUnit of its own.
 * stock.py makes suite_list.h: SUITE_LISTS names the lists that kunit_test_suites() defines in each file.
 */
#include <linux/module.h>
#include <kunit/test.h>

#include "suite_list.h"

static struct kunit_suite *const *const lists[] = { SUITE_LISTS };

static int __init run_suites(void)
{
	int i, n, err;

	err = BLKLAT_INIT();
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		for (n = 0; lists[i][n]; n++)
			;
		__kunit_test_suites_init(lists[i], n);
	}
	return 0;
}

static void __exit end(void)
{
	BLKLAT_EXIT();
}

module_init(run_suites);
module_exit(end);

MODULE_LICENSE("GPL");
