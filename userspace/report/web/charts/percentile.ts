// SPDX-License-Identifier: GPL-2.0-only
// Latency Percentile, 0 to 100 %, and the nines, which enlarge its upper tenth more and more.
import { type Axis, latencyAxis, named, ninesAxis, shareAxis } from "../axes";
import { cumulative, type Curve, reach, type Weight } from "../curves";
import { amount, latency, percent } from "../format";
import type { Line } from "../lines";
import { atLeast, padded, type Plot, type Rows, type Series, type Span, xBounds } from "../plot";
import { quantile } from "../quantile";

const WEIGHTED: Record<Weight, string> = { ios: "IO-weighted", time: "time-weighted" };
const OF: Record<Weight, string> = { ios: "share of IOs (%)", time: "share of the IOs' time (%)" };
const NINES_END = 6;

const PERCENTS = [0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1];
const NINES = [0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 0.999999];

interface Named { line: Line; curve: Curve }

function curves(lines: Line[], weight: Weight): Named[] {
    return lines.filter((line) => line.on && line.op.total.latency_ns && line.op.bins.length).map((line) => {
        const { min, max } = line.op.total.latency_ns!;
        return { line, curve: cumulative(line.op.bins, min, max, weight) };
    });
}

/** By IOs these are the percentiles of the figures; by time they can only be read off the curve. */
function reachedBy({ line, curve }: Named, share: number, weight: Weight): number {
    const { min, max } = line.op.total.latency_ns!;
    return weight === "ios" ? quantile(line.op.bins, share, min, max) : reach(curve, share);
}

function reached(all: Named[], shares: number[], weight: Weight): Rows {
    return {
        head: [OF[weight].replace(" (%)", ""), ...all.map(({ line }) => line.name)],
        rows: shares.map((share) => [percent(share, 4), ...all.map((one) => latency(reachedBy(one, share, weight)))]),
    };
}

function seriesOf(all: Named[], y: Axis): Series[] {
    return all.map(({ line, curve }) => ({
        name: line.name, note: `${amount(line.op.total.iops)} IOPS`, kind: "line", ...line.look,
        xs: curve.x.map(latencyAxis.place), ys: curve.y.map(y.place),
    }));
}

/** At least ten bins wide, so that it does not show how a single bin is drawn. */
function spanOf(series: Series[]): Span {
    return padded(atLeast(xBounds(series, [3, 6]), 0.05), 0.03, 0.03);
}

export function percentile(lines: Line[], weight: Weight): Plot {
    const all = curves(lines, weight), y = named(shareAxis, OF[weight]), series = seriesOf(all, y);
    return {
        title: `Latency Percentile, ${WEIGHTED[weight]}`,
        hint: weight === "ios"
            ? "Share of the IOs that took at most that long. Steep and far left is good; where a line tapers says which share is slow."
            : "Share of the time spent waiting, each IO counted by its latency (its bin's geometric middle).",
        x: latencyAxis, y, series, levels: [], spots: [], marks: [], cells: null, iopsNoted: true,
        xSpan: spanOf(series), ySpan: () => [0, 1.02],
        table: () => reached(all, PERCENTS, weight),
    };
}

/**
 * Up to the last IO: 1 of n IOs is at log10(n) nines, and there is nothing beyond. 100 % has no place
 * on the axis, so the line ends at its last IO.
 */
export function ninesChart(lines: Line[], weight: Weight): Plot {
    const all = curves(lines, weight), y = named(ninesAxis, OF[weight]);
    const series = seriesOf(all, y).map((s, i) => {
        const { line, curve } = all[i];
        const last = weight === "ios" ? Math.log10(line.op.total.ios) : NINES_END + 1;
        const from = s.xs.length ? latencyAxis.place(reach(curve, 0.9)) : 0;
        const keep = s.xs.map((_, k) => k).filter((k) => s.xs[k] > from && (s.ys[k] ?? 0) > 1);
        return {
            ...s, xs: [from, ...keep.map((k) => s.xs[k])],
            ys: [1, ...keep.map((k) => Math.min(s.ys[k] ?? 1, Math.max(last, 1), NINES_END + 1))],
        };
    });
    const span: Span = [1, NINES_END];
    return {
        title: `The nines, ${WEIGHTED[weight]}`,
        hint: "The top of the percentile chart on a logarithmic scale, 90 to 99.9999 %. A line ends at the slowest of its IOs.",
        x: latencyAxis, y, series, levels: [], spots: [], marks: [], cells: null, iopsNoted: true,
        xSpan: spanOf(series), ySpan: () => span,
        table: () => reached(all, NINES, weight),
    };
}
