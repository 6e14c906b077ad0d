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

void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell)
{
	u32 whole = s->parts ? (watch - 1) / (1 + s->parts) : watch - 1;
	size_t row = (size_t)cpu * s->wholes + whole;

	blklat_hist_add(&s->accounts[row * BLKLAT_ACCOUNTS + cell], 1, false);
}
