// SPDX-License-Identifier: GPL-2.0-only
// The grid of all latencies, as include/blklat/bins.h explains it.
import { ABOVE_NS, BINS, OCTAVES } from "generated/bins_table";

const SCALE_MAX = Math.log2(BINS);

/** Upper bound of a cell in whole ns, which is the next one's lower bound. Cell 0 lies below the grid. */
export function upperBound(scale: number, cell: number): number {
    const bin = cell << (SCALE_MAX - scale);
    // The quotient is exact, so this equals C's right shift, for more bits than a shift has here.
    return Math.floor(ABOVE_NS[bin % BINS] / 2 ** (OCTAVES - Math.floor(bin / BINS)));
}

/** The number of the last cell, which is the one above the grid. */
export function lastCell(scale: number): number {
    return (OCTAVES << scale) + 1;
}
