// SPDX-License-Identifier: GPL-2.0-only
// How many times as long as those of a base the IOs took, percentile by percentile.
import { type Axis, log } from "../axes";
import { percent } from "../format";
import { type Line } from "../lines";
import { padded, type Plot, type Series } from "../plot";
import { quantile } from "../quantile";

/** So many IOs of both lines lie beyond each percentile: IOS_BEYOND of findings_compare.c. */
const BEYOND = 10;
/** The axis is symmetrical around p50, and both ends are stretched: log10 of the odds. */
const place = (share: number) => Math.log10(share / (1 - share));
const FIRST = place(0.01), LAST = place(0.9999), STEP = 0.05;
const NAMED = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

const shares: Axis = {
    label: "percentile of the IOs", place, value: (at) => 1 / (1 + 10 ** -at), text: (share) => `p${Number((100 * share).toFixed(share > 0.99 ? 3 : 1))}`,
    ticks: (lo, hi, room) => NAMED.map((share) => ({ at: place(share), text: room > 5 || ![0.25, 0.75, 0.95].includes(share) ? shares.text(share) : "" }))
        .filter(({ at }) => at >= lo - 1e-9 && at <= hi + 1e-9),
};

export const times = (value: number) => `${Number(value.toPrecision(3))} ×`;
const ratioAxis = log("times as long", times);

/** What is compared: runs, or devices of a single one. */
export function sidesOf(lines: Line[]): { by: "run" | "device"; names: string[] } {
    const runs = [...new Set(lines.map((line) => line.runName))], devices = [...new Set(lines.map((line) => line.watch.device))];
    return runs.length > 1 ? { by: "run", names: runs } : { by: "device", names: devices };
}

/** The line of the base that is compared with @line: of the same op and stage and, if runs are compared, device; undefined: itself, or none. */
function baseOf(line: Line, lines: Line[], base: string, by: "run" | "device"): Line | undefined {
    const side = (one: Line) => by === "run" ? one.runName : one.watch.device;
    const found = lines.filter((one) => side(one) === base && one.op.op === line.op.op && one.watch.stage === line.watch.stage);
    return side(line) === base ? undefined : found.find((one) => one.watch.device === line.watch.device) ?? (found.length === 1 ? found[0] : undefined);
}

function at({ op: { bins, total: { latency_ns: l } } }: Line, share: number): number {
    return quantile(bins, share, l!.min, l!.max);
}

/** NaN if too few IOs lie beyond. */
function ratio(line: Line, base: Line, share: number): number {
    const enough = Math.min(line.op.total.ios, base.op.total.ios) * Math.min(share, 1 - share) >= BEYOND * (1 - 1e-9);
    return enough ? at(line, share) / at(base, share) : NaN;
}

export function ratioChart(lines: Line[], base: string): Plot {
    const { by } = sidesOf(lines), steps = Array.from({ length: Math.round((LAST - FIRST) / STEP) + 1 }, (_, i) => FIRST + i * STEP);
    const pairs = lines.filter((line) => line.on && line.op.total.ios).flatMap((line) => {
        const other = baseOf(line, lines, base, by);
        return other?.op.total.ios ? [{ line, other }] : [];
    });
    const series = pairs.map(({ line, other }): Series => {
        const xs = steps.filter((x) => Number.isFinite(ratio(line, other, shares.value(x)))), half = ratio(line, other, 0.5);
        return {
            name: line.name, note: Number.isFinite(half) ? `${times(half)} at p50` : "too few IOs", kind: "line", ...line.look, tag: line.name,
            xs, ys: xs.map((x) => ratioAxis.place(ratio(line, other, shares.value(x)))),
        };
    });
    return {
        title: `Ratio to ${base}, by percentile`,
        hint: `How many times as long as the same percentile of ${base}: level where all IOs differ alike, rising where only the slow ones do. ` +
            `As far as ${BEYOND} IOs of both lie beyond.`,
        x: shares, y: ratioAxis, series, spots: [], marks: [], cells: null,
        levels: [{ y: 0, band: [0, 0], faint: true, x: [FIRST, LAST], colour: -1 }],
        xSpan: padded([FIRST, LAST], 0.02, 0.02), ySpan: (lo, hi) => padded([Math.min(lo, -0.05), Math.max(hi, 0.05)], 0.06, 0.1),
        table: () => ({
            head: ["percentile", ...pairs.map(({ line }) => line.name)],
            rows: NAMED.map((share) => [percent(share, 4), ...pairs.map(({ line, other }) => {
                const value = ratio(line, other, share);
                return Number.isFinite(value) ? times(value) : "–";
            })]),
        }),
    };
}
