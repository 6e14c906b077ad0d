// SPDX-License-Identifier: GPL-2.0-only
// Percentiles of bins that no program has summed up: those of a time that the reader chose, and shares that the
// document has no figure of. The rule is that of userspace/core/quantile.c; tests/web/test_quantile_rule.mjs compares them.
import type { Bin } from "./data";

/** ceil(share * ios), for the share that was meant: 0.07 is a little more than 7 %, so two roundings are taken off. */
function rankOf(share: number, ios: number): number {
    return Math.min(Math.max(Math.ceil(share * ios * (1 - 2 ** -51)), 1), ios);
}

/** The value at @place, a share between 0 and 1, of the width of a bin cut to the extremes. */
function insideBin([lower, upper]: Bin, place: number, min: number, max: number): number {
    // Outside of the grid there is no width.
    if (!lower)
        return min;
    if (upper === null)
        return max;
    const from = Math.max(lower, min), to = Math.min(upper, max);
    return Math.min(Math.max(from * (to / from) ** place, min), max);
}

/** The latency in ns that a @share of the IOs does not exceed; NaN where there is no IO. */
export function quantile(bins: Bin[], share: number, min: number, max: number): number {
    const ios = bins.reduce((sum, bin) => sum + bin[2], 0), rank = rankOf(share, ios);
    if (!ios)
        return NaN;
    // Of the slowest and of the fastest IO more is known than the bin.
    if (rank === ios)
        return max;
    if (rank === 1)
        return min;
    let before = 0, i = 0;
    while (before + bins[i][2] < rank)
        before += bins[i++][2];
    // c IOs of a bin are taken to lie in the middles of c equal parts of it.
    return insideBin(bins[i], (rank - before - 0.5) / bins[i][2], min, max);
}
