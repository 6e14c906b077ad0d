// SPDX-License-Identifier: GPL-2.0-only
// Who disturbs whom (--by beside): how long the IOs of each op take beside each kind of other IOs, and
// how many times as long as beside nothing.
import { partsOf } from "./charts/parts";
import { type PartOp, type PartWatch, type Quantile, type Watch } from "./data";
import { el } from "./dom";
import { count, latency, percent } from "./format";
import { type Line, sources } from "./lines";

const LEVELS: Quantile[] = ["p50", "p99"];
/** This ratio has the strongest colour; a fourth of it has half the strength, as the scale is logarithmic. */
const STRONGEST = 16;

/** "x 3.8", with as many digits as are meaningful. */
function times(ratio: number): string {
    return `×\u00a0${ratio >= 99.5 ? count(Math.round(ratio)) : ratio >= 9.95 ? ratio.toFixed(0) : ratio.toFixed(1)}`;
}

/** How strong a colour is: 0 for the same speed, 1 for STRONGEST; below 0 if it is faster. */
export function strength(ratio: number): number {
    return ratio > 0 ? Math.min(Math.max(Math.log(ratio) / Math.log(STRONGEST), -1), 1) : 0;
}

function level(op: PartOp, base: boolean, key: Quantile): HTMLElement {
    const ratio = op.against?.[key], said = el("div", { class: "level" }, el("span", {}, `${key} ${latency(op.total.latency_ns?.[key])}`),
        ratio !== undefined && el("b", {}, base ? "base" : times(ratio)));
    if (ratio !== undefined && !base) {
        said.classList.add(ratio < 1 ? "faster" : "slower");
        said.style.setProperty("--strength", Math.abs(strength(ratio)).toFixed(3));
    }
    return said;
}

function cell(part: PartWatch, name: string): HTMLElement {
    const op = part.ops.find((o) => o.op === name && o.total.ios > 0);
    if (!op)
        return el("td", { class: "none" }, "–");
    const ios = `${count(op.total.ios)} ${op.total.ios === 1 ? "IO" : "IOs"}`;
    if (op.few)
        return el("td", { class: "few" }, el("div", {}, `${ios}: too few`), el("small", {}, `the slowest ${latency(op.total.latency_ns?.max)}`));
    return el("td", {}, ...LEVELS.map((key) => level(op, op.against?.base === part.part.label, key)), el("small", {}, `${ios}, ${percent(op.of_whole.ios ?? NaN, 1)}`));
}

/** A row for each kind that any IO ran beside, from nothing to the kind that disturbs most. */
function matrix(source: string, { parts = [], ops }: Watch): HTMLElement {
    const used = parts.filter((part) => part.ops.some((op) => op.total.ios > 0)).reverse();
    return el("table", {}, el("caption", {}, `${source}: latency by what the IOs were beside`),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "beside"), ...ops.map(({ op }) => el("th", { scope: "col" }, op)))),
        el("tbody", {}, ...used.map((part) => el("tr", {}, el("th", { scope: "row" }, part.part.label), ...ops.map(({ op }) => cell(part, op))))));
}

/** Says what ratios are relative to, if it is not what one expects. */
function exceptions({ parts = [], ops }: Watch): string {
    const base = (name: string) => parts.flatMap((part) => part.ops).find((op) => op.op === name && op.against)?.against?.base;
    const few = ops.filter(({ op }) => base(op) === undefined).map(({ op }) => op), reads = ops.filter(({ op }) => base(op) === "read").map(({ op }) => op);
    return [
        reads.length ? `Ratios of ${reads.join(", ")} are to IOs beside reads only, as too few were beside nothing.` : "",
        few.length ? `No ratios of ${few.join(", ")}: too few IOs beside nothing, or beside reads only.` : "",
    ].filter(Boolean).join(" ");
}

function key(): HTMLElement {
    return el("span", { class: "heatkey" }, "same as beside nothing ", el("span", { class: "heatbar times" }), ` ${STRONGEST} times or more`);
}

/** A table for each device and stage with a line shown. */
export function besideTables(lines: Line[]): HTMLElement[] {
    return [
        el("p", { class: "hint" }, "Latency of each op, by the strongest kind of IO in flight when it began; × is the ratio to IOs beside nothing. " +
            "With fewer than 100 IOs only the slowest is shown. ", key()),
        ...sources(lines.filter((line) => line.on && partsOf(line).length)).map(({ source, watch }) => {
            const note = exceptions(watch);
            return el("div", { class: "matrix" }, el("h3", { class: "sub" }, source),
                el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Beside, ${source}` }, matrix(source, watch)), note && el("p", { class: "hint" }, note));
        }),
    ];
}
