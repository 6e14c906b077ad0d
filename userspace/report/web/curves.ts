// SPDX-License-Identifier: GPL-2.0-only
// From bins to curves. Pure; latencies are ns.
import type { Bin, Consistency, Run, Watch } from "./data";

/** Cells per decade of the density. */
export const CELLS = 100;

export type Weight = "ios" | "time";

/** x ascending. */
export interface Curve { x: number[]; y: number[] }

/** Bins with two finite bounds: the lowest begins at 0, which has no logarithm, and the highest may have no end. */
interface Range { lower: number; upper: number; count: number }

function ranges(bins: Bin[], min: number, max: number): Range[] {
    return bins.filter((bin) => bin[2] > 0).map(([lower, upper, count]) => {
        const top = upper ?? Math.max(max, lower + 1);
        return { lower: lower > 0 ? lower : Math.min(Math.max(min - 1, top / 2), top - 0.5), upper: top, count };
    });
}

/**
 * IOs per second in each 1/100 decade. A bin's IOs are spread evenly over its width on the logarithmic
 * axis, so the curve has no artefacts where bins and cells do not align, and its sum is the IOPS. x is
 * the middle of a cell; each group has an empty cell at both ends.
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
        // Takes the rest instead of its own share, so that rounding errors don't add up.
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
 * The share, 0 to 1, at or below each bin's bound: of the IOs, or of the time that they took. By time,
 * an IO counts with its latency, for which the geometric middle of its bin is used.
 */
export function cumulative(bins: Bin[], min: number, max: number, weight: Weight): Curve {
    const parts = ranges(bins, min, max);
    const weights = parts.map((r) => r.count * (weight === "time" ? Math.sqrt(r.lower * r.upper) : 1));
    const all = weights.reduce((sum, w) => sum + w, 0);
    const curve: Curve = { x: [], y: [] };
    let sum = 0;
    parts.forEach((r, i) => {
        // After a gap the curve stays level up to the bin's lower bound.
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

/** Where a rising curve reaches @share, interpolated geometrically. NaN for an empty curve. */
export function reach(curve: Curve, share: number): number {
    const i = curve.y.findIndex((y) => y >= share);
    if (i < 0)
        return NaN;
    if (i === 0 || curve.y[i] === curve.y[i - 1])
        return curve.x[i];
    const part = (share - curve.y[i - 1]) / (curve.y[i] - curve.y[i - 1]);
    return curve.x[i - 1] * (curve.x[i] / curve.x[i - 1]) ** part;
}

/** 90 % is 1 nine, 99 % are 2, 99.9 % are 3 ... */
export function nines(share: number): number {
    return -Math.log10(1 - share);
}

/**
 * A deviation up to this share of the mean is a rounding error, and counts as 0: CONSISTENCY_ROUNDING
 * of report/steady.h.
 */
const ROUNDING = 1e-9;

/**
 * IOPS of the intervals whose middle lies in [from, to): mean and standard deviation weighted by their
 * length, the worst interval, and how many had no IO. An interval shorter than half of the configured
 * length (often a run's last one) counts for neither of the latter two. Those in which the device was not there, came
 * or went do not count. null if no interval lies there. This is the rule of the report's own figures.
 */
export function consistency(run: Pick<Run, "start_s" | "length_s" | "interval_s">, ios: number[], from: number, to: number, watch?: Watch): Consistency | null {
    const { start_s: start, length_s: length } = run, first = Math.max(from, watch?.there_from_s ?? from), end = Math.min(to, watch?.there_to_s ?? to);
    const inside = ios.map((_, i) => i).filter((i) => length[i] > 0 && start[i] + length[i] / 2 >= first && start[i] + length[i] / 2 < end);
    if (!inside.length)
        return null;
    const seconds = inside.reduce((sum, i) => sum + length[i], 0), mean = inside.reduce((sum, i) => sum + ios[i], 0) / seconds;
    const deviation = Math.sqrt(inside.reduce((sum, i) => sum + length[i] * (ios[i] / length[i] - mean) ** 2, 0) / seconds);
    const whole = inside.filter((i) => length[i] >= run.interval_s / 2);
    const worst = whole.reduce((least, i) => least < 0 || ios[i] / length[i] < ios[least] / length[least] ? i : least, -1);
    return {
        iops_mean: mean, iops_deviation: deviation <= mean * ROUNDING ? 0 : deviation,
        iops_worst: worst < 0 ? null : ios[worst] / length[worst], iops_worst_at_s: worst < 0 ? null : start[worst],
        intervals_at_0: whole.filter((i) => ios[i] === 0).length,
    };
}
