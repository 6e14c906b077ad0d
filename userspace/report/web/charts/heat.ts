// SPDX-License-Identifier: GPL-2.0-only
// Latency over time: how many IOs of a line took how long and when, with percentiles drawn over it.
import { type Axis, latencyAxis, timeAxis } from "../axes";
import type { Percentile } from "../data";
import { amount, latency } from "../format";
import { upperBound } from "../grid";
import { type Line, onlyOf } from "../lines";
import { type Cells, latencySpan, type Plot, type Rows, type Series, type Span } from "../plot";
import { marksOf, mean, middles, pieces, timeSpan, within } from "./times";

export const LINES: { key: Percentile | "max"; colour: number; dash: number[] }[] = [
    { key: "p50", colour: 4, dash: [] }, { key: "p99", colour: 3, dash: [] }, { key: "max", colour: 1, dash: [] },
];

function valuesOf(line: Line, key: Percentile | "max"): (number | null)[] {
    return key === "max" ? line.op.max_ns : line.op.percentiles_ns[key] ?? [];
}

/** IOs per second in each cell, ranked by their logarithm, so that a single IO is visible beside a million. */
function cells(line: Line): Cells {
    const { heat } = line.op, { start_s: start, length_s: length } = line.run;
    const boxes: Cells["boxes"] = [];
    let least = Infinity, most = 0;
    const rates: number[] = [];
    heat.columns.forEach((column, c) => {
        const first = c * heat.per_column, last = Math.min(first + heat.per_column, start.length) - 1;
        if (last < first)
            return;
        const x0 = start[first], x1 = start[last] + length[last];
        for (let i = 0; i < column.length; i += 2) {
            const rate = x1 > x0 ? column[i + 1] / (x1 - x0) : 0;
            rates.push(rate);
            least = Math.min(least, rate);
            most = Math.max(most, rate);
            boxes.push({
                x0, x1, rank: 0,
                y0: latencyAxis.place(upperBound(heat.scale, column[i])), y1: latencyAxis.place(upperBound(heat.scale, column[i] + 1)),
            });
        }
    });
    const range = Math.log(most / least);
    boxes.forEach((box, i) => {
        box.rank = range > 0 ? Math.log(rates[i] / least) / range : 1;
    });
    return {
        boxes, title: "IOPS in a cell",
        least: boxes.length ? amount(least) : "", most: boxes.length ? amount(most) : "",
    };
}

function rows(line: Line, span: Span, time: Axis): Rows {
    const xs = middles(line), of = (key: Percentile | "max", piece: Span) => within({ xs, values: valuesOf(line, key) }, piece);
    const highest = (values: number[]) => latency(values.length ? Math.max(...values) : NaN);
    return {
        head: ["from", "to", "p50, mean of the intervals", "p99, highest", "max"],
        rows: pieces(span).map((piece) => [...piece.map(time.text), latency(mean(of("p50", piece))),
            highest(of("p99", piece)), highest(of("max", piece))]),
    };
}

/** @line: undefined if none is shown. */
export function heatMap(lines: Line[], line: Line | undefined, time = timeAxis): Plot {
    const xs = line ? middles(line) : [];
    const series: Series[] = line ? LINES.map(({ key, colour, dash }) => ({
        name: key, note: "", kind: key === "max" ? "dots" : "thin", colour, dash, own: true, xs, tag: key,
        ys: valuesOf(line, key).map((ns) => ns === null ? null : latencyAxis.place(ns)),
    })) : [];
    const only = onlyOf(lines, line?.run);
    return {
        title: line ? `Latency over time, ${line.name}` : "Latency over time",
        hint: "Each column is a piece of time; the stronger a cell's colour, the more IOs took that long. The lines are percentiles of each interval.",
        x: time, y: latencyAxis, series, levels: [], spots: [], marks: line ? marksOf(only) : [],
        cells: line ? cells(line) : null, xSpan: timeSpan(line ? only : lines),
        ySpan: latencySpan,
        table: () => line ? rows(line, timeSpan(only), time) : { head: ["from"], rows: [] },
    };
}
