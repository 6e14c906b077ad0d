// SPDX-License-Identifier: GPL-2.0-only
// From bins to curves. Pure; latencies are ns.
import type { Bin, Consistency } from "./data";

/** Cells a decade of the density. */
export const CELLS = 100;

export type Weight = "ios" | "time";

/** x ascending. */
export interface Curve { x: number[]; y: number[] }

/** Bins with two bounds: the lowest begins at 0, which a logarithm lacks, the highest may have no end. */
interface Range { lower: number; upper: number; count: number }

function ranges(bins: Bin[], min: number, max: number): Range[] {
    return bins.filter((bin) => bin[2] > 0).map(([lower, upper, count]) => {
        const top = upper ?? Math.max(max, lower + 1);
        return { lower: lower > 0 ? lower : Math.min(Math.max(min - 1, top / 2), top - 0.5), upper: top, count };
    });
}

/**
 * IOs a second in each 1/100 decade. A bin's IOs are spread evenly over its width on the logarithmic
 * axis, so the curve has no steps where bins and cells drift past each other, and its sum is the
 * IOPS. x are the middles of the cells; an empty cell stands at either end of each group.
 */
export function density(bins: Bin[], min: number, max: number, seconds: number): Curve {
    const cells = new Map<number, number>();
    for (const { lower, upper, count } of ranges(bins, min, max)) {
        const from = Math.log10(lower) * CELLS, to = Math.log10(upper) * CELLS;
        const first = Math.floor(from), last = Math.max(first, Math.ceil(to) - 1);
        let left = count;
        for (let cell = first; cell < last; cell++) {
            const part = count * (Math.min(cell + 1, to) - Math.max(cell, from)) / (to - from);
            cells.set(cell, (cells.get(cell) ?? 0) + part);
            left -= part;
        }
        // What is left, not its own share, so that no rounding adds up.
        cells.set(last, (cells.get(last) ?? 0) + left);
    }
    const filled = [...cells.keys()];
    for (const cell of filled)
        for (const beside of [cell - 1, cell + 1])
            if (!cells.has(beside))
                cells.set(beside, 0);
    const order = [...cells.keys()].sort((a, b) => a - b);
    return {
        x: order.map((cell) => 10 ** ((cell + 0.5) / CELLS)),
        y: order.map((cell) => seconds > 0 ? cells.get(cell)! / seconds : 0),
    };
}

/**
 * The share, 0 to 1, at or below each bin's bound: of the IOs, or of the time they took. By time
 * an IO counts as much as its latency, taken to be its bin's geometric middle.
 */
export function cumulative(bins: Bin[], min: number, max: number, weight: Weight): Curve {
    const parts = ranges(bins, min, max);
    const weights = parts.map((r) => r.count * (weight === "time" ? Math.sqrt(r.lower * r.upper) : 1));
    const all = weights.reduce((sum, w) => sum + w, 0);
    const curve: Curve = { x: [], y: [] };
    let sum = 0;
    parts.forEach((r, i) => {
        // A gap in front: the curve stays level up to the bin's lower bound.
        if (curve.x[curve.x.length - 1] !== r.lower) {
            curve.x.push(r.lower);
            curve.y.push(sum / all);
        }
        sum += weights[i];
        curve.x.push(r.upper);
        curve.y.push(i === parts.length - 1 ? 1 : sum / all);
    });
    return curve;
}

/** Where a rising curve reaches @share; geometric between its points. NaN for an empty curve. */
export function reach(curve: Curve, share: number): number {
    const i = curve.y.findIndex((y) => y >= share);
    if (i < 0)
        return NaN;
    if (i === 0 || curve.y[i] === curve.y[i - 1])
        return curve.x[i];
    const part = (share - curve.y[i - 1]) / (curve.y[i] - curve.y[i - 1]);
    return curve.x[i - 1] * (curve.x[i] / curve.x[i - 1]) ** part;
}

/** The share at or below @x, the other way round. */
export function shareAt(curve: Curve, x: number): number {
    const i = curve.x.findIndex((value) => value >= x);
    if (i < 0)
        return curve.x.length ? 1 : NaN;
    if (i === 0 || curve.x[i] === x)
        return curve.x[i] === x ? curve.y[i] : 0;
    const part = Math.log(x / curve.x[i - 1]) / Math.log(curve.x[i] / curve.x[i - 1]);
    return curve.y[i - 1] + part * (curve.y[i] - curve.y[i - 1]);
}

/** 90 % is 1 nine, 99 % are 2, 99.9 % are 3 ... */
export function nines(share: number): number {
    return -Math.log10(1 - share);
}

/**
 * IOPS of the intervals that lie in [from, to] as a whole: mean and standard deviation weighted by
 * their length, the worst interval and how many had no IO. null when none lies there.
 */
export function consistency(ios: number[], start: number[], length: number[], from: number, to: number): Consistency | null {
    let sum = 0, seconds = 0, squares = 0, worst = Infinity, worstAt = 0, zeros = 0;
    const inside: number[] = [];
    // Ends are sums of lengths: a microsecond of rounding leaves no interval out.
    for (let i = 0; i < ios.length; i++)
        if (length[i] > 0 && start[i] >= from - 1e-6 && start[i] + length[i] <= to + 1e-6)
            inside.push(i);
    for (const i of inside) {
        sum += ios[i];
        seconds += length[i];
        zeros += ios[i] === 0 ? 1 : 0;
        if (ios[i] / length[i] < worst) {
            worst = ios[i] / length[i];
            worstAt = start[i];
        }
    }
    if (!inside.length)
        return null;
    const mean = sum / seconds;
    for (const i of inside)
        squares += length[i] * (ios[i] / length[i] - mean) ** 2;
    return {
        iops_mean: mean, iops_deviation: Math.sqrt(squares / seconds),
        iops_worst: worst, iops_worst_at_s: worstAt, intervals_at_0: zeros,
    };
}
