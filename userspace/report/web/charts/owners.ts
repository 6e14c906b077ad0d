// SPDX-License-Identifier: GPL-2.0-only
// Owners over time: who took how much of what a device did, stacked; and whose IOs took how long.
import { type Axis, latencyAxis, linear, tickAmount } from "../axes";
import type { Percentile } from "../data";
import { amount, latency, percent } from "../format";
import { type Line, onlyOf } from "../lines";
import { type Owner, type Ownership, ownersOf } from "../owners";
import { fromZero, latencySpan, type Plot, type Series } from "../plot";
import { NO_COLOUR } from "../theme";
import { chart, type Over } from "./load";
import { byWords } from "./parts";

/** More could not be told apart. */
const MOST = 8;

type Amount = "ios" | "bytes" | "time_s";
export type OwnerFigure = Amount | Percentile;

const AMOUNTS: Record<Amount, { title: string; axis: Axis; hint: string; share: "ios" | "bytes" | "time"; what: string; unit: number }> = {
    ios: { title: "IOPS", axis: linear("IOPS", tickAmount, amount), hint: "IOs that ended in each interval", share: "ios", what: "IOs", unit: 1 },
    bytes: { title: "Throughput", axis: linear("MB/s", tickAmount, amount), hint: "Bytes of the IOs that ended in each interval", share: "bytes", what: "bytes", unit: 1e6 },
    time_s: { title: "Time spent", axis: linear("IOs in flight", tickAmount, (v) => amount(v, 2)), share: "time", what: "time", unit: 1,
        hint: "Latencies of the IOs that ended in each interval, added up and divided by its length: the mean number of each owner in flight" },
};

/** The amount per second in each interval, of one op or of all together. */
function valuesOf({ watch }: Owner, { line: { run }, op }: Ownership, figure: Amount): number[] {
    const ops = watch.ops.filter((o) => op === null || o.op === op);
    return run.length_s.map((length, i) => length > 0 ? ops.reduce((sum, o) => sum + (o[figure]?.[i] ?? 0), 0) / length / AMOUNTS[figure].unit : 0);
}

/** The percentile in each interval, of one op or of all together. */
function percentilesOf({ watch }: Owner, { op }: Ownership, percentile: Percentile): (number | null)[] {
    return (op === null ? watch.all_ops?.percentiles_ns : watch.ops.find((o) => o.op === op)?.percentiles_ns)?.[percentile] ?? [];
}

function isAmount(figure: OwnerFigure): figure is Amount {
    return figure in AMOUNTS;
}

/** What an owner has of a figure in the whole run. A percentile of few IOs says little, so these come last. */
function wholeOf(owner: Owner, figure: OwnerFigure): number {
    return isAmount(figure) ? owner[figure] : owner.few ? 0 : owner.latency?.[figure] ?? 0;
}

/** Gives each its own colour of the palette if possible. */
function distinct(wanted: number[], colours: number): number[] {
    const taken = new Set<number>();
    return wanted.map((want) => {
        const free = Array.from({ length: colours }, (_, i) => (want + i) % colours).find((colour) => !taken.has(colour)) ?? want % colours;
        taken.add(free);
        return free;
    });
}

/** The number of colours in each theme. */
const COLOURS = 14;

/** The owners that a chart of this figure draws separately, with their colours. Percentiles are known of the whole run only. */
export function drawnOwners(of: Ownership, figure: OwnerFigure): { owner: Owner; colour: number }[] {
    const top = ownersOf(isAmount(figure) ? of : of.whole ?? of).sort((a, b) => wholeOf(b, figure) - wholeOf(a, figure)).slice(0, MOST), colours = distinct(top.map(({ rank }) => rank), COLOURS);
    return top.map((owner, i) => ({ owner, colour: colours[i] }));
}

/** Each series begins where the previous ones end. Later drawing covers earlier, so the last one is drawn first. */
function stacked(plot: Plot, run: Line["run"]): Plot {
    // A single interval is drawn from its beginning to its end, as otherwise there would be only a point.
    const wide = run.start_s.length === 1 ? [run.start_s[0], run.start_s[0] + run.length_s[0]] : null;
    const sums = (plot.series[0]?.xs ?? []).map(() => 0);
    const series = plot.series.map((one): Series => {
        const amounts = [...one.ys];
        amounts.forEach((y, i) => {
            sums[i] += y ?? 0;
        });
        const ys = sums.map((sum, i) => one.ys[i] === null ? null : sum);
        return { ...one, kind: "thin", fill: true, tag: "", ...wide ? { xs: wide, ys: [...ys, ...ys], amounts: [...amounts, ...amounts] } : { ys, amounts } };
    });
    return { ...plot, series: series.reverse(), stacked: true };
}

function amountsOverTime(lines: Line[], of: Ownership, figure: Amount, x?: Axis): Plot {
    const { title, axis, hint, share, what } = AMOUNTS[figure], { line } = of, all = ownersOf(of), top = drawnOwners(of, figure);
    const others = all.filter((owner) => !top.some((one) => one.owner.part.label === owner.part.label));
    const rest = others.reduce((sums, owner) => valuesOf(owner, of, figure).map((value, i) => value + (sums[i] ?? 0)), [] as number[]);
    const noteOf = (owners: Owner[]) => `${percent(owners.reduce((sum, { shares }) => sum + (shares[share] ?? NaN), 0))} of the ${what}`;
    const over = (name: string, note: string, colour: number, values: number[]): Over => ({ name, note, line, values, look: { colour, dash: [], own: true } });
    const made = chart(onlyOf(lines, of.line.run), [
        ...top.map(({ owner, colour }) => ({ ...over(owner.name, noteOf([owner]), colour, valuesOf(owner, of, figure)), title: owner.part.label })),
        ...others.length ? [over(others.length === 1 ? others[0].name : `${others.length} others`, noteOf(others), NO_COLOUR, rest)] : [],
    ], axis, { title: `${title} by ${byWords(of.line.watch.parts![0].part)}, ${of.name}`, hint: `${hint}. Stacked: the upper edge is all owners together.`, ...x && { x } }, fromZero);
    return stacked(made, line.run);
}

/** Percentiles do not add up, so these are not stacked, and owners that are not drawn have no sum. */
function percentilesOverTime(lines: Line[], of: Ownership, percentile: Percentile, x?: Axis): Plot {
    const top = drawnOwners(of, percentile), left = ownersOf(of.whole ?? of).length - top.length;
    const all = top.map(({ owner, colour }): Over => {
        const values = percentilesOf(owner, of, percentile);
        return {
            name: owner.name, title: owner.part.label, note: of.whole ? "" : owner.few ? "too few IOs" : `of all ${latency(owner.latency?.[percentile])}`,
            line: of.line, values, look: { colour, dash: [], own: true },
        };
    });
    return chart(onlyOf(lines, of.line.run), all, latencyAxis, {
        title: `${percentile} by ${byWords(of.line.watch.parts![0].part)}, ${of.name}`,
        hint: `${percentile} of each owner's IOs in each interval.${left ? ` Of ${top.length + left} owners, the ${top.length} with the highest of the whole run are drawn.` : ""}`, ...x && { x },
    }, latencySpan);
}

export function ownersOverTime(lines: Line[], of: Ownership, figure: OwnerFigure, x?: Axis): Plot {
    return isAmount(figure) ? amountsOverTime(lines, of, figure, x) : percentilesOverTime(lines, of, figure, x);
}
