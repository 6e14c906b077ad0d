// SPDX-License-Identifier: GPL-2.0-only
// Shared by the charts over time: marks, the span of time, rows for the table behind a chart.
import type { Axis } from "../axes";
import type { Run } from "../data";
import type { Line } from "../lines";
import type { Rows, Series, Span } from "../plot";

const ROWS = 60;

/** The marks of the runs shown. */
export function marksOf(lines: Line[]): { x: number; text: string }[] {
    const runs = [...new Set(lines.filter((line) => line.on).map((line) => line.run))];
    const name = (line: Line | undefined) => runs.length > 1 ? ` (${line?.runName})` : "";
    const all = runs.flatMap((run) => run.marks.map((mark) => ({ run, x: mark.t_s, text: mark.text })));
    // The same event in several runs is drawn as one line.
    const alike = (a: typeof all[0], b: typeof all[0]) => a.run !== b.run && a.text === b.text && Math.abs(a.x - b.x) < 1;
    return all.filter((mark, i) => !all.slice(0, i).some((other) => alike(mark, other))).map((mark) => ({
        x: mark.x, text: mark.text + (all.some((other) => alike(mark, other)) ? "" : name(lines.find((line) => line.run === mark.run))),
    }));
}

/** null: all of the time. */
export type Window = Span | null;

/** Whether something with a begin and an end has a part in the window. */
export function overlaps({ from_s, to_s }: { from_s: number; to_s: number }, window: Window): boolean {
    return !window || (from_s < window[1] && to_s > window[0]) || (from_s === to_s && from_s >= window[0] && from_s < window[1]);
}

export function endOf(run: Run): number {
    return run.start_s.length ? run.start_s[run.start_s.length - 1] + run.length_s[run.length_s.length - 1] : 0;
}

/** The window of a run's rates. */
export function activeOf(run: Run): Span {
    return run.active ? [run.active.from_s, run.active.to_s] : [0, endOf(run)];
}

/** From 0, unless the report covers only a part of the runs. */
export function timeSpan(lines: Line[]): Span {
    const runs = lines.filter((line) => line.on).map((line) => line.run), asked = runs.length > 0 && runs.every((run) => run.active?.asked);
    const from = asked ? Math.min(...runs.map((run) => run.start_s[0])) : 0;
    return [from, Math.max(from + 1, ...runs.map(endOf))];
}

/** The intervals whose middle lies in the window, as in the report's own windows. */
export function inside(run: Run, window: Window): number[] {
    const all = run.start_s.map((_, i) => i);
    return window ? all.filter((i) => run.start_s[i] + run.length_s[i] / 2 >= window[0] && run.start_s[i] + run.length_s[i] / 2 < window[1]) : all;
}

/** The amount per second in the window, from amounts by interval; NaN if no interval lies there. */
export function rateIn(run: Run, window: Window, amount: (i: number) => number): number {
    let sum = 0, time = 0;
    for (const i of inside(run, window)) {
        sum += amount(i);
        time += run.length_s[i];
    }
    return time > 0 ? sum / time : NaN;
}

/** An interval is placed at its middle. */
export function middles(line: Line): number[] {
    return line.run.start_s.map((start, i) => start + line.run.length_s[i] / 2);
}

/** A value for each interval as a series; between two of which a part is missing (a pause of the capture) no line is drawn. */
export function placed(line: Line, ys: (number | null)[]): Pick<Series, "xs" | "ys"> {
    const { start_s: start, length_s: length } = line.run, at = middles(line);
    const missing = (i: number) => i > 0 && start[i] - start[i - 1] > 1.5 * length[i - 1];
    return {
        xs: at.flatMap((x, i) => missing(i) ? [(at[i - 1] + x) / 2, x] : [x]), ys: ys.flatMap((y, i) => missing(i) ? [null, y] : [y]),
    };
}

/** The amount per second of each interval, from amounts by interval; null while the device was not there. */
export function ratesOf({ run, watch }: Line, amounts: number[]): (number | null)[] {
    return amounts.map((amount, i) => {
        const length_s = watch.there_s?.[i] ?? run.length_s[i];
        return length_s > 0 ? amount / length_s : watch.there_s ? null : 0;
    });
}

/** A column of the table behind a chart over time: of each piece of time the mean, the highest or the least value. */
export interface Column { head: string; xs: number[]; values: (number | null)[]; of: "mean" | "highest" | "least"; text: (value: number) => string }

const FOLDS = {
    mean: (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length,
    highest: (values: number[]) => values.reduce((most, value) => Math.max(most, value)),
    least: (values: number[]) => values.reduce((least, value) => Math.min(least, value)),
};

/** At most ROWS pieces of [from, to]: equal, and of whole seconds if possible. */
export function timeRows([from, to]: Span, time: Axis, columns: Column[]): Rows {
    const size = Math.max((to - from) / ROWS, 1e-9), by = size > 0.5 ? Math.ceil(size - 1e-9) : size;
    const pieces = Array.from({ length: Math.ceil((to - from - 1e-9) / by) }, (_, i) => [from + i * by, Math.min(from + (i + 1) * by, to)]);
    return {
        head: ["from", "to", ...columns.map(({ head }) => head)],
        rows: pieces.map(([begin, end]) => [time.text(begin), time.text(end), ...columns.map(({ xs, values, of, text }) => {
            const found = values.filter((value, i): value is number => value !== null && xs[i] >= begin && xs[i] < end);
            return found.length ? text(FOLDS[of](found)) : "–";
        })]),
    };
}

export function cut(series: Series, [from, to]: Span): Series {
    const keep = series.xs.map((_, i) => i).filter((i) => series.xs[i] >= from && series.xs[i] <= to);
    return { ...series, xs: keep.map((i) => series.xs[i]), ys: keep.map((i) => series.ys[i]) };
}
