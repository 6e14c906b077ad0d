// SPDX-License-Identifier: GPL-2.0-only
// Slow IOs as a table that sorts, and what they have in common.
import { COLUMNS, type LineSlow, slowOf, sorted } from "./charts/slow";
import type { Window } from "./charts/times";
import type { Common, Watch } from "./data";
import { button, el, table } from "./dom";
import { count, ioSize, percent } from "./format";
import type { Line } from "./lines";

/** Rows that are there at first, and how many more a click adds. */
const ROWS = 100;
const LATENCY = COLUMNS.findIndex(({ head }) => head === "latency");

const RESPECTS: Record<string, string> = { bytes: "size", comm: "sent by", hw_queue: "hardware queue", region: "part of the device" };

function commonRow({ by, value, ios, of, share_of_all, p }: Common): string[] {
    return [
        RESPECTS[by] ?? by, by === "bytes" ? ioSize(Number(value)) : value, `${percent(ios / of)} of ${count(of)}`,
        share_of_all === null ? "not counted" : percent(share_of_all), p === null ? "–" : p < 1e-4 ? "< 0.0001" : p.toFixed(4),
    ];
}

/** What those of each device and stage have in common. */
export function slowCommon(lines: Line[]): HTMLElement[] {
    const watches = lines.filter((line, i) => line.watch.slow?.common.length && lines.findIndex(({ watch }) => watch === line.watch) === i);
    return [...watches.length ? [el("h3", { class: "sub" }, "What they have in common")] : [], ...watches.map(({ source, watch }) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `In common, ${source}` },
        table(`What the slow IOs of ${source} have in common`, ["", "most telling value", "of the slow ones", "of all IOs", "p, by chance"],
            watch.slow!.common.map(commonRow))))];
}

export class SlowTable {
    readonly element = el("div", { class: "slow" });
    /** Of which something is known of any. */
    private readonly columns: number[];
    private readonly head: HTMLButtonElement[];
    private readonly body = el("tbody");
    private readonly said = el("p", { class: "hint", role: "status" });
    private readonly more = button("", () => {
        this.rows += 10 * ROWS;
        this.fill();
    });
    private by = LATENCY;
    private up = false;
    private rows = ROWS;
    private all: LineSlow[] = [];

    constructor(private readonly lines: Line[]) {
        const all = lines.flatMap(({ watch, op }) => (watch.slow?.ios ?? []).filter((io) => io.op === op.op));
        this.columns = COLUMNS.map((_, i) => i).filter((i) => all.some((io) => COLUMNS[i].key(io) !== null));
        this.head = this.columns.map((i) => button(COLUMNS[i].head, () => this.sortBy(i)));
        this.element.append(el("h3", { class: "sub" }, "One by one"), this.said, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Slow IOs" },
            el("table", {}, el("caption", {}, "Slow IOs"), el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "line"),
                ...this.head.map((name, i) => el("th", { scope: "col", class: this.side(i) }, name)))), this.body)), this.more);
    }

    private side(i: number): string | undefined {
        return COLUMNS[this.columns[i]].left ? "left" : undefined;
    }

    /** Of the lines that are shown now. */
    show(window: Window): void {
        this.all = slowOf(this.lines, window);
        this.rows = ROWS;
        this.fill();
    }

    /** Numbers begin with the largest, texts and times with the first; once more turns it round. */
    private sortBy(column: number): void {
        const { head, left } = COLUMNS[column];
        this.up = column === this.by ? !this.up : left || head === "time";
        this.by = column;
        this.rows = ROWS;
        this.fill();
    }

    private fill(): void {
        const shown = sorted(this.all, this.by, this.up).slice(0, this.rows), rest = this.all.length - shown.length;
        this.head.forEach((name, i) => name.parentElement!.setAttribute("aria-sort", this.columns[i] !== this.by ? "none" : this.up ? "ascending" : "descending"));
        this.body.replaceChildren(...shown.map(({ line, io }) => el("tr", { class: io.error === null ? undefined : "bad" },
            el("th", { scope: "row" }, line.name), ...this.columns.map((column, i) => el("td", { class: this.side(i) }, COLUMNS[column].text(io))))));
        this.said.textContent = this.words();
        this.more.hidden = rest === 0;
        this.more.textContent = `Show ${count(Math.min(rest, 10 * ROWS))} more of ${count(this.all.length)}`;
    }

    /** How many there were in all: a recording keeps some of each interval, a report some of those. */
    private words(): string {
        const watches = new Set<Watch>(this.lines.map(({ watch }) => watch)), sum = (of: (watch: Watch) => number) => [...watches].reduce((n, watch) => n + of(watch), 0);
        const found = sum((watch) => watch.slow?.found ?? 0), kept = sum((watch) => watch.slow?.ios.length ?? 0);
        return `${count(this.all.length)} shown here${found > kept ? `; of ${count(found)} that were found the report has ${count(kept)}: those that failed, and the slowest` : ""}. A click on a heading sorts.`;
    }
}
