// SPDX-License-Identifier: GPL-2.0-only
// The grid of all latencies, as include/blklat/bins.h explains it.
import { ABOVE_NS, BINS, OCTAVES } from "generated/bins_table";
import type { Bin } from "./data";

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

/** Cells and their IOs as bins. */
export function binsOf(cells: Map<number, number>, scale: number): Bin[] {
    return [...cells].sort((a, b) => a[0] - b[0]).map(([cell, ios]): Bin =>
        [cell > 0 ? upperBound(scale, cell - 1) : 0, cell < lastCell(scale) ? upperBound(scale, cell) : null, ios]);
}

/** Adds [cell, IOs, cell, IOs ...], counted from cell @first. */
export function addCells(to: Map<number, number>, more: number[], first = 0): void {
    for (let i = 0; i < more.length; i += 2)
        to.set(more[i] + first, (to.get(more[i] + first) ?? 0) + more[i + 1]);
}
