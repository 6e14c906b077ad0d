// SPDX-License-Identifier: GPL-2.0-only
// Axes. Charts are drawn in "places": a place is what an axis makes of a value (its logarithm, for
// example), so that screen and SVG share one linear arithmetic and one set of ticks.
import * as format from "./format";
import { nines } from "./curves";
import { upperBound } from "./grid";

/** A tick without text is a faint line. */
export interface Tick { at: number; text: string }

export interface Axis {
    label: string;
    /** On a time axis a line's name is at its end, on any other axis at its peak. */
    overTime?: boolean;
    place(value: number): number;
    value(place: number): number;
    /** The ticks within [lo, hi]; @room: how many texts fit. */
    ticks(lo: number, hi: number, room: number): Tick[];
    /** A value as text, as the cursor shows it. */
    text(value: number): string;
}

/** @digits: the digits needed to distinguish close ticks; three by default. */
type Words = (value: number, digits?: number) => string;

/** 1000 -> "1 us", not "1.00 us": the values at ticks are round. */
export function tickLatency(ns: number, digits = 3): string {
    const [size, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
    return `${Number((ns / size).toPrecision(digits))} ${name}`;
}

export function tickAmount(value: number, digits = 3): string {
    const [size, letter] = value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : value >= 1e3 ? [1e3, "k"] : [1, ""];
    return `${Number((value / size).toPrecision(digits))}${letter}`;
}

/**
 * How many decades lie between texts, and which digits have texts: as dense as there is room for, or
 * denser if there would be only one text, since one alone does not show the scale.
 */
function logTexts(decades: number, room: number): [number, number[]][] {
    if (decades * 3 <= room)
        return [[1, decades * 22 <= room ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades * 7 <= room ? [1, 2, 3, 5, 7] : [1, 2, 5]]];
    const every = Math.max(1, Math.ceil(decades / room));
    return [...Array.from({ length: every }, (_, i): [number, number[]] => [every - i, [1]]), [1, [1, 3]]];
}

function logTicks(lo: number, hi: number, room: number, words: Words): Tick[] {
    for (const [every, digits] of logTexts(hi - lo, room)) {
        const ticks: Tick[] = [];
        for (let decade = Math.floor(lo); decade <= hi; decade++)
            for (let digit = 1; digit < 10; digit++) {
                const at = decade + Math.log10(digit);
                if (at < lo - 1e-9 || at > hi + 1e-9)
                    continue;
                const shown = digits.includes(digit) && (digit > 1 || decade % every === 0);
                if (shown || hi - lo < 12)
                    ticks.push({ at, text: shown ? words(digit * 10 ** decade) : "" });
            }
        if (ticks.filter((tick) => tick.text).length >= 2)
            return ticks;
    }
    // If the zoom shows less than one digit of a decade, there is no such tick: fall back to round values.
    return linearTicks(10 ** lo, 10 ** hi, room, words).map((tick) => ({ at: Math.log10(tick.at), text: tick.text }));
}

/** 1, 2 or 5 times a power of ten. */
function step(span: number, room: number): number {
    const rough = span / Math.max(1, room), power = 10 ** Math.floor(Math.log10(rough));
    return power * ([1, 2, 5, 10].find((digit) => digit * power >= rough * (1 - 1e-9)) ?? 10);
}

function linearTicks(lo: number, hi: number, room: number, words: Words): Tick[] {
    if (!(hi > lo))
        return [{ at: lo, text: words(lo) }];
    const by = step(hi - lo, room), ticks: Tick[] = [];
    // Enough digits to reach from the largest value down to the step.
    const digits = Math.max(3, Math.floor(Math.log10(Math.max(Math.abs(lo), Math.abs(hi)) * (1 + 1e-9))) - Math.floor(Math.log10(by * (1 + 1e-9))) + 1);
    for (let i = Math.ceil(lo / by - 1e-9); i * by <= hi + by * 1e-9; i++)
        ticks.push({ at: i * by, text: words(Number((i * by).toPrecision(12)), Math.min(digits, 12)) });
    // A single tick does not show the scale.
    return ticks.length < 2 && room < 10 ? linearTicks(lo, hi, 2 * room, words) : ticks;
}

export function linear(label: string, words: Words, text: Words = words): Axis {
    return {
        label, text, place: (value) => value, value: (place) => place,
        ticks: (lo, hi, room) => linearTicks(lo, hi, room, words),
    };
}

export function log(label: string, words: Words, text: Words = words): Axis {
    return {
        label, text, place: Math.log10, value: (place) => 10 ** place,
        ticks: (lo, hi, room) => logTicks(lo, hi, room, words),
    };
}

/**
 * A logarithmic axis with a separate row for 0 below the lowest decade in use, since seconds without IO
 * are data, too. @lowest: the smallest value above 0.
 */
export function logWithZero(label: string, lowest: number, words: Words, text: Words): Axis {
    const bottom = Math.floor(Math.log10(lowest) + 1e-9), zero = bottom - 0.5;
    return {
        label, text,
        place: (value) => value > 0 ? Math.max(Math.log10(value), bottom) : zero,
        value: (place) => place < bottom - 0.25 ? 0 : 10 ** place,
        ticks: (lo, hi, room) => [
            ...lo <= zero ? [{ at: zero, text: "0" }] : [],
            ...logTicks(Math.max(lo, bottom), hi, room, words),
        ],
    };
}

export const latencyAxis = log("latency", tickLatency, format.latency);

/** The places of a cell's bounds on it. */
export function rowOf(scale: number, cell: number): { y0: number; y1: number } {
    return { y0: latencyAxis.place(upperBound(scale, cell - 1)), y1: latencyAxis.place(upperBound(scale, cell)) };
}

/** Seconds since the start of the run. */
export const timeAxis: Axis = { ...linear("time since the run's begin (s)", (s) => `${s}`, format.seconds), overTime: true };

/** 90 % at 1, 99 % at 2 ...; with faint lines between two nines. */
export const ninesAxis: Axis = {
    label: "share of IOs (%)",
    place: nines,
    value: (place) => 1 - 10 ** -place,
    text: (share) => format.percent(share, 6),
    ticks(lo, hi) {
        const ticks: Tick[] = [];
        for (let nine = Math.floor(lo); nine <= hi; nine++)
            for (let digit = 1; digit < 10; digit++) {
                const at = nine - Math.log10(1 - (digit - 1) / 10);
                if (at >= lo - 1e-9 && at <= hi + 1e-9)
                    ticks.push({ at, text: digit === 1 ? `${Number((100 * (1 - 10 ** -nine)).toFixed(8))}` : "" });
            }
        return ticks;
    },
};

export const shareAxis = linear("share of IOs (%)", (share) => `${Number((share * 100).toPrecision(6))}`, (share) => format.percent(share, 3));

/** Columns with names; the place of a column is its number. @full: longer names, used if there is room. */
export function categories(label: string, names: string[], full = names): Axis {
    const text = (place: number) => full[Math.min(Math.max(Math.round(place), 0), names.length - 1)] ?? "";
    return {
        label, text, place: (value) => value, value: (place) => place,
        ticks(lo, hi, room) {
            const every = Math.max(1, Math.ceil(names.length / room));
            return names.map((name, at): Tick => ({ at, text: at % every ? "" : name })).filter(({ at }) => at >= lo && at <= hi);
        },
    };
}

/** The same axis with another label. */
export function named(axis: Axis, label: string): Axis {
    return { ...axis, label };
}
