// SPDX-License-Identifier: GPL-2.0-only
// What both the screen and the SVG draw around the series: grid, heat, bands, levels, marks, names.
import type { Tick } from "./axes";
import type { Plot, Series, Span } from "./plot";
import { heatColour, lineColour, type Theme } from "./theme";

export interface Box { x: number; y: number; w: number; h: number }
export interface Pen { colour: string; width: number; dash?: number[]; alpha?: number }
export interface Words { colour: string; size?: number; anchor?: "start" | "middle" | "end"; bold?: boolean }

/** Draws in CSS pixels. A text's y is its baseline; it gets an outline in the paper's colour if that helps. */
export interface Brush {
    line(points: [number, number][], pen: Pen): void;
    boxes(boxes: Box[], colour: string, alpha: number): void;
    dot(x: number, y: number, radius: number, colour: string, rim: string): void;
    text(x: number, y: number, text: string, words: Words, rim?: string): void;
}

export interface Frame {
    box: Box;
    span: { x: Span; y: Span };
    ticks: { x: Tick[]; y: Tick[] };
    theme: Theme;
    /** The colours of lines that stand out, and have their names beside them. */
    lifted?: Set<number> | null;
}

const HEAT_LEVELS = 32;
const ROW = 14;
/** The share of a chart's width that a mark's text may take. */
const MARK_SHARE = 0.4;
/** With more names than this, nobody would read them. */
const TAGS = 6;

export function scaleX(frame: Frame): (place: number) => number {
    const [lo, hi] = frame.span.x;
    return (place) => frame.box.x + (place - lo) / (hi - lo) * frame.box.w;
}

export function scaleY(frame: Frame): (place: number) => number {
    const [lo, hi] = frame.span.y;
    return (place) => frame.box.y + (hi - place) / (hi - lo) * frame.box.h;
}

/** Space to the right of a chart, for half of its last text. */
const MARGIN = 20;

/** Drops texts that would overlap the previous one or leave the chart; the tick's line stays. */
function apart(ticks: Tick[], [lo, hi]: Span, width: number): Tick[] {
    let free = -Infinity;
    return [...ticks].sort((a, b) => a.at - b.at).map((tick) => {
        const middle = (tick.at - lo) / (hi - lo) * width, half = widthOf(tick.text) / 2;
        if (!tick.text || middle - half < free || middle + half > width + MARGIN)
            return { at: tick.at, text: "" };
        free = middle + half;
        return tick;
    });
}

/** The ticks along x and y for which texts have room. */
export function ticksOf(plot: Plot, span: { x: Span; y: Span }, width: number, height: number): { x: Tick[]; y: Tick[] } {
    return {
        x: apart(plot.x.ticks(...span.x, Math.max(2, Math.floor(width / 75))), span.x, width),
        y: plot.y.ticks(...span.y, Math.max(2, Math.floor(height / 38))),
    };
}

function grid(brush: Brush, frame: Frame): void {
    const { box, theme } = frame, x = scaleX(frame), y = scaleY(frame);
    const colour = (tick: Tick) => tick.text ? theme.grid : theme.faint;
    for (const texts of [false, true]) {
        for (const tick of frame.ticks.x.filter((t) => Boolean(t.text) === texts))
            brush.line([[x(tick.at), box.y], [x(tick.at), box.y + box.h]], { colour: colour(tick), width: 1 });
        for (const tick of frame.ticks.y.filter((t) => Boolean(t.text) === texts))
            brush.line([[box.x, y(tick.at)], [box.x + box.w, y(tick.at)]], { colour: colour(tick), width: 1 });
    }
}

function heat(brush: Brush, plot: Plot, frame: Frame): void {
    const x = scaleX(frame), y = scaleY(frame), { box } = frame, levels: Box[][] = [];
    for (const cell of plot.cells?.boxes ?? []) {
        const left = Math.max(x(cell.x0), box.x), right = Math.min(x(cell.x1), box.x + box.w);
        const top = Math.max(y(cell.y1), box.y), bottom = Math.min(y(cell.y0), box.y + box.h);
        if (right > left && bottom > top)
            (levels[Math.round(cell.rank * (HEAT_LEVELS - 1))] ??= []).push({ x: left, y: top, w: Math.max(right - left, 0.6), h: bottom - top });
    }
    levels.forEach((boxes, level) => brush.boxes(boxes, heatColour(frame.theme, level / (HEAT_LEVELS - 1)), 1));
}

/** Below the series. */
export function paintUnder(brush: Brush, plot: Plot, frame: Frame): void {
    const x = scaleX(frame), y = scaleY(frame), { box } = frame;
    grid(brush, frame);
    heat(brush, plot, frame);
    for (const { band, faint, x: [from, to], colour } of plot.levels) {
        const left = Math.max(x(from), box.x), right = Math.min(x(to), box.x + box.w);
        const top = Math.max(y(band[1]), box.y), bottom = Math.min(y(band[0]), box.y + box.h);
        if (right > left && bottom > top)
            brush.boxes([{ x: left, y: top, w: right - left, h: bottom - top }], lineColour(frame.theme, colour), faint ? 0.08 : 0.16);
    }
}

function widthOf(text: string): number {
    return text.length * 6.4 + 6;
}

/** The places taken by texts; a text that finds no place is left out. */
class Room {
    private taken: Box[] = [];

    constructor(private readonly box: Box) {}

    /** Tries the rows from y on, @step apart; x is the middle of the text. Returns its place. */
    find(x: number, y: number, text: string, step: number, tries: number): { x: number; y: number } | null {
        const w = widthOf(text), left = Math.min(Math.max(x - w / 2, this.box.x + 2), this.box.x + this.box.w - w - 2);
        if (left < this.box.x)
            return null;
        for (let i = 0; i < tries; i++, y += step) {
            const at = { x: left, y: y - 11, w, h: ROW };
            const free = at.y >= this.box.y && y <= this.box.y + this.box.h - 2 && !this.taken.some((other) =>
                other.x < at.x + at.w && at.x < other.x + other.w && other.y < at.y + at.h && at.y < other.y + other.h);
            if (!free)
                continue;
            this.taken.push(at);
            return { x: left + w / 2, y };
        }
        return null;
    }
}

/** A mark's text is beside its line and is cut if it is too long; the table of marks has all of it. */
function marks(brush: Brush, plot: Plot, frame: Frame, room: Room): void {
    const x = scaleX(frame), { box, theme } = frame;
    for (const mark of plot.marks) {
        const at = x(mark.x);
        if (at < box.x - 0.5 || at > box.x + box.w + 0.5)
            continue;
        brush.line([[at, box.y], [at, box.y + box.h]], { colour: theme.soft, width: 1, dash: [4, 3] });
        const most = Math.max(8, Math.floor(box.w * MARK_SHARE / 6.4));
        const text = mark.text.length > most ? `${mark.text.slice(0, most - 1).trimEnd()}…` : mark.text;
        const side = at + widthOf(text) > box.x + box.w ? -1 : 1;
        const place = room.find(at + side * widthOf(text) / 2, box.y + 12, text, ROW, 3);
        if (place)
            brush.text(place.x - side * (widthOf(text) / 2 - 4), place.y, text,
                { colour: theme.soft, anchor: side > 0 ? "start" : "end" }, theme.paper);
    }
}

function textOf({ tag, name }: Series): string {
    return tag || name;
}

/** Names are at a line's peak, on a time axis at its end. All are drawn, or none if one finds no room. */
function tags(brush: Brush, plot: Plot, frame: Frame, room: Room): void {
    const x = scaleX(frame), y = scaleY(frame), [from, to] = frame.span.x, up = plot.series.filter(({ colour, own }) => !own && frame.lifted?.has(colour));
    const tagged = up.length ? up : plot.series.filter((series) => series.tag);
    if (tagged.length > TAGS || (tagged.length < 2 && !up.length))
        return;
    const texts: [{ x: number; y: number }, Series][] = [];
    for (const series of tagged) {
        let best = -1;
        for (let i = 0; i < series.xs.length; i++)
            if (series.ys[i] !== null && series.xs[i] >= from && series.xs[i] <= to &&
                (best < 0 || plot.x.overTime || series.ys[i]! > series.ys[best]!))
                best = i;
        if (best < 0)
            continue;
        const at: [number, number] = [x(series.xs[best]), y(series.ys[best]!)];
        const place = room.find(at[0], at[1] - 6, textOf(series), -ROW, 4) ?? (up.length ? room.find(at[0], at[1] + 16, textOf(series), ROW, 4) : null);
        if (!place)
            return;
        texts.push([place, series]);
    }
    for (const [place, series] of texts)
        brush.text(place.x, place.y, textOf(series), { colour: lineColour(frame.theme, series.colour), anchor: "middle", bold: true }, frame.theme.paper);
}

/** Above the series. */
export function paintOver(brush: Brush, plot: Plot, frame: Frame): void {
    const x = scaleX(frame), y = scaleY(frame), { box, theme } = frame, room = new Room(box);
    for (const { y: level, x: [from, to], colour } of plot.levels) {
        const left = Math.max(x(from), box.x), right = Math.min(x(to), box.x + box.w), at = y(level);
        if (right > left && at >= box.y && at <= box.y + box.h)
            brush.line([[left, at], [right, at]], { colour: lineColour(theme, colour), width: 1.5 });
    }
    marks(brush, plot, frame, room);
    for (const [i, spot] of plot.spots.entries()) {
        const at: [number, number] = [x(spot.x), y(spot.y)], next = plot.spots[i + 1];
        if (at[0] < box.x || at[0] > box.x + box.w || at[1] < box.y || at[1] > box.y + box.h)
            continue;
        brush.dot(...at, 4.5, lineColour(theme, spot.colour), theme.ink);
        // Above the point, or to its left if the line to the next one goes up.
        const steep = next !== undefined && y(next.y) < at[1] && Math.abs(x(next.x) - at[0]) < widthOf(spot.text) / 2;
        const left = spot.text && steep && room.find(at[0] - widthOf(spot.text) / 2 - 4, at[1] - 5, spot.text, ROW, 1);
        const place = left || (spot.text && room.find(at[0], at[1] - 9, spot.text, -ROW, 3));
        if (place)
            brush.text(place.x, place.y, spot.text, { colour: theme.ink, anchor: "middle" }, theme.paper);
    }
    tags(brush, plot, frame, room);
}

/** A brush for a canvas whose unit is a CSS pixel. */
export function canvasBrush(ctx: CanvasRenderingContext2D, font: string): Brush {
    return {
        line(points, pen) {
            ctx.strokeStyle = pen.colour;
            ctx.lineWidth = pen.width;
            ctx.setLineDash(pen.dash ?? []);
            ctx.beginPath();
            points.forEach(([x, y], i) => i ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
            ctx.stroke();
            ctx.setLineDash([]);
        },
        boxes(boxes, colour, alpha) {
            ctx.fillStyle = colour;
            ctx.globalAlpha = alpha;
            for (const { x, y, w, h } of boxes)
                ctx.fillRect(x, y, w + (alpha === 1 ? 0.4 : 0), h + (alpha === 1 ? 0.4 : 0));
            ctx.globalAlpha = 1;
        },
        dot(x, y, radius, colour, rim) {
            ctx.beginPath();
            ctx.arc(x, y, radius, 0, 2 * Math.PI);
            ctx.fillStyle = colour;
            ctx.fill();
            ctx.strokeStyle = rim;
            ctx.lineWidth = 1.5;
            ctx.stroke();
        },
        text(x, y, text, words, rim) {
            ctx.font = `${words.bold ? "600 " : ""}${words.size ?? 11}px ${font}`;
            ctx.textAlign = words.anchor === "middle" ? "center" : words.anchor ?? "start";
            ctx.textBaseline = "alphabetic";
            if (rim) {
                ctx.strokeStyle = rim;
                ctx.lineWidth = 3;
                ctx.lineJoin = "round";
                ctx.strokeText(text, x, y);
            }
            ctx.fillStyle = words.colour;
            ctx.fillText(text, x, y);
        },
    };
}
