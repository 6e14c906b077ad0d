// SPDX-License-Identifier: GPL-2.0-only
// Divided IOs: how long they took in each part, for one line as a heat map, for all lines as curves, and over time.
import { categories, latencyAxis, rowOf } from "../axes";
import { type Bin, type Part, type Percentile, type PartWatch, type Quantile } from "../data";
import { count, latency, shareOf } from "../format";
import { lastCell, upperBound } from "../grid";
import { type Line, onlyOf } from "../lines";
import { haveOwners, shortNames } from "../owners";
import { type Cells, latencySpan, type Level, type Plot, rankedCells, type Rows, type Series } from "../plot";
import { LINES } from "./heat";
import { chart, type Over } from "./load";

const HEAT_SCALE = 3;
/** The share of a column's width that a level takes on either side of the middle. */
const HALF = 0.42;
/** How many owners are drawn, whose number is unlimited. */
const MOST = 12;

/** What the IOs are divided by, in words. */
const WORDS: Record<string, string> = {
    size: "IO size", flags: "what the IO is for", depth: "IOs in flight at the start", beside: "what was in flight at the start",
    cgroup: "cgroup", process: "process", priority: "IO priority", operation: "operation",
};

export function byWords({ by }: Part): string {
    return WORDS[by] ?? by;
}

/** A part's figures for the line's op. */
export interface LinePart { part: Part; op: PartWatch["ops"][number] }

/** The parts of a line that had IOs. */
export function partsOf(line: Line): LinePart[] {
    return (line.watch.parts ?? []).flatMap(({ part, ops }) =>
        ops.filter((op) => op.op === line.op.op && op.total.ios > 0).map((op) => ({ part, op })));
}

/** The lines with parts that had IOs, by kind of division. */
export function dividedLines(lines: Line[]): Record<string, Line[]> {
    const found: Record<string, Line[]> = {};
    for (const line of lines)
        if (partsOf(line).length)
            (found[partsOf(line)[0].part.by] ??= []).push(line);
    return found;
}

/** The total time of a part's IOs. */
function timeOf({ op: { total } }: LinePart): number {
    return total.ios * (total.latency_ns?.mean ?? 0);
}

/** Owners have no natural order, so those whose IOs took the most time come first. Other parts keep their order. */
export function ranked(parts: LinePart[]): LinePart[] {
    return parts.length && haveOwners(parts[0].part) ? [...parts].sort((a, b) => timeOf(b) - timeOf(a)) : parts;
}

/** The labels from the first to the last one at which any line had IOs, including those in between. */
export function consecutive(lines: Line[]): string[] {
    const all = [...new Set(lines.flatMap(({ watch }) => (watch.parts ?? []).map(({ part }) => part.label)))];
    const used = lines.flatMap((line) => partsOf(line).map(({ part }) => all.indexOf(part.label)));
    return all.slice(Math.min(...used), Math.max(...used) + 1);
}

/** Of owners the labels with the most time, over all lines; otherwise all that are consecutive. */
function labelsOf(lines: Line[]): string[] {
    const sums = new Map<string, number>();
    for (const one of lines.flatMap(partsOf))
        if (haveOwners(one.part))
            sums.set(one.part.label, (sums.get(one.part.label) ?? 0) + timeOf(one));
    if (sums.size)
        return [...sums].sort(([, a], [, b]) => b - a).slice(0, MOST).map(([label]) => label);
    return consecutive(lines);
}

function words(lines: Line[]): string {
    const parts = lines.flatMap((line) => line.watch.parts ?? []);
    return parts.length ? byWords(parts[0].part) : "part";
}

/** The common part of both charts by part. */
function byPart(lines: Line[], labels: string[]): Pick<Plot, "x" | "y" | "levels" | "spots" | "marks" | "xSpan" | "ySpan"> {
    const parts = lines.flatMap((line) => line.watch.parts ?? []).map(({ part }) => part);
    const names = shortNames(parts);
    return {
        x: categories(words(lines), labels.map((label) => names.get(label)!), labels), y: latencyAxis, levels: [], spots: [], marks: [],
        xSpan: [-0.5, Math.max(labels.length, 1) - 0.5], ySpan: latencySpan,
    };
}

/** Cells of the grid, at most eight per octave, and their IOs. Bins are as wide as a cell, or narrower. */
function cellsOf(bins: Bin[], scale: number): Map<number, number> {
    const cells = new Map<number, number>(), last = lastCell(scale);
    let cell = 1;
    for (const [, upper, ios] of bins) {
        while (cell < last && (upper === null || upperBound(scale, cell) < upper))
            cell++;
        cells.set(cell, (cells.get(cell) ?? 0) + ios);
    }
    return cells;
}

/** Each cell's share of its column's IOs. */
function cells(line: Line, labels: string[]): Cells {
    const scale = Math.min(line.run.scale, HEAT_SCALE), parts = partsOf(line).filter(({ part }) => labels.includes(part.label));
    return rankedCells("share of a column's IOs", shareOf, parts.flatMap(({ part, op }) => {
        const x = labels.indexOf(part.label), all = op.bins.reduce((sum, bin) => sum + bin[2], 0);
        return [...cellsOf(op.bins, scale)].map(([cell, ios]) => ({ x0: x - 0.5, x1: x + 0.5, ...rowOf(scale, cell), value: ios / all }));
    }));
}

/** A percentile of each part of a line; NaN if the part has none, or too few IOs for it. */
function valuesOf(line: Line, labels: string[], key: Quantile | "max"): number[] {
    const found = new Map(partsOf(line).map(({ part, op }) => [part.label, op.few && key !== "max" ? NaN : op.total.latency_ns?.[key]]));
    return labels.map((label) => found.get(label) ?? NaN);
}

/** A level in each column, joined with the next one; a gap if a column has no value. */
function steps(values: number[]): Pick<Series, "xs" | "ys"> {
    return {
        xs: values.flatMap((_, at) => [at - HALF, at + HALF]),
        ys: values.flatMap((ns) => Number.isNaN(ns) ? [null, null] : [latencyAxis.place(ns), latencyAxis.place(ns)]),
    };
}

/** Whether the parts have a natural order, which owners do not. */
function haveOrder(line: Line): boolean {
    return !line.watch.parts || !haveOwners(line.watch.parts[0].part);
}

/** The same without joins; the series has the middles. */
function levels(values: number[], colour: number): Level[] {
    return values.flatMap((ns, at) => Number.isNaN(ns) ? [] : [{ y: latencyAxis.place(ns), band: [0, 0], faint: true, x: [at - HALF, at + HALF], colour }]);
}

function dots(values: number[]): Pick<Series, "xs" | "ys"> {
    return { xs: values.map((_, at) => at), ys: values.map((ns) => Number.isNaN(ns) ? null : latencyAxis.place(ns)) };
}

function heatRows(line: Line): Rows {
    return {
        head: [words([line]), "IOs", "share of IOs", ...LINES.map(({ key }) => key)],
        rows: ranked(partsOf(line)).map((one) => [one.part.label, count(one.op.total.ios), shareOf(one.op.of_whole.ios ?? NaN),
            ...LINES.map(({ key }) => one.op.few && key !== "max" ? "too few IOs" : latency(one.op.total.latency_ns?.[key]))]),
    };
}

export function partsHeat(line: Line): Plot {
    const labels = labelsOf([line]), order = haveOrder(line), all = LINES.map((one) => ({ ...one, values: valuesOf(line, labels, one.key) }));
    return {
        ...byPart([line], labels),
        title: `Latency by ${words([line])}, ${line.name}`,
        hint: "The stronger a cell's colour, the larger the share of its column's IOs that took that long. The lines are percentiles of each column with 100 IOs or more.",
        series: all.map(({ key, colour, dash, values }): Series => {
            const style = { name: key, note: "", colour, dash, own: true, tag: key };
            return key === "max" || !order ? { ...style, kind: "dots", ...dots(values) } : { ...style, kind: "thin", ...steps(values) };
        }),
        levels: order ? [] : all.flatMap(({ key, colour, values }) => key === "max" ? [] : levels(values, colour)),
        cells: cells(line, labels),
        table: () => heatRows(line),
    };
}

/** Compares lines: other runs, other ops. */
export function partsLatency(lines: Line[], percentile: Quantile): Plot {
    const shown = lines.filter((line) => line.on && partsOf(line).length), labels = labelsOf(shown), by = words(lines);
    const values = shown.map((line) => valuesOf(line, labels, percentile));
    return {
        ...byPart(lines, labels), cells: null,
        title: `${percentile} by ${by}`,
        hint: "Like beside like: where runs differ in their mix of IOs, compare them here rather than as a whole. None is drawn of fewer than 100 IOs.",
        series: shown.map((line, i): Series => ({
            name: line.name, note: `${percentile} of all ${latency(line.op.total.latency_ns?.[percentile])}`, ...line.look, tag: line.name,
            ...haveOrder(line) ? { kind: "line", ...steps(values[i]) } : { kind: "dots", ...dots(values[i]) },
        })),
        levels: shown.flatMap((line, i) => haveOrder(line) ? [] : levels(values[i], line.look.colour)),
        table: () => ({
            head: [by, ...shown.map((line) => line.name)],
            rows: labels.map((label, at) => [label, ...values.map((of) => latency(of[at]))]),
        }),
    };
}

/** Each part of a line over time. */
export function partsOverTime(lines: Line[], line: Line, percentile: Percentile): Plot {
    const parts = line.watch.parts ?? [], names = shortNames(parts.map(({ part }) => part));
    // Owners are in the order of ownersOf(), so that each has the same colour everywhere.
    const labels = (!haveOrder(line) ? [...parts].sort((a, b) => (b.all_ops?.time_s ?? 0) - (a.all_ops?.time_s ?? 0)) : parts).map(({ part }) => part.label);
    const all = ranked(partsOf(line)).filter(({ op }) => !op.few).slice(0, haveOrder(line) ? undefined : MOST).map((one): Over => {
        const values = one.op.percentiles_ns[percentile];
        return {
            name: names.get(one.part.label)!, title: one.part.label, note: `${shareOf(one.op.of_whole.ios ?? NaN)} of the IOs, ${shareOf(one.op.of_whole.time ?? NaN)} of their time`, line, values,
            look: { colour: labels.indexOf(one.part.label), dash: [], own: true },
        };
    });
    const only = onlyOf(lines, line.run);
    return chart(only, all, latencyAxis, {
        title: `${percentile} over time by ${words([line])}, ${line.name}`,
        hint: `${percentile} of the IOs of each part in each interval, of parts with 100 IOs or more.`,
    }, latencySpan);
}
