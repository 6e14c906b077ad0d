// SPDX-License-Identifier: GPL-2.0-only
// What a chart shows, in places of its axes. Screen, SVG and the table behind are made from it.
import type { Axis } from "./axes";
import type { Look } from "./lines";

export type Span = [number, number];

export interface Series extends Look {
    name: string;
    /** Its figure in this chart: "mean 52.1 MB/s". */
    note: string;
    kind: "line" | "dots" | "thin";
    fill?: boolean;
    xs: number[];
    ys: (number | null)[];
    /** Point by point what it has by itself, where it is drawn on top of others. */
    amounts?: (number | null)[];
    /** Point by point, where it is more than its y that is to be said. */
    words?: string[];
    /** Its name in full, where that is too long to be read. */
    title?: string;
    /** Of points that have more to say than where they are: the cursor's tip has it of the one that is nearest. */
    say?: (i: number) => string[];
    /** Written beside the line, where that stays readable. */
    tag?: string;
}

/** A level line with a band around it: an average and its deviation. Many wide bands want to be faint. */
export interface Level { y: number; band: Span; faint: boolean; x: Span; colour: number }

/** A single point that is worth a name. */
export interface Spot { x: number; y: number; colour: number; text: string }

export interface Cells {
    /** Cell by cell: its box in places, and its value's rank among all, 0 to 1. */
    boxes: { x0: number; x1: number; y0: number; y1: number; rank: number }[];
    least: string; most: string; title: string;
}

export interface Rows { head: string[]; rows: string[][] }

export interface Plot {
    title: string;
    /** How to read it, one sentence. */
    hint: string;
    x: Axis; y: Axis;
    series: Series[];
    levels: Level[];
    spots: Spot[];
    marks: { x: number; text: string }[];
    cells: Cells | null;
    /** The notes of its lines are their IOPS, which the page's legend has. */
    iopsNoted?: boolean;
    /** Its series lie on top of each other, each an area down to 0, the uppermost first. */
    stacked?: boolean;
    /** Of the whole chart; the y span may follow what is seen in a part of x. */
    xSpan: Span;
    ySpan(lo: number, hi: number): Span;
    /** Made when somebody looks. */
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

/** Widens a span by a share of itself, and one without width by something. */
export function padded([lo, hi]: Span, below: number, above: number): Span {
    const size = hi > lo ? hi - lo : Math.abs(hi) || 1;
    return [lo - size * below, hi + size * above];
}

/** At least so wide, its middle where it was. */
export function atLeast([lo, hi]: Span, least: number): Span {
    const more = Math.max(least - (hi - lo), 0) / 2;
    return [lo - more, hi + more];
}

/** From 0 to a little above what is there. */
export function fromZero(_lo: number, hi: number): Span {
    return [0, hi > 0 && Number.isFinite(hi) ? hi * 1.1 : 1];
}

/** Whole decades (places are logarithms) around what is there. */
export function decades(lo: number, hi: number): Span {
    if (!(hi >= lo))
        return [0, 1];
    const span: Span = [Math.floor(lo + 1e-9), Math.ceil(hi - 1e-9)];
    return span[0] === span[1] ? [span[0], span[0] + 1] : span;
}

/** Bounds of series; an axis without any gets @otherwise. */
export function xBounds(series: Series[], otherwise: Span): Span {
    let lo = Infinity, hi = -Infinity;
    for (const { xs } of series)
        if (xs.length) {
            lo = Math.min(lo, xs[0]);
            hi = Math.max(hi, xs[xs.length - 1]);
        }
    return hi >= lo ? [lo, hi] : otherwise;
}
