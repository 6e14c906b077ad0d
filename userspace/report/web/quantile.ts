// SPDX-License-Identifier: GPL-2.0-only
// Percentiles that are not in the document: for a time that the reader chose, and for other shares. The
// rule is that of userspace/core/quantile.c; tests/web/test_same_figures.mjs compares the two.
import { type Bin, type Latency, type Quantile, QUANTILES } from "./data";

/**
 * ceil(share * ios), for the intended share: as a double, 0.07 is slightly more than 7 %, so two
 * roundings are taken off.
 */
function rankOf(share: number, ios: number): number {
    return Math.min(Math.max(Math.ceil(share * ios * (1 - 2 ** -51)), 1), ios);
}

/** The value at @place, a share from 0 to 1, of a bin's width, which is cut to the extremes. */
function insideBin([lower, upper]: Bin, place: number, min: number, max: number): number {
    // Outside of the grid a bin has no width.
    if (!lower)
        return min;
    if (upper === null)
        return max;
    const from = Math.max(lower, min), to = Math.min(upper, max);
    return Math.min(Math.max(from * (to / from) ** place, min), max);
}

/** The latency in ns that a @share of the IOs does not exceed; NaN if there are no IOs. */
export function quantile(bins: Bin[], share: number, min: number, max: number): number {
    const ios = bins.reduce((sum, bin) => sum + bin[2], 0), rank = rankOf(share, ios);
    if (!ios)
        return NaN;
    // For the slowest and the fastest IO the exact value is known.
    if (rank === ios)
        return max;
    if (rank === 1)
        return min;
    let before = 0, i = 0;
    while (before + bins[i][2] < rank)
        before += bins[i++][2];
    // The c IOs of a bin are assumed to lie in the middles of c equal parts of it.
    return insideBin(bins[i], (rank - before - 0.5) / bins[i][2], min, max);
}

/** All percentiles of a run. */
export function latencies(bins: Bin[], mean: number, min: number, max: number): Latency {
    const found = Object.entries(QUANTILES).map(([name, share]) => [name, quantile(bins, share, min, max)]);
    return { mean, min, max, ...Object.fromEntries(found) as Record<Quantile, number> };
}
