// SPDX-License-Identifier: GPL-2.0-only
#include "report/beside.h"

#include <string.h>

#include "blklat/parts.h"

bool beside_divides(const struct run *r, const struct watch_run *whole)
{
	return run_parts(r, whole - r->watches) && !strcmp(whole[1].watch->part->by, by_names[BLKLAT_BY_BESIDE]);
}

const struct op_frame *beside_part(const struct watch_run *whole, u32 kind, u32 op)
{
	return whole[kind].ops[op].total;
}

const struct op_frame *beside_base(const struct watch_run *whole, u32 op, u32 *ret_kind)
{
	static const u32 kinds[] = { BLKLAT_BESIDE_NOTHING, BLKLAT_KIND_READ };

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct op_frame *o = beside_part(whole, kinds[i], op);

		if (o->ios < PART_IOS_LEAST)
			continue;
		*ret_kind = kinds[i];
		return o->percentile_ns[RUN_P50] > 0 ? o : NULL;
	}
	return NULL;
}
