// SPDX-License-Identifier: GPL-2.0-only
// IOs by queue depth when they began: the device's latency under load, and what it did at each depth.
import { type Axis, categories, latencyAxis, linear, tickAmount } from "../axes";
import type { AllOps, PartWatch } from "../data";
import { amount, count, latency, percent, shareOf } from "../format";
import { type Line, sources } from "../lines";
import { fromZero, padded, type Plot, type Series, type Span } from "../plot";
import { LEVELS } from "./phases";
import { byWords, consecutive, type LinePart, partsOf } from "./parts";

/** The share of a column's width that a level takes on either side of the middle. */
const HALF = 0.42;
/** The same if columns join, as places have to ascend. */
const WHOLE = 0.5 - 1e-9;

function shownOf(lines: Line[]): Line[] {
    return lines.filter((line) => line.on && partsOf(line).length);
}

function byDepth(labels: string[], y: Axis): Pick<Plot, "x" | "y" | "levels" | "spots" | "marks" | "cells" | "xSpan"> {
    return {
        x: categories(byWords({ by: "depth", label: "" }), labels), y, levels: [], spots: [], marks: [], cells: null,
        xSpan: [-0.5, Math.max(labels.length, 1) - 0.5],
    };
}

/** The part for each label, or undefined. */
function columns(line: Line, labels: string[]): (LinePart | undefined)[] {
    const parts = new Map(partsOf(line).map((one) => [one.part.label, one]));
    return labels.map((label) => parts.get(label));
}

/**
 * p50 and p99 at each depth. A point with few IOs is a dot apart from the line, since its p99 is little
 * more than its slowest IO.
 */
export function latencyByDepth(lines: Line[]): Plot {
    const shown = shownOf(lines), labels = consecutive(shown);
    const all = shown.flatMap((line) => LEVELS.map(({ key, dash }) => {
        const parts = columns(line, labels), place = (few: boolean) => parts.map((one) => one && Boolean(one.op.few) === few ? latencyAxis.place(one.op.total.latency_ns![key]) : null);
        return { line, key, dash, sure: place(false), few: place(true) };
    }));
    const xs = labels.map((_, i) => i), is = (y: number | null): y is number => y !== null;
    return {
        ...byDepth(labels, latencyAxis), title: "Latency by IOs in flight",
        hint: "p50 and p99, by how many IOs were in the stage when an IO began, itself included. Where p50 climbs as fast as the depth, " +
            "more IOs in flight only wait longer. Small dots: fewer than 100 IOs.",
        series: all.flatMap(({ line, key, dash, sure, few }): Series[] => {
            const look = { note: "", colour: line.look.colour, own: true, xs }, name = `${line.name}, ${key}`;
            return [
                ...sure.some(is) ? [{ ...look, name, note: `${latency(line.op.total.latency_ns?.[key])} of all`, kind: "line" as const, dash, ys: sure, tag: name }] : [],
                ...few.some(is) ? [{ ...look, name: `${name}, few IOs`, kind: "dots" as const, dash: [], ys: few }] : [],
            ];
        }),
        spots: all.flatMap(({ line, sure }) => sure.flatMap((y, x) => y === null ? [] : [{ x, y, colour: line.look.colour, text: "" }])),
        ySpan: (lo, hi): Span => hi >= lo ? padded([lo, hi], 0.08, 0.14) : [3, 6],
        table: () => ({
            head: ["line", "IOs in flight", "IOs", "share of IOs", "IOPS mean", ...LEVELS.map(({ key }) => key)],
            rows: shown.flatMap((line) => partsOf(line).map(({ part, op }) => [line.name, part.label, count(op.total.ios), shareOf(op.of_whole.ios ?? NaN),
                amount(op.total.iops), latency(op.total.latency_ns?.p50), op.few ? "too few IOs" : latency(op.total.latency_ns?.p99)])),
        }),
    };
}

/** A level in each column, at 0 if it has no value. */
function steps(values: number[]): Pick<Series, "xs" | "ys"> {
    return { xs: values.flatMap((_, at) => [at - WHOLE, at + WHOLE]), ys: values.flatMap((value) => [value, value]) };
}

/** How much of the load was at each depth. */
export function iopsByDepth(lines: Line[]): Plot {
    const shown = shownOf(lines), labels = consecutive(shown);
    const mostly = (line: Line) => {
        const top = partsOf(line).reduce((most, one) => one.op.total.ios > most.op.total.ios ? one : most);
        return `${percent(top.op.of_whole.ios ?? NaN, 1)} at ${top.part.label}`;
    };
    return {
        ...byDepth(labels, linear("IOPS", tickAmount, (v) => amount(v))), title: "IOPS by IOs in flight",
        hint: "IOs a second that began at each depth: how much of the load it had.",
        series: shown.map((line): Series => ({
            name: line.name, note: mostly(line), kind: "line", fill: true, ...line.look, dash: [], ...steps(columns(line, labels).map((one) => one?.op.total.iops ?? 0)) })),
        ySpan: fromZero,
        table: () => ({
            head: ["IOs in flight", ...shown.map(({ name }) => name)],
            rows: labels.map((label, at) => [label, ...shown.map((line) => amount(columns(line, labels)[at]?.op.total.iops ?? 0))]),
        }),
    };
}

type Known = PartWatch & { all_ops: AllOps };

function littleOf({ watch }: Line): Known[] {
    return (watch.parts ?? []).filter((part): part is Known => Boolean(part.all_ops?.by_little && !part.all_ops.few));
}

function middle({ all_ops: { by_little: b } }: Known): number {
    return (b!.iops_least + (b!.iops_most ?? b!.iops_least)) / 2;
}

function span(least: number, most: number | null, words: (value: number) => string): string {
    return most === null ? `${words(least)} and more` : least === most ? words(least) : `${words(least)} to ${words(most)}`;
}

/** The rate by Little's law, for each device and stage over all ops. */
export function doneByDepth(lines: Line[]): Plot {
    const shown = sources(lines).filter((line) => littleOf(line).length), labels = consecutive(shownOf(lines));
    const at = (part: Known) => labels.indexOf(part.part.label);
    const most = (line: Line) => littleOf(line).reduce((best, part) => part.all_ops.by_little!.iops_least > best.all_ops.by_little!.iops_least ? part : best);
    return {
        ...byDepth(labels, linear("IOPS", tickAmount, (v) => amount(v))), title: "What the device does, by IOs in flight",
        hint: "By Little's law: the depth over the mean latency of the IOs that began at it, all ops together, for the least and the greatest depth of a column. It holds as long as the depth " +
            "stays the same while they last. Where it levels off, the device is at its limit.",
        levels: shown.flatMap((line) => littleOf(line).map((part) => {
            const { iops_least: lo, iops_most: hi } = part.all_ops.by_little!, x = at(part);
            return { y: middle(part), band: [lo, hi ?? lo] as Span, faint: false, x: [x - HALF, x + HALF] as Span, colour: line.sourceLook.colour };
        })),
        series: shown.map((line): Series => ({
            name: line.source, note: `most at ${most(line).part.label}: ${span(most(line).all_ops.by_little!.iops_least, most(line).all_ops.by_little!.iops_most, amount)} IOPS`,
            kind: "dots", ...line.sourceLook, own: true, xs: littleOf(line).map(at), ys: littleOf(line).map(middle),
            words: littleOf(line).map(({ all_ops: { by_little: b } }) => `${span(b!.iops_least, b!.iops_most, amount)} IOPS`),
        })),
        // Bands extend further than the points.
        ySpan: () => fromZero(0, Math.max(0, ...shown.flatMap((line) => littleOf(line).map(({ all_ops: { by_little: b } }) => b!.iops_most ?? b!.iops_least)))),
        table: () => ({
            head: ["device", "IOs in flight", "mean latency", "IOPS", "MB/s"],
            rows: shown.flatMap((line) => littleOf(line).map(({ part, all_ops: { latency_ns, by_little: b } }) => [line.source, part.label, latency(latency_ns.mean),
                span(b!.iops_least, b!.iops_most, amount), span(b!.bytes_per_s_least / 1e6, b!.bytes_per_s_most === null ? null : b!.bytes_per_s_most / 1e6, amount)])),
        }),
    };
}
