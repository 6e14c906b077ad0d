// SPDX-License-Identifier: GPL-2.0-only
// A sortable table of owners: what each did, and its share of what the device did.
import { drawnOwners, type OwnerFigure } from "./charts/owners";
import { byWords } from "./charts/parts";
import { el, table } from "./dom";
import { bytes, count, duration, ioSize, latency, shareOf } from "./format";
import { type Owner, type Ownership, ownersOf, shortPath } from "./owners";
import { type Order, sortable } from "./sortable";
import type { Theme } from "./theme";
import { swatch } from "./tip";

/** The first is named after the division. Time comes first: owners are ranked by it, and a phone has no room for more. Shares are also drawn. */
const COLUMNS: { head: string; text: (owner: Owner) => string; share?: "ios" | "bytes" | "time" }[] = [
    { head: "", text: () => "" },
    { head: "time spent", text: ({ time_s }) => duration(time_s) }, { head: "share of time", text: ({ shares }) => shareOf(shares.time ?? NaN), share: "time" },
    { head: "IOs", text: ({ ios }) => count(ios) }, { head: "share of IOs", text: ({ shares }) => shareOf(shares.ios ?? NaN), share: "ios" },
    { head: "bytes", text: (owner) => bytes(owner.bytes) }, { head: "share of bytes", text: ({ shares }) => shareOf(shares.bytes ?? NaN), share: "bytes" },
    { head: "mean size", text: (owner) => ioSize(owner.bytes / owner.ios) }, { head: "p50", text: ({ latency: l }) => latency(l?.p50) },
    { head: "p99", text: ({ latency: l, few }) => few ? "too few" : latency(l?.p99) }, { head: "max", text: ({ latency: l }) => latency(l?.max) },
    { head: "errors", text: ({ errors }) => count(errors) },
];

/** By the time that they spent. */
export const OWNERS_FIRST: Order = { by: 1, up: false };

const WORDS: Record<string, string> = { none: "nobody is charged for it", rest: "those that --max-parts had no room for", kworker: "workers of the kernel, as for write-back" };

function nameOf({ part, name }: Owner, colour: number | undefined, theme: Theme): (Node | string)[] {
    const more = WORDS[part.label] ?? (name === part.label ? "" : shortPath(part.label));
    return [...colour === undefined ? [] : [swatch({ colour, dash: [], kind: "line" }, theme)], " ", el("bdi", {}, name), ...more ? [el("small", {}, el("bdi", {}, more))] : []];
}

/** @figure: what the chart beside the table shows; both use the same colours. */
export function ownerTable(of: Ownership, figure: OwnerFigure, theme: Theme, order: Order): HTMLElement {
    const drawn = drawnOwners(of, figure), owners = ownersOf(of), made = table("Owners", COLUMNS.map(({ head }) => head || byWords(of.line.watch.parts![0].part)), owners.map((owner) => COLUMNS.map(({ text }) => text(owner))));
    owners.forEach((owner, i) => {
        const { cells } = made.tBodies[0].rows[i];
        cells[0].title = owner.part.label;
        cells[0].replaceChildren(...nameOf(owner, drawn.find((one) => one.owner.part.label === owner.part.label)?.colour, theme));
        COLUMNS.forEach(({ share }, c) => {
            cells[c].classList.toggle("share", Boolean(share));
            cells[c].style.setProperty("--share", share ? (owner.shares[share] ?? 0).toFixed(4) : null);
        });
    });
    return el("div", { class: "owners" }, el("p", { class: "hint", role: "status" }, `${count(owners.length)} ${owners.length === 1 ? "owner" : "owners"} of ${of.name}. ` +
        "Time spent is the sum of the latencies. A click on a heading sorts; the colours are those of the chart."),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Owners" }, sortable(made, order)));
}
