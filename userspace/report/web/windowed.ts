// SPDX-License-Identifier: GPL-2.0-only
// A line as it was in a window that the reader chose: made of whole columns of its heat map, as their bins are in the document.
import { inside } from "./charts/times";
import type { Run } from "./data";
import { addCells, binsOf } from "./grid";
import type { Line } from "./lines";
import type { Span } from "./plot";
import { latencies, quantile } from "./quantile";

/** The columns of @per intervals whose middle lies in the window or, if there is none, the one at its own middle. */
function columnsIn({ start_s: start, length_s: length }: Run, per: number, [from, to]: Span): number[] {
    const all = Array.from({ length: Math.ceil(start.length / per) }, (_, c) => c);
    const middle = (c: number) => {
        const last = Math.min((c + 1) * per, start.length) - 1;
        return (start[c * per] + start[last] + length[last]) / 2;
    };
    const found = all.filter((c) => middle(c) >= from && middle(c) < to), at = (from + to) / 2;
    return found.length || !all.length ? found : [all.reduce((best, c) => Math.abs(middle(c) - at) < Math.abs(middle(best) - at) ? c : best)];
}

/** The part of the run that its columns in the window cover. */
export function coveredBy({ run, op: { heat } }: Line, window: Span): Span {
    const columns = columnsIn(run, heat.per_column, window), { start_s: start, length_s: length } = run;
    if (!columns.length)
        return window;
    const last = Math.min((columns[columns.length - 1] + 1) * heat.per_column, start.length) - 1;
    return [start[columns[0] * heat.per_column], start[last] + length[last]];
}

/** @window: null for the line as it is. */
export function windowed(line: Line, window: Span | null): Line {
    if (!window)
        return line;
    const { run, op } = line, { heat, total } = op, columns = columnsIn(run, heat.per_column, window), cells = new Map<number, number>();
    columns.forEach((c) => addCells(cells, heat.columns[c] ?? [], 1));
    const bins = binsOf(cells, heat.scale), ios = bins.reduce((sum, bin) => sum + bin[2], 0), intervals = inside(run, coveredBy(line, window));
    const sum = (of: (i: number) => number) => intervals.reduce((all, i) => all + of(i), 0), seconds = sum((i) => run.length_s[i]);
    const time_s = heat.time_s ? columns.reduce((all, c) => all + (heat.time_s![c] ?? 0), 0)
        : bins.reduce((all, [lower, upper, n]) => all + n * Math.sqrt(Math.max(lower, 1) * (upper ?? lower)), 0) / 1e9;
    const min = Math.max(total.latency_ns?.min ?? 0, bins[0]?.[0] ?? 0), max = intervals.reduce((most, i) => Math.max(most, op.max_ns[i] ?? 0), 0);
    const latency_ns = ios ? latencies(bins, time_s * 1e9 / ios, min, max) : null;
    return {
        ...line, run: { ...run, duration_s: seconds },
        op: { ...op, bins, after_idle: null, total: { ...total, ios, iops: seconds > 0 ? ios / seconds : 0, bytes: sum((i) => op.bytes[i]), latency_ns } },
    };
}

/** Several lines' IOs together, for one figure. */
export function togetherAt(lines: Line[], share: number): number {
    const some = lines.flatMap(({ op: { total: { latency_ns } } }) => latency_ns ?? []);
    return quantile(lines.flatMap(({ op }) => op.bins).sort((a, b) => a[0] - b[0]), share, Math.min(...some.map(({ min }) => min)), Math.max(...some.map(({ max }) => max)));
}
