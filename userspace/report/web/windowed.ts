// SPDX-License-Identifier: GPL-2.0-only
// A line as it was in a window that the reader chose: made of whole columns of its heat map, as their bins are in the document.
import { inside, type Window } from "./charts/times";
import { OPS, type PartOp, type PartWatch, type Quantile, QUANTILES, type Run, type Shares } from "./data";
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

const UNKNOWN = { min: NaN, ...Object.fromEntries(Object.keys(QUANTILES).map((q) => [q, NaN])) as Record<Quantile, number> };

/** What some ops of parts did together in these intervals. Percentiles do not add up, so these are not known. */
function amountsIn(ops: PartOp[], intervals: number[], seconds: number) {
    const sum = (of: (op: PartOp) => (number | null)[] | undefined) => ops.reduce((all, op) => intervals.reduce((n, i) => n + (of(op)?.[i] ?? 0), all), 0);
    const ios = sum((op) => op.ios), bytes = sum((op) => op.bytes), time_s = sum((op) => op.time_s), errors = sum((op) => op.errors);
    const max = ops.reduce((all, op) => intervals.reduce((most, i) => Math.max(most, op.max_ns[i] ?? 0), all), 0);
    return { ios, bytes, errors, time_s, iops: ios / seconds, bytes_per_s: bytes / seconds, latency_ns: { ...UNKNOWN, mean: time_s * 1e9 / ios, max } };
}

/** The line with the parts of its watch as they were in the window; what lacks bins, their percentiles, is unknown. */
export function withParts(line: Line, window: Window): Line {
    const { run, watch } = line, intervals = inside(run, window), seconds = intervals.reduce((all, i) => all + run.length_s[i], 0);
    if (!window || !watch.parts)
        return line;
    const all = watch.parts.flatMap(({ ops }) => ops), of = (ops: PartOp[]) => amountsIn(ops, intervals, seconds), whole = of(all);
    const wholes = new Map(OPS.map((op) => [op, of(all.filter((one) => one.op === op))]));
    const shares = (a: typeof whole, b: typeof whole): Shares => ({ ios: a.ios / b.ios, bytes: a.bytes / b.bytes, time: a.time_s / b.time_s });
    const parts = watch.parts.map((part): PartWatch => {
        const together = of(part.ops);
        return {
            ...part, all_ops: part.all_ops && together.ios ? { ...part.all_ops, ...together, few: false, rank_s: part.all_ops.time_s, of_whole: shares(together, whole) } : null,
            ops: part.ops.map((op) => {
                const own = of([op]);
                return { ...op, few: false, of_whole: shares(own, wholes.get(op.op)!), total: { ...op.total, ...own, latency_ns: own.ios ? own.latency_ns : null } };
            }),
        };
    });
    return { ...line, watch: { ...watch, parts } };
}

/** Several lines' IOs together, for one figure. */
export function togetherAt(lines: Line[], share: number): number {
    const some = lines.flatMap(({ op: { total: { latency_ns } } }) => latency_ns ?? []);
    return quantile(lines.flatMap(({ op }) => op.bins).sort((a, b) => a[0] - b[0]), share, Math.min(...some.map(({ min }) => min)), Math.max(...some.map(({ max }) => max)));
}
