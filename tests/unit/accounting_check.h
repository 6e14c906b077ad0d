/* SPDX-License-Identifier: GPL-2.0-only */
/* What holds for every accounting, for the tests that make up their figures. */
#ifndef TEST_ACCOUNT_CHECK_H
#define TEST_ACCOUNT_CHECK_H

#include "unit.h"

#include "core/accounting.h"

#define CPUS 2
#define SEED 7777ULL

static inline void check_identity(const char *what, const struct accounting *a)
{
	s64 residue = a->started - a->completed - a->in_flight - a->lost;
	u64 lost = 0;

	for (u32 i = 0; i < LOST_REASONS; i++)
		lost += a->lost_by[i];
	if (lost != a->lost)
		fail_msg("%s: lost %llu, reasons give %llu", what, a->lost, lost);
	if ((u64)llabs(residue) > a->moved)
		fail_msg("%s: started %llu completed %llu in flight %llu lost %llu: off by %lld, "
			 "moved %llu", what, a->started, a->completed, a->in_flight, a->lost,
			 residue, a->moved);
}

#endif
