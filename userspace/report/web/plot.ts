// SPDX-License-Identifier: GPL-2.0-only
// The contents of a chart, in places of its axes. Screen, SVG and the table behind the chart are made from it.
import type { Axis } from "./axes";
import type { Look } from "./lines";

export type Span = [number, number];

export interface Series extends Look {
    name: string;
    /** Its figure in this chart: "mean 52.1 MB/s". */
    note: string;
    /** A "path" joins its points in their order; of all others the xs ascend. */
    kind: "line" | "dots" | "thin" | "path";
    fill?: boolean;
    xs: number[];
    ys: (number | null)[];
    /** For each point the series' own amount, if it is drawn on top of others. */
    amounts?: (number | null)[];
    /** For each point a text, if there is more to say than its y. */
    words?: string[];
    /** Its full name, if that is too long to read. */
    title?: string;
    /** Details of a point; the cursor's tip shows those of the nearest point. */
    say?: (i: number) => string[];
    /** Written beside the line, if that stays readable. */
    tag?: string;
}

/** A level line with a band around it: an average and its deviation. Many wide bands should be faint. */
export interface Level { y: number; band: Span; faint: boolean; x: Span; colour: number }

/** A single point with a name. */
export interface Spot { x: number; y: number; colour: number; text: string }

export interface Cells {
    /** For each cell its box in places, and the rank of its value among all, 0 to 1. */
    boxes: { x0: number; x1: number; y0: number; y1: number; rank: number }[];
    least: string; most: string; title: string;
}

/** Cells by their values, ranked by the logarithm, so that a single IO is visible beside a million. */
export function rankedCells(title: string, text: (value: number) => string, all: (Omit<Cells["boxes"][0], "rank"> & { value: number })[]): Cells {
    const least = all.reduce((so, { value }) => Math.min(so, value), Infinity), most = all.reduce((so, { value }) => Math.max(so, value), 0), range = Math.log(most / least);
    return {
        title, least: all.length ? text(least) : "", most: all.length ? text(most) : "",
        boxes: all.map(({ value, ...box }) => ({ ...box, rank: range > 0 ? Math.log(value / least) / range : 1 })),
    };
}

export interface Rows { head: string[]; rows: string[][] }

export interface Plot {
    title: string;
    /** How to read the chart, in one sentence. */
    hint: string;
    x: Axis; y: Axis;
    series: Series[];
    levels: Level[];
    spots: Spot[];
    marks: { x: number; text: string }[];
    cells: Cells | null;
    /** The notes of its lines are their IOPS, which the page's legend has. */
    iopsNoted?: boolean;
    /** Its series are stacked, each an area down to 0; the uppermost comes first. */
    stacked?: boolean;
    /** The span of the whole chart; the y span may follow what is visible in a part of x. */
    xSpan: Span;
    ySpan(lo: number, hi: number): Span;
    /** Made only when somebody looks at it. */
    table(): Rows;
}

/** Its series in the order in which one reads them. */
export function inOrder({ series, stacked }: Plot): Series[] {
    return stacked ? [...series].reverse() : series;
}

export interface Zoom { x: Span | null; y: Span | null }

/** The part of the axes that is shown. */
export function view(plot: Plot, zoom: Zoom): { x: Span; y: Span } {
    const x = zoom.x ?? plot.xSpan;
    if (zoom.y)
        return { x, y: zoom.y };
    let lo = Infinity, hi = -Infinity;
    const see = (y: number) => {
        lo = Math.min(lo, y);
        hi = Math.max(hi, y);
    };
    for (const series of plot.series)
        for (let i = 0; i < series.xs.length; i++) {
            const y = series.ys[i];
            if (y !== null && series.xs[i] >= x[0] && series.xs[i] <= x[1])
                see(y);
        }
    for (const box of plot.cells?.boxes ?? [])
        if (box.x1 > x[0] && box.x0 < x[1]) {
            see(box.y0);
            see(box.y1);
        }
    return { x, y: plot.ySpan(lo, hi) };
}

/** Widens a span by a share of its width, and one without width by a fixed amount. */
export function padded([lo, hi]: Span, below: number, above: number): Span {
    const size = hi > lo ? hi - lo : Math.abs(hi) || 1;
    return [lo - size * below, hi + size * above];
}

/** Of a chart whose height is a latency; if it is empty, 1 us to 1 ms. */
export function latencySpan(lo: number, hi: number): Span {
    return hi >= lo ? padded([lo, hi], 0.03, 0.06) : [3, 6];
}

/** Makes a span at least @least wide, with the same middle. */
export function atLeast([lo, hi]: Span, least: number): Span {
    const more = Math.max(least - (hi - lo), 0) / 2;
    return [lo - more, hi + more];
}

/** From 0 to slightly above the highest value. */
export function fromZero(_lo: number, hi: number): Span {
    return [0, hi > 0 && Number.isFinite(hi) ? hi * 1.1 : 1];
}

/** Whole decades around the values (places are logarithms). */
export function decades(lo: number, hi: number): Span {
    if (!(hi >= lo))
        return [0, 1];
    const span: Span = [Math.floor(lo + 1e-9), Math.ceil(hi - 1e-9)];
    return span[0] === span[1] ? [span[0], span[0] + 1] : span;
}

/** The x bounds of series; @otherwise if there are none. */
export function xBounds(series: Series[], otherwise: Span): Span {
    let lo = Infinity, hi = -Infinity;
    for (const { xs } of series)
        if (xs.length) {
            lo = Math.min(lo, xs[0]);
            hi = Math.max(hi, xs[xs.length - 1]);
        }
    return hi >= lo ? [lo, hi] : otherwise;
}
