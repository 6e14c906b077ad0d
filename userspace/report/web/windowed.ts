// SPDX-License-Identifier: GPL-2.0-only
// A line as it was in a window that the reader chose: made of whole columns of its heat map, as their bins are in the document.
import { inside, type Window } from "./charts/times";
import { type AllOps, type Bin, type Heat, type Latency, OPS, type PartOp, type PartWatch, type Quantile, QUANTILES, type Run, type Shares, type Watch } from "./data";
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

const QUANTILE_NAMES = Object.keys(QUANTILES) as Quantile[];
/** Fewer IOs are too few for a percentile. */
const FEW = 100;

/** The part of the run that the columns of such a heat map in the window cover. */
export function coveredBy(run: Run, heat: Heat, window: Span): Span {
    const columns = columnsIn(run, heat.per_column, window), { start_s: start, length_s: length } = run;
    if (!columns.length)
        return window;
    const last = Math.min((columns[columns.length - 1] + 1) * heat.per_column, start.length) - 1;
    return [start[columns[0] * heat.per_column], start[last] + length[last]];
}

type Heated = Pick<PartOp, "heat" | "max_ns" | "total">;

/** The bins of some ops together, in the columns of their heat maps that make the window, and the latencies of these IOs. */
function latencyIn(run: Run, ops: Heated[], window: Span): { bins: Bin[]; ios: number; latency_ns: Latency | null } {
    const cells = new Map<number, number>(), { heat } = ops[0], columns = columnsIn(run, heat.per_column, window), intervals = inside(run, coveredBy(run, heat, window));
    ops.forEach((op) => columns.forEach((c) => addCells(cells, op.heat.columns[c] ?? [], 1)));
    const bins = binsOf(cells, heat.scale), ios = bins.reduce((sum, bin) => sum + bin[2], 0);
    const time_s = heat.time_s ? ops.reduce((sum, op) => columns.reduce((all, c) => all + (op.heat.time_s![c] ?? 0), sum), 0)
        : bins.reduce((all, [lower, upper, n]) => all + n * Math.sqrt(Math.max(lower, 1) * (upper ?? lower)), 0) / 1e9;
    const least = Math.min(...ops.map(({ total }) => total.latency_ns?.min ?? Infinity)), min = Math.max(Number.isFinite(least) ? least : 0, bins[0]?.[0] ?? 0);
    const max = ops.reduce((all, op) => intervals.reduce((most, i) => Math.max(most, op.max_ns[i] ?? 0), all), 0);
    return { bins, ios, latency_ns: ios ? latencies(bins, time_s * 1e9 / ios, min, max) : null };
}

/** @window: null for the line as it is. */
export function windowed(line: Line, window: Span | null): Line {
    if (!window)
        return line;
    const { run, op } = line, { bins, ios, latency_ns } = latencyIn(run, [op], window), intervals = inside(run, coveredBy(run, op.heat, window));
    const sum = (of: (i: number) => number) => intervals.reduce((all, i) => all + of(i), 0), seconds = sum((i) => run.length_s[i]);
    return {
        ...line, run: { ...run, duration_s: seconds },
        op: { ...op, bins, after_idle: null, total: { ...op.total, ios, iops: seconds > 0 ? ios / seconds : 0, bytes: sum((i) => op.bytes[i]), latency_ns } },
    };
}

/** What some ops of parts did together in these intervals. */
function amountsIn(ops: PartOp[], intervals: number[], seconds: number) {
    const sum = (of: (op: PartOp) => (number | null)[] | undefined) => ops.reduce((all, op) => intervals.reduce((n, i) => n + (of(op)?.[i] ?? 0), all), 0);
    const ios = sum((op) => op.ios), bytes = sum((op) => op.bytes), time_s = sum((op) => op.time_s), errors = sum((op) => op.errors);
    return { ios, bytes, errors, time_s, iops: ios / seconds, bytes_per_s: bytes / seconds };
}

/** Its figures in the window: what it does at a depth goes with its mean latency, and bytes with its sizes. */
function littleIn({ by_little: b, latency_ns, bytes, ios }: AllOps, mean: number, size: number): AllOps["by_little"] {
    const times = latency_ns.mean / mean, larger = times * size / (bytes / ios || 1), by = (value: number | null, factor: number) => value === null ? null : value * factor;
    return b && { iops_least: b.iops_least * times, iops_most: by(b.iops_most, times), bytes_per_s_least: b.bytes_per_s_least * larger, bytes_per_s_most: by(b.bytes_per_s_most, larger) };
}

/** By the watch as it is: for the last window. Lines of one watch go on sharing one. */
const divided = new WeakMap<Watch, { window: Span; watch: Watch }>();

/** The line with the parts of its watch as they were in the window. */
export function withParts(line: Line, window: Window): Line {
    const { run, watch } = line, before = divided.get(watch);
    if (!window || !watch.parts)
        return line;
    if (before?.window[0] === window[0] && before.window[1] === window[1])
        return { ...line, watch: before.watch };
    const made = { ...watch, parts: partsIn(run, watch.parts, window) };
    divided.set(watch, { window, watch: made });
    return { ...line, watch: made };
}

function partsIn(run: Run, given: PartWatch[], window: Span): PartWatch[] {
    const intervals = inside(run, window), seconds = intervals.reduce((all, i) => all + run.length_s[i], 0);
    const all = given.flatMap(({ ops }) => ops), of = (ops: PartOp[]) => amountsIn(ops, intervals, seconds), whole = of(all);
    const wholes = new Map(OPS.map((op) => [op, of(all.filter((one) => one.op === op))]));
    const shares = (a: typeof whole, b: typeof whole): Shares => ({ ios: a.ios / b.ios, bytes: a.bytes / b.bytes, time: a.time_s / b.time_s });
    const parts = given.map((part): PartWatch => {
        const together = of(part.ops), known = part.all_ops && together.ios ? latencyIn(run, part.ops, window) : null;
        return {
            ...part, all_ops: known?.latency_ns ? {
                ...part.all_ops!, ...together, few: known.ios < FEW, rank_s: part.all_ops!.time_s, of_whole: shares(together, whole), latency_ns: known.latency_ns,
                by_little: littleIn(part.all_ops!, known.latency_ns.mean, together.bytes / together.ios),
            } : null,
            ops: part.ops.map((op) => {
                const own = of([op]), { bins, ios, latency_ns } = latencyIn(run, [op], window);
                return { ...op, bins, few: ios < FEW, of_whole: shares(own, wholes.get(op.op)!), total: { ...op.total, ...own, latency_ns: own.ios ? latency_ns : null } };
            }),
        };
    });
    parts.forEach((part) => part.ops.forEach((op) => {
        const base = parts.find(({ part: { label } }) => label === op.against?.base)?.ops.find((one) => one.op === op.op), a = op.total.latency_ns, b = base?.total.latency_ns;
        op.against &&= a && b && !op.few && !base?.few ? { base: op.against.base, ...Object.fromEntries(QUANTILE_NAMES.map((q) => [q, a[q] / b[q]])) as Record<Quantile, number> } : null;
    }));
    return parts;
}

/** Several lines' IOs together, for one figure. */
export function togetherAt(lines: Line[], share: number): number {
    const some = lines.flatMap(({ op: { total: { latency_ns } } }) => latency_ns ?? []);
    return quantile(lines.flatMap(({ op }) => op.bins).sort((a, b) => a[0] - b[0]), share, Math.min(...some.map(({ min }) => min)), Math.max(...some.map(({ max }) => max)));
}
