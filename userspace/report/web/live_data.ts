// SPDX-License-Identifier: GPL-2.0-only
// The events of /api/stream (docs/serve.md), and the run that the charts see: the last minutes, made
// again with each interval. What takes long to compute is computed only when it is looked at.
import { consistency } from "./curves";
import {
    type Accounting, type Device, type Heat, type Latency, type Op, OPS, type Part, type Partial, type PartWatch, type Percentile, type Run,
    type Shares, type Slow, type SlowIo, STAGES, type Total, type Watch,
} from "./data";
import { addCells, binsOf } from "./grid";
import { haveOwners } from "./owners";
import { latencies } from "./quantile";

export interface LiveOp {
    op: string; ios: number; bytes: number; errors: number; sum_ns: number;
    latency_ns: Record<Percentile | "min" | "max", number>;
    /** A cell and its IOs, the next cell and its IOs ... */
    cells: number[];
    shares?: Total["shares"];
}

export type Grade = "sick" | "watch" | "well";

/** What is wrong with the device, by the service's rule; absent if nothing is. */
export interface Health { grade: Grade; reason: string; text: string; since?: string }

/**
 * A watch that is a part follows its whole, and has no accounting. Only parts with IOs, or with some in
 * flight, are present.
 */
export interface LiveWatch {
    device: string; stage: string; part?: Part; interval_s: number; queue_depth: number; busy?: number; in_flight: { ios: number; oldest_ns: number };
    accounting: Accounting; ends_missed?: boolean; seems_stalled?: boolean; gone?: boolean; health?: Health; partial?: Partial[]; ops: LiveOp[];
    /** Those of the interval, if there were any, and how many more there were. */
    slow?: Omit<SlowIo, "t_s">[]; slow_dropped?: number;
}

export interface LiveInterval { time?: string; end_s: number; length_s: number; skipped_unexplained: number; watches: LiveWatch[] }

export interface LiveRun {
    schema: number; version: string; host: string; kernel: string; engine: string; start: string;
    interval_s: number; history_s: number; scale: number; devices: Device[];
    /** Slow IOs are reported. */
    slow?: boolean;
    /** The parts that each watch is divided into, in order; absent if none is. */
    parts?: Part[];
}

const HEAT_SCALE = 4;
/** How many slow IOs are kept of each watch. */
const SLOW = 1000;
const SHOWN: Percentile[] = ["p50", "p90", "p99", "p99.9"];

/** One interval's column of the heat map: rows are merged cells, 16 per octave. */
function column(cells: number[], scale: number): number[] {
    const merged = Math.max(0, scale - HEAT_SCALE), rows = new Map<number, number>();
    for (let i = 0; i < cells.length; i += 2) {
        const row = Math.max(0, (cells[i] - 1) >> merged);
        rows.set(row, (rows.get(row) ?? 0) + cells[i + 1]);
    }
    return [...rows].flat();
}

function lazy<T extends object, K extends keyof T>(to: T, key: K, make: () => T[K]): void {
    Object.defineProperty(to, key, {
        configurable: true, enumerable: true,
        get: () => {
            const value = make();
            Object.defineProperty(to, key, { value, configurable: true, enumerable: true });
            return value;
        },
    });
}

/**
 * The latencies over the time that this page keeps, which only the page knows; each interval brings
 * only its own percentiles.
 */
function latencyOf(op: Op, parts: LiveOp[], ios: number): Latency | null {
    if (!ios)
        return null;
    const min = Math.min(...parts.map((p) => p.latency_ns.min)), max = Math.max(...parts.map((p) => p.latency_ns.max));
    return latencies(op.bins, parts.reduce((s, p) => s + p.sum_ns, 0) / ios, min, max);
}

/** Where the IOs' time went: the shares of each interval, by the time that its IOs took. */
function timeSharesOf(parts: LiveOp[]): Total["shares"] {
    const timed = parts.filter((part) => part.sum_ns > 0), took = timed.reduce((sum, part) => sum + part.sum_ns, 0);
    if (!took || timed.some(({ shares }) => !shares))
        return undefined;
    const share = (stage: typeof STAGES[number]) => timed.reduce((sum, part) => sum + part.shares![stage] * part.sum_ns, 0) / took;
    return { wait: share("wait"), plug: share("plug"), queue: share("queue"), device: share("device"), exact: timed.every(({ shares }) => shares!.exact) };
}

/** Of the time in which the device was there. */
function totalOf(run: Run, op: Op, parts: LiveOp[], device: Found): Total {
    const add = (of: (part: LiveOp) => number) => parts.reduce((s, part) => s + of(part), 0);
    const ios = add((p) => p.ios), bytes = add((p) => p.bytes);
    const present = device.flatMap((w, i) => w ? [i] : []), length_s = device.flatMap((w) => w ? [w.interval_s] : []);
    const seconds = length_s.reduce((s, length) => s + length, 0) || 1;
    const own = { interval_s: run.interval_s, start_s: present.map((i) => run.start_s[i]), length_s };
    const steady = consistency(own, present.map((i) => op.ios[i]), 0, Infinity);
    const total = {
        ios, bytes, errors: add((p) => p.errors), iops: ios / seconds, bytes_per_s: bytes / seconds,
        queue_depth: add((p) => p.sum_ns) / 1e9 / seconds, iops_deviation: steady?.iops_deviation ?? 0,
        iops_worst: steady?.iops_worst ?? null, iops_worst_at_s: steady?.iops_worst_at_s ?? null,
        intervals_at_0: steady?.intervals_at_0 ?? 0,
    } as Total;
    lazy(total, "latency_ns", () => latencyOf(op, parts, ios));
    lazy(total, "shares", () => timeSharesOf(parts));
    return total;
}

function makeOp(run: Run, name: string, parts: (LiveOp | undefined)[], device: Found): Op {
    const { scale } = run;
    const there = parts.filter((part): part is LiveOp => part !== undefined);
    const op = {
        op: name, ios: parts.map((p) => p?.ios ?? 0), bytes: parts.map((p) => p?.bytes ?? 0), max_ns: parts.map((p) => p?.latency_ns.max ?? null),
        percentiles_ns: Object.fromEntries(SHOWN.map((q) => [q, parts.map((p) => p?.latency_ns[q] ?? null)])),
        steady: null, after_idle: null,
    } as unknown as Op;
    lazy(op, "bins", () => {
        const cells = new Map<number, number>();
        there.forEach((part) => addCells(cells, part.cells));
        return binsOf(cells, scale);
    });
    lazy(op, "heat", (): Heat => ({
        per_column: 1, scale: Math.min(scale, HEAT_SCALE), columns: parts.map((p) => p ? column(p.cells, scale) : []),
    }));
    op.total = totalOf(run, op, there, device);
    return op;
}

/** A watch in each interval; undefined: it was not there, or a part without IOs. */
type Found = (LiveWatch | undefined)[];

/** The ops are those that had an IO in this time. */
function seriesOf(run: Run, found: Found, device: Found): Pick<Watch, "queue_depth" | "in_flight" | "oldest_ns" | "ops"> {
    const seen = new Set(found.flatMap((w) => w?.ops.map((op) => op.op) ?? []));
    return {
        queue_depth: found.map((w) => w?.queue_depth ?? 0), in_flight: found.map((w) => w?.in_flight.ios ?? 0),
        oldest_ns: found.map((w) => w?.in_flight.oldest_ns ?? 0),
        ops: OPS.filter((name) => seen.has(name)).map((name) => makeOp(run, name, found.map((w) => w?.ops.find((op) => op.op === name)), device)),
    };
}

/** The latest slow IOs; the wall clock places each before its interval's end. */
function slowOf(found: Found, intervals: LiveInterval[], begin: number): Slow {
    const ios = found.flatMap((w, i) => (w?.slow ?? []).map((io): SlowIo => ({
        ...io, t_s: intervals[i].end_s - begin - (Date.parse(intervals[i].time ?? io.time) - Date.parse(io.time)) / 1000,
    })));
    return { found: ios.length + found.reduce((n, w) => n + (w?.slow_dropped ?? 0), 0), common: [], ios: ios.slice(-SLOW) };
}

/** A watch without IOs gets reads, so that it has a line. */
function makeWatch(run: Run, key: string, found: Found): Watch {
    const there = found.filter((w): w is LiveWatch => w !== undefined), last = there[there.length - 1], series = seriesOf(run, found, found);
    const [device, stage] = JSON.parse(key) as string[];
    if (!series.ops.length)
        series.ops.push(makeOp(run, "read", found.map(() => undefined), found));
    return { device, stage, gone: last.gone ?? false, there_s: found.map((w) => w?.interval_s ?? 0), accounting: last.accounting, partial: last.partial, ...series,
        busy: there.some((w) => w.busy !== undefined) ? found.map((w) => w?.busy ?? 0) : undefined };
}

/** Shares of what the device did with these ops, in the time that this page keeps, by the rule of report/document_parts.c. */
function sharesOf({ total: of }: Op, ops: Op[]): Shares {
    // The mean queue depths are the IOs' times, each divided by the same length of time.
    const share = (key: "ios" | "bytes" | "queue_depth") => {
        const all = ops.reduce((sum, { total }) => sum + total[key], 0);
        return all ? of[key] / all : null;
    };
    return { ios: share("ios"), bytes: share("bytes"), time: share("queue_depth") };
}

/** What an owner did: its share of the time that the device's IOs took, and its rate. */
export interface Work { part: Part; share: number; bytes_per_s: number }

/** The owners of a device's IOs, the one whose IOs took the most time first; none unless IOs are divided by cgroup or process. */
export function workOf(intervals: LiveInterval[], { device, stage }: LiveWatch): Work[] {
    const all = intervals.flatMap(({ watches }) => watches.filter((w) => w.device === device && w.stage === stage)), owners = new Map<string, LiveWatch[]>();
    const sum = (watches: LiveWatch[], key: "sum_ns" | "bytes") => watches.reduce((s, { ops }) => s + ops.reduce((of, op) => of + op[key], 0), 0);
    const wholes = all.filter(({ part }) => !part), took = sum(wholes, "sum_ns"), length_s = wholes.reduce((s, { interval_s }) => s + interval_s, 0);
    for (const watch of all)
        if (watch.part && haveOwners(watch.part))
            owners.set(watch.part.label, [...owners.get(watch.part.label) ?? [], watch]);
    return [...owners.values()].map((of) => ({ part: of[0].part!, share: took ? sum(of, "sum_ns") / took : 0, bytes_per_s: sum(of, "bytes") / length_s }))
        .sort((a, b) => b.share - a.share);
}

/** The current parts and, by cgroup or process, behind them those that have ended since. */
function makeParts(run: Run, { device, stage, gone, ops }: Watch, whole: Found, parts: Part[], intervals: LiveInterval[]): PartWatch[] {
    const own = intervals.map(({ watches }) => watches.filter((w) => w.part && w.device === device && w.stage === stage));
    const all = new Map(parts.map((part) => [part.label, part]));
    for (const { part } of own.flat())
        if (part && !all.has(part.label))
            all.set(part.label, part);
    return [...all.values()].map((part) => {
        const series = seriesOf(run, own.map((watches) => watches.find((w) => w.part?.label === part.label)), whole);
        return {
            device, stage, gone, part, ...series,
            // An owner's, of all ops: one that does little makes nobody a culprit.
            ops: series.ops.map((op) => Object.assign(op, { of_whole: sharesOf(op, haveOwners(part) ? ops : ops.filter((of) => of.op === op.op)) })),
        };
    });
}

export function keyOf(watch: { device: string; stage: string }): string {
    return JSON.stringify([watch.device, watch.stage]);
}

/** Devices and stages as a whole. */
export function wholes(interval: LiveInterval | undefined): LiveWatch[] {
    return interval?.watches.filter((watch) => !watch.part) ?? [];
}

/** The intervals as a run that begins with the first of them. Devices that are gone by now are left out. */
export function runOf(live: LiveRun, intervals: LiveInterval[]): Run {
    const begin = intervals.length ? intervals[0].end_s - intervals[0].length_s : 0;
    const starts = intervals.map((i) => i.end_s - i.length_s - begin), last = intervals[intervals.length - 1];
    const run: Run = {
        name: live.host, file: "", label: "", host: live.host, kernel: live.kernel, engine: live.engine, version: live.version, command: "",
        start: live.start, finished: true, interval_s: live.interval_s, idle_gap_s: 0, scale: live.scale,
        duration_s: last ? last.end_s - begin : 0, skipped_unexplained: last?.skipped_unexplained ?? 0, start_s: starts, length_s: intervals.map((i) => i.length_s),
        marks: [], devices: live.devices, watches: [], stacks: [], findings: [],
    };
    const each = intervals.map((interval) => new Map(wholes(interval).map((watch) => [keyOf(watch), watch])));
    const keys = wholes(last).map(keyOf);
    const found = keys.map((key): Found => each.map((watches) => watches.get(key)));
    run.watches = keys.map((key, i) => makeWatch(run, key, found[i]));
    if (live.slow)
        run.watches.forEach((watch, i) => lazy(watch, "slow", () => slowOf(found[i], intervals, begin)));
    const { parts } = live;
    if (parts)
        run.watches.forEach((watch, i) => lazy(watch, "parts", () => makeParts(run, watch, found[i], parts, intervals)));
    return run;
}

/** The state of a watch in the last interval. */
export interface State {
    iops: number; p99_ns: number | null; missed_ns: number | null; lost: number;
    grade: Grade; reason: string; text: string; since?: string;
    /** p99, or the age of an IO that hangs. */
    worst_ns: number;
}

export function stateOf(watch: LiveWatch, first: LiveWatch | undefined): State {
    const ios = watch.ops.reduce((s, op) => s + op.ios, 0), p99_ns = ios ? Math.max(...watch.ops.map((op) => op.latency_ns.p99)) : null;
    const { grade, reason, text, since }: Health = watch.health ?? { grade: "well", reason: "none", text: "" };
    // Another device of this name counts from 0.
    const goesOn = first && first.accounting.started <= watch.accounting.started;
    return {
        iops: watch.interval_s > 0 ? ios / watch.interval_s : 0, p99_ns, grade, reason, text, since,
        worst_ns: Math.max(p99_ns ?? 0, watch.ends_missed ? 0 : watch.in_flight.oldest_ns),
        missed_ns: watch.seems_stalled && watch.ends_missed ? watch.in_flight.oldest_ns : null,
        lost: Math.max(0, watch.accounting.lost - (goesOn ? first.accounting.lost : 0)),
    };
}
