// SPDX-License-Identifier: GPL-2.0-only
// Slow and failed IOs: a dot for each over time, with everything known about it.
import { latencyAxis, timeAxis } from "../axes";
import type { SlowIo } from "../data";
import { count, ioSize, latency, seconds, sortedBy } from "../format";
import type { Line } from "../lines";
import { padded, type Plot, type Series } from "../plot";
import { marksOf, timeSpan, type Window } from "./times";

/** A slow IO of a line. */
export interface LineSlow { line: Line; io: SlowIo }

/**
 * The slow IOs of the lines shown that ended in the window. For each watch failed ones come first, then the slowest.
 */
export function slowOf(lines: Line[], window: Window = null): LineSlow[] {
    return lines.filter((line) => line.on).flatMap((line) => (line.watch.slow?.ios ?? []).filter((io) =>
        io.op === line.op.op && (!window || (io.t_s >= window[0] && io.t_s < window[1]))).map((io) => ({ line, io })));
}

export function hasSlow(lines: Line[]): boolean {
    return lines.some((line) => line.watch.slow);
}

/** Who sent it: "dd 77", "[kworker/0:1H] 12"; null: unknown. */
function sender({ pid, comm, kernel_thread }: SlowIo): string | null {
    return pid === null ? null : `${kernel_thread ? `[${comm}]` : comm} ${pid}`;
}

/** "sub/name", "8:1 inode 12" without names, and what else its pages are: "direct"; null: unknown. */
function fileOf({ pages, file_device, inode, file }: SlowIo): string | null {
    return pages === "file" ? file ?? `${file_device} inode ${inode}` : pages;
}

/** How the time of an IO's end is written: in a table's cell, and where there is more room. */
export interface When { cell: (io: SlowIo) => string; words: (io: SlowIo) => string }

/** As in a report's charts. */
export const sinceStart: When = {
    cell: ({ t_s }) => `${t_s.toFixed(3)}\u00a0s`, words: ({ t_s, time }) => `${seconds(t_s)}, ${time.slice(11, 23)} UTC`,
};

/** Everything known about an IO, line by line. */
export function told(io: SlowIo, when = sinceStart): string[] {
    const some = (...words: string[]) => [words.filter(Boolean).join(", ")].filter(Boolean);
    const one = <T>(name: string, value: T | null, text: (value: T) => string = String) => value === null ? "" : `${name} ${text(value)}`.trim();
    return [
        `${latency(io.latency_ns)}, ended at ${when.words(io)}`,
        ...some(`${io.op} ${ioSize(io.bytes)}`, one("sector", io.sector), one("flags", io.flags)), ...some(one("failed:", io.error)),
        ...some(one("queue", io.queue_ns, latency), one("device", io.device_ns, latency)),
        ...some(one("depth", io.depth), one("beside", io.beside), one("", partOf(io))), ...some(one("by", sender(io))), ...some(one("cgroup", io.cgroup)), ...some(one("file", fileOf(io))),
        ...some(one("hardware queue", io.hw_queue), one("CPU", io.start_cpu), `ended on CPU ${io.end_cpu}`),
    ];
}

/** Dots of the same look, by time. Several at the same moment are moved apart, as places have to ascend. */
function dots(all: SlowIo[], when: When, rest: Pick<Series, "name" | "note" | "colour" | "dash" | "own">): Series {
    const ios = [...all].sort((a, b) => a.t_s - b.t_s), xs: number[] = [];
    for (const { t_s } of ios)
        xs.push(xs.length && t_s <= xs[xs.length - 1] ? xs[xs.length - 1] + 1e-9 : t_s);
    return { ...rest, kind: "dots", xs, ys: ios.map((io) => latencyAxis.place(Math.max(io.latency_ns, 1))), say: (i) => told(ios[i], when) };
}

/** The slow IOs of a line, and those that failed with a separate look. */
function ofLine(line: Line, all: LineSlow[], when: When, failed: number): Series[] {
    const ios = all.filter((one) => one.line === line).map(({ io }) => io), bad = ios.filter((io) => io.error !== null);
    const good = ios.filter((io) => io.error === null);
    return [
        ...good.length ? [dots(good, when, { name: line.name, note: count(good.length), ...line.look })] : [],
        ...bad.length ? [dots(bad, when, { name: `${line.name}, failed`, note: count(bad.length), colour: failed, dash: [], own: true })] : [],
    ];
}

export function slowDots(lines: Line[], x = timeAxis, when = sinceStart, window: Window = null): Plot {
    const all = slowOf(lines, window), shown = [...new Set(all.map(({ line }) => line))];
    return {
        title: "Slow IOs over time",
        hint: "A dot for each IO that reached the limit of --slow, or failed, when it ended. Point at one to see what is known of it.",
        x, y: latencyAxis, levels: [], spots: [], marks: marksOf(lines), cells: null,
        series: shown.flatMap((line, i) => ofLine(line, all, when, lines.length + i)),
        xSpan: timeSpan(lines), ySpan: (lo, hi) => hi >= lo ? padded([lo, hi], 0.06, 0.1) : [3, 6],
        table: () => ({ head: ["line", ...COLUMNS.map(({ head }) => head)], rows: all.map(({ line, io }) => [line.name, ...COLUMNS.map(({ text }) => text(io, when))]) }),
    };
}

type Key = number | string | null;

function known<T>(value: T | null, text: (value: T) => string): string {
    return value === null ? "–" : text(value);
}

/** The part, unless it says no more than the cgroup, sender, flags, depth or neighbour of the IO itself. */
function partOf({ part, pid, flags, depth, beside }: SlowIo): string | null {
    const told: Record<string, boolean> = { cgroup: true, process: pid !== null, flags: flags !== null, depth: depth !== null, beside: beside !== null };
    return part && !told[part.by] ? `${part.by} ${part.label}` : null;
}

interface Column {
    head: string;
    /** The key to sort by; null: unknown. */
    key: (io: SlowIo) => Key;
    text: (io: SlowIo, when: When) => string;
    /** Words rather than figures. */
    left: boolean;
}

function figures(head: string, key: (io: SlowIo) => number | null, text: (value: number) => string = String): Column {
    return { head, key, left: false, text: (io) => known(key(io), text) };
}

function names(head: string, key: (io: SlowIo) => string | null): Column {
    return { head, key, left: true, text: (io) => known(key(io), String) };
}

/** The columns of the tables. */
export const COLUMNS: Column[] = [
    { head: "time", key: (io) => io.t_s, left: false, text: (io, when) => when.cell(io) }, figures("latency", (io) => io.latency_ns, latency),
    figures("queue", (io) => io.queue_ns, latency), figures("device", (io) => io.device_ns, latency),
    names("op", (io) => io.op), figures("size", (io) => io.bytes, ioSize), figures("sector", (io) => io.sector), names("flags", (io) => io.flags),
    names("error", (io) => io.error), figures("depth", (io) => io.depth), names("beside", (io) => io.beside), names("part", partOf), names("sent by", sender), names("cgroup", (io) => io.cgroup), names("file", fileOf),
    figures("hardware queue", (io) => io.hw_queue), figures("CPU", (io) => io.start_cpu),
];

export function sorted(all: LineSlow[], by: number, up: boolean): LineSlow[] {
    return sortedBy(all, ({ io }) => COLUMNS[by].key(io), up);
}
