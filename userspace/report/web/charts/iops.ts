// SPDX-License-Identifier: GPL-2.0-only
// IOPS over time, with a dot for each interval: the whole run, and the steady state on two axes.
import { type Axis, linear, logWithZero, tickAmount, timeAxis } from "../axes";
import { consistency } from "../curves";
import type { Consistency } from "../data";
import { amount } from "../format";
import type { Line } from "../lines";
import { fromZero, type Level, type Plot, type Series, type Span, type Spot } from "../plot";
import { activeOf, cut, endOf, marksOf, middles, ratesOf, timeRows, timeSpan, type Window } from "./times";

export type IopsView = "run" | "steady-log" | "steady-linear";

/** Boxes of a moving band; if there were more, they would be too narrow to see. */
const MOVING_BOXES = 300;

/** With more lines the worst intervals are not named, as the names would hide the dots. */
const NAMED = 3;

const TITLES: Record<IopsView, string> = {
    "run": "IOPS over time", "steady-log": "Steady state, logarithmic", "steady-linear": "Steady state, linear",
};
const HINTS: Record<IopsView, string> = {
    "run": "One dot an interval; the lowest row holds the intervals without any IO. Line and faint band: average and standard deviation; the other band: the same over up to 31 intervals around each.",
    "steady-log": "The window of the steady state alone, with average, standard deviation and the worst interval.",
    "steady-linear": "The same on a linear axis, which shows how far the dots scatter.",
};

/** Where to look for a line's steady state: the page's window, the report's, or the second half. */
export function windowOf(line: Line, asked: Window): Span {
    if (asked)
        return asked;
    const steady = line.op.steady;
    const [from, to] = activeOf(line.run);
    return steady ? [steady.from_s, steady.to_s] : [(from + to) / 2, to];
}

/** The report's own figures if it has them; otherwise computed by the same rule. */
export function figures(line: Line, view: IopsView, asked: Window): Consistency | null {
    const total = line.op.total;
    if (view === "run" && !asked)
        return line.run.start_s.length ? { ...total, iops_mean: total.iops } : null;
    if (!asked && view !== "run" && line.op.steady)
        return line.op.steady;
    return consistency(line.run, line.op.ios, ...windowOf(line, asked), line.watch);
}

function said(c: Consistency | null, time: Axis): string {
    if (!c)
        return "no interval";
    const worst = c.iops_worst === null || c.iops_worst_at_s === null ? "" : `, worst ${amount(c.iops_worst)} at ${time.text(c.iops_worst_at_s)}`;
    const zeros = c.intervals_at_0 ? `, ${c.intervals_at_0} ${c.intervals_at_0 === 1 ? "interval" : "intervals"} at 0` : "";
    return `average ${amount(c.iops_mean)} ± ${amount(c.iops_deviation)}${worst}${zeros}`;
}

/** Names the worst interval, at its dot. At 0 the axis already says it. */
function worstOf(line: Line, { iops_worst: worst, iops_worst_at_s: begin }: Consistency, axis: Axis, named: boolean): Spot[] {
    if (worst === null || begin === null)
        return [];
    const at = line.run.start_s.findIndex((start) => start >= begin - 1e-6);
    return [{
        x: at < 0 ? begin : middles(line)[at], y: axis.place(worst),
        colour: line.look.colour, text: named && worst > 0 ? `worst ${amount(worst)}` : "",
    }];
}

/** The band that follows the curve: boxes without a line. In a long run not every interval has one. */
function moving({ run, op, look }: Line, axis: Axis, [from, to]: Span): Level[] {
    const by = Math.ceil(run.start_s.length / MOVING_BOXES), levels: Level[] = [];
    for (let first = 0; op.iops_moving && first < run.start_s.length; first += by) {
        const last = Math.min(first + by, run.start_s.length) - 1, at = (first + last) >> 1;
        const mean = op.iops_moving.mean[at], deviation = op.iops_moving.deviation[at];
        const x: Span = [Math.max(run.start_s[first], from), Math.min(run.start_s[last] + run.length_s[last], to)];
        if (mean !== null && deviation !== null && x[1] > x[0])
            levels.push({ y: NaN, band: [axis.place(Math.max(0, mean - deviation)), axis.place(mean + deviation)], faint: false, x, colour: look.colour });
    }
    return levels;
}

export function iops(lines: Line[], view: IopsView, asked: Window, time = timeAxis): Plot {
    const shown = lines.filter((line) => line.on && line.run.start_s.length);
    const windows = shown.map((line): Span => view === "run" ? [0, Infinity] : windowOf(line, asked));
    const values = shown.map((line, i) => {
        const [from, to] = windows[i], at = middles(line), iops = ratesOf(line, line.op.ios);
        return { at, iops, seen: iops.filter((_, k) => at[k] >= from && at[k] <= to), c: figures(line, view, asked) };
    });
    // The axis begins below the averages, too: if most intervals have no IO, these are lower than any dot.
    let lowest = Infinity;
    for (const { seen, c } of values)
        for (const value of c ? [...seen, c.iops_mean] : seen)
            if (value !== null && value > 0 && value < lowest)
                lowest = value;
    if (lowest === Infinity)
        lowest = 1;
    const axis = view === "steady-linear" ? linear("IOPS", tickAmount, amount) : logWithZero("IOPS", lowest, tickAmount, amount);
    const levels: Level[] = [], spots: Spot[] = [];
    const series = shown.map((line, i): Series => {
        const { at, iops, c } = values[i];
        if (c) {
            const band: Span = [axis.place(Math.max(0, c.iops_mean - c.iops_deviation)), axis.place(c.iops_mean + c.iops_deviation)];
            const over = view === "run" ? asked ?? activeOf(line.run) : windows[i];
            levels.push({ y: axis.place(c.iops_mean), band, faint: view === "run" || shown.length > NAMED + 1, x: [Math.max(over[0], 0), Math.min(over[1], endOf(line.run))], colour: line.look.colour });
            if (view === "run")
                levels.push(...moving(line, axis, over));
            if (view === "run" || shown.length <= 2 * NAMED)
                spots.push(...worstOf(line, c, axis, shown.length <= NAMED));
        }
        return cut({ name: line.name, note: said(c, time), kind: "dots", ...line.look, xs: at, ys: iops.map((value) => value === null ? null : axis.place(value)) }, windows[i]);
    });
    const span: Span = view === "run" || !shown.length ? timeSpan(lines) : [
        Math.min(...windows.map((w) => w[0])),
        Math.max(...windows.map((w, i) => Math.min(w[1], endOf(shown[i].run)))),
    ];
    const x: Span = span[1] > span[0] ? span : [span[0], span[0] + 1];
    // The worst interval and the averages are visible, whatever part of the time is shown.
    const logSpan = (lo: number, hi: number): Span => hi >= lo ? [lo - 0.2, Math.max(hi, lo + 0.7) + 0.15] : [-0.5, 3];
    return {
        title: TITLES[view], hint: HINTS[view], x: time, y: axis, series, levels, spots,
        marks: marksOf(lines), cells: null, xSpan: x,
        ySpan: view === "steady-linear" ? fromZero : logSpan, table: () => timeRows(x, time, shown.flatMap((line, i) => (["mean", "least"] as const).map((of) => (
            { head: of === "mean" ? `${line.name}, mean IOPS` : of, xs: values[i].at, values: values[i].iops, of, text: (v: number) => amount(v) })))),
    };
}
