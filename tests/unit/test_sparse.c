// SPDX-License-Identifier: GPL-2.0-only
/* Large tables that are hardly touched, by what the kernel says of the memory that they are in (proc_pid_smaps(5)). */
#include "unit.h"

#include <unistd.h>

#include "core/frame.h"
#include "core/intervals.h"
#include "util/array.h"
#include "util/cleanup.h"

#define MIB (1UL << 20)

/* Whether the page at @at never becomes a part of a huge one. */
static bool is_small(const void *at)
{
	FILE *smaps CLEANUP(cleanup_fclose) = fopen("/proc/self/smaps", "r");
	char line[512];
	bool ours = false;

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			ours = from <= (uintptr_t)at && (uintptr_t)at < to;
		else if (ours && !strncmp(line, "VmFlags:", 8))
			return strstr(line, " nh");
	}
	fail_msg("%p is nowhere", at);
	return false;
}

static void need_huge_pages(void)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
		print_message("this kernel has no transparent huge pages\n");
		skip();
	}
}

TEST(only_small_pages)
{
	u64 *cells;
	void *plain;

	need_huge_pages();
	cells = sparse_calloc(8, MIB);
	plain = calloc(8, MIB);
	assert_non_null(cells);
	assert_non_null(plain);
	for (u32 mib = 1; mib < 8; mib++) {
		assert_int_equal(cells[mib * MIB / sizeof(*cells)], 0);
		assert_true(is_small((char *)cells + mib * MIB));
		assert_false(is_small((char *)plain + mib * MIB));
	}
	free(cells);
	free(plain);
}

TEST(less_than_a_page)
{
	u32 *one = sparse_calloc(1, sizeof(*one));

	assert_int_equal(*one, 0);
	free(one);
}

/* Those of a thousand devices' histograms, and of the past intervals that slow IOs are told by. */
TEST(histograms_are_sparse)
{
	static struct watch watches[1000];
	static const struct slow_wanted percentile;
	struct slow_limits limits;
	struct frames fs;

	need_huge_pages();
	assert_int_equal(frames_init(&fs, watches, ARRAY_SIZE(watches), 6), 0);
	assert_true(is_small(fs.f[500].ops[0].hist.cells));
	assert_true(is_small(fs.f[999].ops[0].hist.cells));
	frames_uninit(&fs);
	assert_int_equal(slow_limits_init(&limits, &percentile, 101, 6), 0);
	slow_limits_enter(&limits, 0, 101);
	assert_true(is_small(limits.past[100].hist.cells));
	slow_limits_uninit(&limits);
}
