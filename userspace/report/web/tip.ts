// SPDX-License-Identifier: GPL-2.0-only
// Text beside the cursor about what it points at.
import type uPlot from "uplot";
import { el } from "./dom";
import { inOrder, type Plot, type Series } from "./plot";
import { lineColour, type Theme } from "./theme";

/** A piece of the line, as legends show it. */
export function swatch(series: Pick<Series, "colour" | "dash" | "kind">, theme: Theme): SVGSVGElement {
    const make = (tag: string, attributes: Record<string, string | number>) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(attributes))
            element.setAttribute(name, String(value));
        return element;
    };
    const colour = lineColour(theme, series.colour), svg = make("svg", { class: "swatch", width: 24, height: 10, "aria-hidden": "true" });
    svg.append(series.kind === "dots" ? make("circle", { cx: 12, cy: 5, r: 3, fill: colour }) : make("path", {
        d: "M0 5H24", stroke: colour, "stroke-width": series.kind === "thin" ? 1.5 : 2.5, "stroke-dasharray": series.dash.join(" "),
    }));
    return svg as SVGSVGElement;
}

/** The index of the point nearest to @x; -1 if the series has none there. */
function nearest(series: Series, x: number): number {
    const { xs, ys } = series;
    if (!xs.length || x < xs[0] || x > xs[xs.length - 1])
        return -1;
    let lo = 0, hi = xs.length - 1;
    while (hi - lo > 1) {
        const middle = (lo + hi) >> 1;
        if (xs[middle] <= x)
            lo = middle;
        else
            hi = middle;
    }
    const i = x - xs[lo] <= xs[hi] - x ? lo : hi;
    return ys[i] === null ? -1 : i;
}

function valueAt(plot: Plot, series: Series, i: number): string {
    return series.words?.[i] ?? plot.y.text(series.amounts?.[i] ?? plot.y.value(series.ys[i]!));
}

const REACH = 24;

/** The point nearest to the cursor, in pixels; undefined: none is within reach. */
function pointedAt(u: uPlot, plot: Plot): { series: Series; i: number } | undefined {
    const left = u.cursor.left ?? -1, top = u.cursor.top ?? -1, from = u.posToVal(left - REACH, "x"), to = u.posToVal(left + REACH, "x");
    let found: { series: Series; i: number } | undefined, least = REACH * REACH;
    for (const series of plot.series)
        for (let i = 0; i < series.xs.length; i++) {
            const y = series.ys[i];
            if (y === null || series.xs[i] < from || series.xs[i] > to)
                continue;
            const away = (u.valToPos(series.xs[i], "x") - left) ** 2 + (u.valToPos(y, "y") - top) ** 2;
            if (away <= least) {
                least = away;
                found = { series, i };
            }
        }
    return found;
}

/** Returns the line that the cursor points at; undefined: none is within reach, null: the cursor is not here. */
export function showTip(u: uPlot, host: HTMLElement, plot: Plot, theme: Theme): Series | null | undefined {
    const left = u.cursor.left ?? -1, old = host.querySelector<HTMLElement>(".tip");
    // A cursor from another chart of the group only shows its line.
    if (left < 0 || !u.over.matches(":hover")) {
        old?.remove();
        return null;
    }
    const x = u.posToVal(left, "x"), near = pointedAt(u, plot), told = plot.series.some((series) => series.say) ? near : null;
    if (told === undefined) {
        old?.remove();
        return undefined;
    }
    const rows = told ? told.series.say!(told.i).map((line) => el("li", {}, line)) : inOrder(plot).flatMap((series) => {
        const i = nearest(series, x);
        return i < 0 ? [] : [el("li", { class: series === near?.series ? "near" : undefined }, swatch(series, theme), `${series.name} `, el("b", {}, valueAt(plot, series, i)))];
    });
    const tip = old ?? host.appendChild(el("div", { class: "tip", "aria-hidden": "true" }));
    tip.replaceChildren(...told ? [swatch(told.series, theme), el("strong", {}, ` ${told.series.name}`)] : [el("strong", {}, plot.x.text(plot.x.value(x)))], el("ul", {}, ...rows));
    const right = left > u.over.clientWidth / 2, edge = u.over.offsetLeft + left;
    tip.style.left = right ? "" : `${edge + 14}px`;
    tip.style.right = right ? `${host.clientWidth - edge + 14}px` : "";
    return near?.series;
}
