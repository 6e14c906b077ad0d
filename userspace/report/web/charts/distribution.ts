// SPDX-License-Identifier: GPL-2.0-only
// Latency Distribution: IOs per second in each 1/100 decade. The area under a line is its IOPS.
import { latencyAxis, linear, log, tickAmount } from "../axes";
import { CELLS, density, type Curve } from "../curves";
import type { Bin } from "../data";
import { amount } from "../format";
import type { Line } from "../lines";
import { decades, fromZero, padded, type Plot, type Rows, type Series, type Span, xBounds } from "../plot";

export interface DistributionOptions { log: boolean; pauses: boolean }

const LABEL = "IOPS per 1/100 decade of latency";

function curveOf(line: Line, bins: Bin[]): Curve {
    const { latency_ns: extremes, ios, iops } = line.op.total;
    // The IOs of the whole run, scaled to their rate over the active window.
    return density(bins, extremes?.min ?? 0, extremes?.max ?? 0, iops > 0 ? ios / iops : line.run.duration_s);
}

/** A single IO in the whole run is the smallest visible value. */
function floor(lines: Line[]): number {
    return 0.3 / Math.max(1, ...lines.map((line) => line.run.duration_s));
}

/** Between groups of bins there is a gap, instead of a line along the bottom. */
function outline(curve: Curve, place: (y: number) => number): Pick<Series, "xs" | "ys"> {
    const xs: number[] = [], ys: (number | null)[] = [];
    curve.x.map(latencyAxis.place).forEach((x, i) => {
        if (i && x - xs[xs.length - 1] > 1.5 / CELLS) {
            xs.push((x + xs[xs.length - 1]) / 2);
            ys.push(null);
        }
        xs.push(x);
        ys.push(place(curve.y[i]));
    });
    return { xs, ys };
}

/** IOPS in tenths of a decade, each the sum of ten cells. */
function tenths(series: { name: string; curve: Curve }[]): Rows {
    const sums = series.map(({ curve }) => {
        const sum = new Map<number, number>();
        curve.x.forEach((x, i) => {
            const tenth = Math.floor(Math.log10(x) * 10);
            if (curve.y[i] > 0)
                sum.set(tenth, (sum.get(tenth) ?? 0) + curve.y[i]);
        });
        return sum;
    });
    const all = [...new Set(sums.flatMap((sum) => [...sum.keys()]))].sort((a, b) => a - b);
    return {
        head: ["latency from", "to", ...series.map((s) => `${s.name}, IOPS`)],
        rows: all.map((tenth) => [latencyAxis.text(10 ** (tenth / 10)), latencyAxis.text(10 ** ((tenth + 1) / 10)),
            ...sums.map((sum) => amount(sum.get(tenth) ?? 0, 3))]),
    };
}

/** Whether enough IOs came after a pause to draw how long they took. */
export function hasPauses({ op: { after_idle } }: Line): boolean {
    return (after_idle?.ios ?? 0) >= 10;
}

/** Values smaller by this factor would lie on the bottom of a linear axis. */
const FEW = 100;

function highest(curve: Curve): number {
    return curve.y.reduce((most, y) => Math.max(most, y), 0);
}

export function distribution(lines: Line[], options: DistributionOptions): Plot {
    const shown = lines.filter((line) => line.on && line.op.total.ios > 0);
    const least = floor(shown), axis = options.log ? log(LABEL, tickAmount, (v) => amount(v, 4)) : linear(LABEL, tickAmount, (v) => amount(v, 4));
    const curves: { name: string; curve: Curve }[] = [];
    const add = (line: Line, name: string, bins: Bin[], note: string, style: Partial<Series>, beside?: Curve): Series => {
        const curve = curveOf(line, bins), times = beside ? highest(beside) / highest(curve) : 1;
        // It gets its own scale, a power of ten that its name tells; the table has the original figures.
        const scale = !options.log && Number.isFinite(times) && times >= FEW ? 10 ** Math.floor(Math.log10(times)) : 1;
        curves.push({ name, curve });
        return {
            name: scale > 1 ? `${name} (× ${scale})` : name, note, kind: "line", ...line.look,
            ...outline(curve, (y) => axis.place(options.log ? Math.max(y, least / 10) : y * scale)), ...style,
        };
    };
    const series = shown.map((line) => add(line, line.name, line.op.bins, `${amount(line.op.total.iops)} IOPS`,
        { fill: !options.log && shown.length <= 8, tag: line.name }));
    if (options.pauses)
        for (const line of shown)
            if (hasPauses(line))
                series.push(add(line, `${line.name}, first after a pause`, line.op.after_idle!.bins,
                    `${amount(line.op.after_idle!.ios)} IOs`, { kind: "thin", dash: [2, 2], own: true }, curveOf(line, line.op.bins)));
    const ySpan = (lo: number, hi: number): Span => options.log
        ? [Math.log10(least), Math.max(decades(lo, hi)[1], Math.log10(least) + 1) + 0.3] : fromZero(lo, hi);
    return {
        title: "Latency Distribution",
        hint: `IOs a second in each 1/${CELLS} decade of latency. The area under a line is its IOPS; one narrow peak, far left, is ideal.`,
        x: latencyAxis, y: axis, series, levels: [], spots: [], marks: [], cells: null, iopsNoted: true,
        xSpan: padded(xBounds(series, [3, 6]), 0.03, 0.03), ySpan, table: () => tenths(curves),
    };
}
