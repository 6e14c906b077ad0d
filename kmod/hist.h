/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of abi.h, one row a CPU. Every change is one operation that an interrupt on this CPU
 * can't split (local64_t, Documentation/core-api/local_ops.rst), so an IO that ends in an interrupt
 * while another one is being counted is counted as well: nothing is skipped. The caller stays on its
 * CPU.
 */
#ifndef KMOD_HIST_H
#define KMOD_HIST_H

#include "session.h"

/* @cpu's series of a watch (number + 1) and op; @cpu below s->cpus, @op below BLKLAT_OPS. */
struct blklat_series *blklat_series_of(const struct blklat_session *s, u32 cpu, u32 watch, u32 op);

/*
 * Everything of one ended IO of @ns but its bytes and its bin, which comes last (abi.h says why).
 * Returns the bin, for blklat_hist_add().
 */
u64 *blklat_hist_begin(const struct blklat_session *s, struct blklat_series *series, u64 ns);

/* Adds to a cell of this CPU's row. */
void blklat_hist_add(u64 *cell, u64 n);

/* Adds one to @cpu's account of a watch (number + 1). */
void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell);

#endif
