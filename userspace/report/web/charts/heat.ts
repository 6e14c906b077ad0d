// SPDX-License-Identifier: GPL-2.0-only
// Latency over time: how many IOs of a line took how long and when, with percentiles drawn over it.
import { latencyAxis, rowOf, timeAxis } from "../axes";
import type { Percentile } from "../data";
import { amount, latency } from "../format";
import { type Line, onlyOf } from "../lines";
import { type Cells, latencySpan, type Plot, rankedCells, type Series } from "../plot";
import { marksOf, middles, placed, timeRows, timeSpan } from "./times";

export const LINES: { key: Percentile | "max"; colour: number; dash: number[] }[] = [
    { key: "p50", colour: 4, dash: [] }, { key: "p99", colour: 3, dash: [] }, { key: "max", colour: 1, dash: [] },
];

function valuesOf(line: Line, key: Percentile | "max"): (number | null)[] {
    return key === "max" ? line.op.max_ns : line.op.percentiles_ns[key] ?? [];
}

/** IOs per second in each cell. */
function cells({ op: { heat }, run: { start_s: start, length_s: length } }: Line): Cells {
    return rankedCells("IOPS in a cell", amount, heat.columns.flatMap((column, c) => {
        const first = c * heat.per_column, last = Math.min(first + heat.per_column, start.length) - 1, x0 = start[first], x1 = start[last] + length[last];
        return last < first ? [] : column.flatMap((row, i) => i % 2 ? [] : [{ x0, x1, ...rowOf(heat.scale, row + 1), value: x1 > x0 ? column[i + 1] / (x1 - x0) : 0 }]);
    }));
}

const BEHIND = [["p50", "mean", "p50, mean of the intervals"], ["p99", "highest", "p99, highest"], ["max", "highest", "max"]] as const;

/** @line: undefined if none is shown. */
export function heatMap(lines: Line[], line: Line | undefined, time = timeAxis): Plot {
    const xs = line ? middles(line) : [];
    const series: Series[] = line ? LINES.map(({ key, colour, dash }) => ({
        name: key, note: "", kind: key === "max" ? "dots" : "thin", colour, dash, own: true, tag: key,
        ...placed(line, valuesOf(line, key).map((ns) => ns === null ? null : latencyAxis.place(ns))),
    })) : [];
    const only = onlyOf(lines, line?.run);
    return {
        title: line ? `Latency over time, ${line.name}` : "Latency over time",
        hint: "Each column is a piece of time; the stronger a cell's colour, the more IOs took that long. The lines are percentiles of each interval.",
        x: time, y: latencyAxis, series, levels: [], spots: [], marks: line ? marksOf(only) : [],
        cells: line ? cells(line) : null, xSpan: timeSpan(line ? only : lines),
        ySpan: latencySpan,
        table: () => timeRows(timeSpan(only), time, line ? BEHIND.map(([key, of, head]) => ({ head, xs, values: valuesOf(line, key), of, text: latency })) : []),
    };
}
