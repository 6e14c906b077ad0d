// SPDX-License-Identifier: GPL-2.0-only
// A sortable table of owners: what each did, and its share of what the device did.
import { drawnOwners, type OwnerFigure } from "./charts/owners";
import { el, button } from "./dom";
import { bytes, count, duration, ioSize, latency, shareOf, sortedBy } from "./format";
import { type Owner, type Ownership, ownersOf, shortPath } from "./owners";
import type { Theme } from "./theme";
import { swatch } from "./tip";

interface Column {
    head: string;
    /** The key to sort by; null: unknown, which comes last. */
    key: (owner: Owner) => number | string | null;
    text: (owner: Owner) => string;
    /** The figure is a share, which is also drawn. */
    share?: boolean;
}

function share(head: string, of: "ios" | "bytes" | "time"): Column {
    return { head, key: ({ shares }) => shares[of], text: ({ shares }) => shareOf(shares[of] ?? NaN), share: true };
}

const TIME = 1;

/** Time comes first: owners are ranked by it, and a phone has no room for more. */
const COLUMNS: Column[] = [
    { head: "cgroup", key: ({ part }) => part.label, text: ({ name }) => name },
    { head: "time spent", key: ({ time_s }) => time_s, text: ({ time_s }) => duration(time_s) }, share("share of time", "time"),
    { head: "IOs", key: ({ ios }) => ios, text: ({ ios }) => count(ios) }, share("share of IOs", "ios"),
    { head: "bytes", key: (owner) => owner.bytes, text: (owner) => bytes(owner.bytes) }, share("share of bytes", "bytes"),
    { head: "mean size", key: (owner) => owner.bytes / owner.ios, text: (owner) => ioSize(owner.bytes / owner.ios) },
    { head: "p50", key: ({ latency: l }) => l?.p50 ?? null, text: ({ latency: l }) => latency(l?.p50) },
    { head: "p99", key: ({ latency: l, few }) => few ? null : l?.p99 ?? null, text: ({ latency: l, few }) => few ? "too few" : latency(l?.p99) },
    { head: "max", key: ({ latency: l }) => l?.max ?? null, text: ({ latency: l }) => latency(l?.max) },
    { head: "errors", key: ({ errors }) => errors, text: ({ errors }) => count(errors) },
];

const WORDS: Record<string, string> = { none: "nobody is charged for it", rest: "those that --max-parts had no room for" };

export class OwnerTable {
    readonly element: HTMLElement;
    private readonly heads = COLUMNS.map(({ head }, i) => el("th", { scope: "col" }, button(head, () => this.sortBy(i))));
    private readonly body = el("tbody");
    private readonly said = el("p", { class: "hint", role: "status" });
    private by = TIME;
    private up = false;
    private shown: { of: Ownership; figure: OwnerFigure; theme: Theme } | null = null;

    constructor() {
        this.element = el("div", { class: "owners sorts" }, this.said, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Owners" },
            el("table", {}, el("caption", {}, "Owners"), el("thead", {}, el("tr", {}, ...this.heads)), this.body)));
    }

    /** @figure: what the chart beside the table shows; both use the same colours. */
    show(of: Ownership, figure: OwnerFigure, theme: Theme): void {
        this.shown = { of, figure, theme };
        this.fill();
    }

    /** Figures are sorted from the largest, names from the first; a second click reverses the order. */
    private sortBy(column: number): void {
        this.up = column === this.by ? !this.up : column === 0;
        this.by = column;
        this.fill();
    }

    private fill(): void {
        const { of, figure, theme } = this.shown!, drawn = drawnOwners(of, figure), owners = ownersOf(of);
        const colourOf = (owner: Owner) => drawn.find((one) => one.owner.part.label === owner.part.label)?.colour;
        this.heads.forEach((head, i) => head.setAttribute("aria-sort", i !== this.by ? "none" : this.up ? "ascending" : "descending"));
        this.body.replaceChildren(...sortedBy(owners, COLUMNS[this.by].key, this.up).map((owner) => el("tr", {}, this.nameOf(owner, colourOf(owner), theme), ...COLUMNS.slice(1).map((column) => this.cell(column, owner)))));
        this.said.textContent = `${count(owners.length)} ${owners.length === 1 ? "owner" : "owners"} of ${of.name}. Time spent is the sum of the latencies. A click on a heading sorts; ` +
            "the colours are those of the chart.";
    }

    private nameOf({ part, name }: Owner, colour: number | undefined, theme: Theme): HTMLElement {
        const more = WORDS[part.label] ?? (name === part.label ? "" : shortPath(part.label));
        return el("th", { scope: "row", title: part.label }, colour !== undefined && swatch({ colour, dash: [], kind: "line" }, theme), " ", el("bdi", {}, name), more && el("small", {}, el("bdi", {}, more)));
    }

    private cell({ text, key, share: drawn }: Column, owner: Owner): HTMLElement {
        const made = el("td", { class: drawn ? "share" : undefined }, text(owner));
        if (drawn)
            made.style.setProperty("--share", Number(key(owner) ?? 0).toFixed(4));
        return made;
    }
}
