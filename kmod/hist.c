// SPDX-License-Identifier: GPL-2.0-only
#include "hist.h"

/*
 * Userspace resets the cells of the parity that is not in use, and a slow CPU may still write there. No
 * loop gets long.
 */
void blklat_hist_raise(u64 *cell, u64 value)
{
	s64 seen = READ_ONCE(*cell);

	while ((u64)seen < value && !atomic64_try_cmpxchg((atomic64_t *)cell, &seen, value))
		;
}

u32 blklat_whole_number(const struct blklat_session *s, u32 watch)
{
	return (watch - 1) / (1 + s->parts);
}
