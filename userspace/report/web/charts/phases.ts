// SPDX-License-Identifier: GPL-2.0-only
// The phases of a run: as separate lines, and as latency against IOPS with a point for each phase.
import { latencyAxis, linear, tickAmount } from "../axes";
import type { Phase, PhaseOp, Quantile } from "../data";
import { amount, latency } from "../format";
import type { Line } from "../lines";
import { padded, type Plot, type Series, type Span } from "../plot";
import { overlaps, type Window } from "./times";

export const LEVELS: { key: Quantile; dash: number[] }[] = [{ key: "p50", dash: [] }, { key: "p99", dash: [7, 4] }];

/** A phase's figures for a line's op. */
export interface LinePhase { phase: Phase; op: PhaseOp }

/** The phases in which a line had IOs, and which have a part in the window. */
export function phasesOf(line: Line, window: Window = null): LinePhase[] {
    return (line.run.phases ?? []).filter((phase) => overlaps(phase, window)).flatMap((phase) => phase.watches
        .filter(({ device, stage, part }) => !part && device === line.watch.device && stage === line.watch.stage)
        .flatMap(({ ops }) => ops.filter(({ op }) => op === line.op.op).map((op) => ({ phase, op }))));
}

/** Phases of the same name are distinguished by their begin. */
export function phaseName({ phase }: LinePhase, all: LinePhase[]): string {
    return all.some((other) => other.phase !== phase && other.phase.name === phase.name)
        ? `${phase.name} (${Math.round(phase.from_s)} s)` : phase.name;
}

/** A line for each phase, for charts that otherwise show a whole run. */
export function phaseLines(line: Line, window: Window): Line[] {
    const all = phasesOf(line, window);
    return all.map((one, i): Line => ({
        ...line, key: `${line.key}/${i}`, name: phaseName(one, all), look: { colour: i, dash: [], own: true }, on: true,
        run: { ...line.run, duration_s: one.phase.length_s },
        op: { ...line.op, total: one.op, bins: one.op.bins, after_idle: null },
    }));
}

/** A point's phase, for the cursor's tip. */
function told(one: LinePhase, all: LinePhase[]): string[] {
    return [phaseName(one, all), `${amount(one.op.iops)} IOPS`, ...LEVELS.map(({ key }) => `${key} ${latency(one.op.latency_ns?.[key])}`)];
}

export function latencyByIops(lines: Line[], window: Window): Plot {
    const shown = lines.filter((line) => line.on && phasesOf(line, window).length), x = linear("IOPS", tickAmount, (v) => amount(v));
    const all = shown.flatMap((line) => {
        const points = phasesOf(line, window), xs = points.map(({ op }) => op.iops);
        return LEVELS.map(({ key, dash }) => ({ line, points, key, dash, xs, ys: points.map(({ op }) => latencyAxis.place(op.latency_ns?.[key] ?? NaN)) }));
    });
    const most = Math.max(0, ...all.flatMap(({ xs }) => xs));
    return {
        title: "Latency against IOPS",
        hint: "A point a phase, in the order of the marks. Where a line turns upwards the device has no more to give: more in flight only wait longer.",
        x, y: latencyAxis, levels: [], marks: [], cells: null,
        series: all.map(({ line, points, key, dash, xs, ys }): Series => ({
            name: `${line.name}, ${key}`, note: "", kind: "path", colour: line.look.colour, dash, own: true, xs, ys, say: (i) => told(points[i], points) })),
        spots: all.flatMap(({ line, points, key, xs, ys }) => points.map((one, i) => ({
            x: xs[i], y: ys[i], colour: line.look.colour, text: key === "p99" ? phaseName(one, points) : "" }))),
        xSpan: [0, most > 0 ? most * 1.08 : 1],
        ySpan: (lo, hi): Span => hi >= lo ? padded([lo, hi], 0.08, 0.14) : [3, 6],
        table: () => ({
            head: ["line", "phase", "IOPS", ...LEVELS.map(({ key }) => key)],
            rows: shown.flatMap((line) => phasesOf(line, window).map((one, _, points) => [line.name, phaseName(one, points), amount(one.op.iops),
                ...LEVELS.map(({ key }) => latency(one.op.latency_ns?.[key]))])),
        }),
    };
}
