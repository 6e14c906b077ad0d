// SPDX-License-Identifier: GPL-2.0-only
// The load on devices over time: queue depth, busy share, throughput, IOs in flight, the oldest of these.
import { type Axis, latencyAxis, linear, log, named, shareAxis, tickAmount, tickLatency, timeAxis } from "../axes";
import { amount, latency, percent } from "../format";
import { type Line, sources } from "../lines";
import { fromZero, type Plot, type Series } from "../plot";
import { inside, marksOf, middles, placed, rateIn, ratesOf, timeRows, timeSpan, type Window } from "./times";

/** With this many points, neighbours are less than a pixel apart. */
const MANY = 400;

export interface Over { name: string; note: string; line: Line; values: (number | null)[]; look: Line["look"]; kind?: Series["kind"]; tag?: string; title?: string }

/** Dots if a point lies between two gaps, where no line is drawn; undefined: what a chart draws usually. */
function kindOf(values: (number | null)[]): Series["kind"] | undefined {
    const alone = values.some((value, i) => value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null);
    return alone ? "dots" : undefined;
}

export function chart(lines: Line[], all: Over[], y: Axis, text: { title: string; hint: string; x?: Axis }, ySpan: Plot["ySpan"]): Plot {
    const span = timeSpan(lines), { x = timeAxis } = text;
    return {
        ...text, x, y, levels: [], spots: [], marks: marksOf(lines), cells: null,
        series: all.map(({ name, note, line, values, look, kind, tag = name, title }): Series => {
            const points = placed(line, values.map((value) => value === null ? null : y.place(value)));
            return { name, note, title, kind: kind ?? kindOf(points.ys) ?? (values.length > MANY ? "thin" : "line"), ...look, tag, ...points };
        }),
        xSpan: span, ySpan, table: () => timeRows(span, x, all.flatMap(({ name, line, values }) => (["mean", "highest"] as const).map((of) => (
            { head: of === "mean" ? `${name}, mean` : of, xs: middles(line), values, of, text: y.text })))),
    };
}

/** One line for each watch with a line shown. */
function watches(lines: Line[], pick: (line: Line) => (number | null)[], note: (values: (number | null)[], line: Line) => string): Over[] {
    return sources(lines).map((line) => {
        const values = pick(line);
        return { name: line.source, note: note(values, line), line, values, look: line.sourceLook };
    });
}

/** The highest value in the window. */
function highest(line: Line, values: (number | null)[], window: Window): number {
    return inside(line.run, window).reduce((most, i) => Math.max(most, values[i] ?? 0), 0);
}

export function queueDepth(lines: Line[], window: Window, x = timeAxis): Plot {
    // The mean is that of the whole watch, as the depths of its ops add up.
    const depth = ({ run, watch }: Line) => window ? rateIn(run, window, (i) => watch.queue_depth[i] * run.length_s[i])
        : watch.ops.reduce((sum, op) => sum + op.total.queue_depth, 0);
    const all = watches(lines, (line) => line.watch.queue_depth, (_, line) => `mean ${amount(depth(line))}`);
    return chart(lines, all, linear("IOs", tickAmount, (v) => amount(v, 2)), {
        x, title: "Queue depth", hint: "Mean number of IOs in flight during each interval: the time that IOs spent in flight in it, over its length.",
    }, fromZero);
}

/** Of devices whose IOs in flight are counted. */
export function busy(lines: Line[], window: Window, x = timeAxis): Plot {
    const mean = ({ run, watch }: Line, busy: number[]) => {
        const length_s = watch.there_s ?? run.length_s;
        return window || watch.busy_mean === undefined ? rateIn({ ...run, length_s }, window, (i) => busy[i] * length_s[i]) : watch.busy_mean;
    };
    const all = watches(lines.filter(({ watch }) => watch.busy), ({ watch }) => watch.busy!, (_, line) => `mean ${percent(mean(line, line.watch.busy!), 1)}`);
    return chart(lines, all, named(shareAxis, "share of time (%)"), {
        x, title: "Busy", hint: "Share of each interval in which at least one IO was in flight, however many there were at once.",
    }, () => [0, 1.05]);
}

export function throughput(lines: Line[], window: Window, x = timeAxis): Plot {
    const mean = ({ run, op }: Line) => window ? rateIn(run, window, (i) => op.bytes[i]) : op.total.bytes_per_s;
    const all = lines.filter((line) => line.on).map((line): Over => ({
        name: line.name, note: `mean ${amount(mean(line) / 1e6)} MB/s`, line, look: line.look,
        values: ratesOf(line, line.op.bytes.map((bytes) => bytes / 1e6)),
    }));
    return chart(lines, all, linear("MB/s", tickAmount, amount), {
        x, title: "Throughput", hint: "Bytes of the IOs that ended in each interval.",
    }, fromZero);
}

/** Samples, which are not joined; the line is the average number in flight. */
export function inFlight(lines: Line[], window: Window, x = timeAxis): Plot {
    const samples = watches(lines, (line) => line.watch.in_flight, (values, line) => `highest ${amount(highest(line, values, window))}`);
    const all = samples.flatMap((over): Over[] => [
        { ...over, kind: "dots" }, { ...over, name: `${over.name}, mean depth`, tag: "", note: "", values: over.line.watch.queue_depth },
    ]);
    return chart(lines, all, linear("IOs", tickAmount, (v) => amount(v, 2)), {
        x, title: "In flight", hint: "Dots: IOs that were under way at the end of each interval, counted one by one. Line: the mean number during the interval.",
    }, fromZero);
}

/** 0 is not an age: nothing was in flight, so the line has a gap. */
export function oldest(lines: Line[], window: Window, x = timeAxis): Plot {
    const all = watches(lines, (line) => line.watch.oldest_ns.map((ns) => ns > 0 ? ns : null), (values, line) => {
        const most = highest(line, values, window);
        return most ? `highest ${latency(most)}` : "none seen in flight";
    });
    return chart(lines, all, named(log("", tickLatency, latency), "age"), {
        x, title: "Age of the oldest in flight", hint: "How long the oldest IO in flight had been waiting at the end of each interval. A line that climbs is a stall.",
    }, (lo, hi) => hi >= lo ? [Math.floor(lo - 0.05), Math.max(Math.ceil(hi), Math.floor(lo - 0.05) + 1)] : [latencyAxis.place(1e3), latencyAxis.place(1e6)]);
}
