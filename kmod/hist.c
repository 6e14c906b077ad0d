// SPDX-License-Identifier: GPL-2.0-only
#include "hist.h"

/*
 * Userspace resets the cells of the parity that is not in use, and a slow CPU may still write there. No
 * loop gets long.
 */
void blklat_hist_raise(u64 *cell, u64 value)
{
	u64 seen = READ_ONCE(*cell), old;

	while (seen < value) {
		old = seen;
		seen = local64_cmpxchg(blklat_local(cell), old, value);
		if (seen == old)
			break;
	}
}

void blklat_hist_set_bit(u64 *cell, u64 bit)
{
	u64 seen = READ_ONCE(*cell), old;

	while (!(seen & bit)) {
		old = seen;
		seen = local64_cmpxchg(blklat_local(cell), old, old | bit);
		if (seen == old)
			break;
	}
}

void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell)
{
	size_t row = (size_t)cpu * s->watches + watch - 1;

	blklat_hist_add(&s->accounts[row * BLKLAT_ACCOUNTS + cell], 1);
}
