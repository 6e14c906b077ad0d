// SPDX-License-Identifier: GPL-2.0-only
// A sortable table of slow IOs, and what they have in common.
import { COLUMNS, type LineSlow, sinceStart, slowOf, sorted } from "./charts/slow";
import type { Window } from "./charts/times";
import type { Common, Watch } from "./data";
import { button, el, table } from "./dom";
import { count, ioSize, percent } from "./format";
import { firstOf, type Line } from "./lines";
import { type Order, sorters } from "./sortable";

/** The number of rows shown at first, and how many more a click adds. */
const ROWS = 100;
const TIME = 0, LATENCY = 1;

const RESPECTS: Record<string, string> = { bytes: "size", comm: "sent by", hw_queue: "hardware queue", region: "part of the device" };

function commonRow({ by, value, ios, of, share_of_all, p }: Common): string[] {
    return [
        RESPECTS[by] ?? by, by === "bytes" ? ioSize(Number(value)) : value, `${percent(ios / of)} of ${count(of)}`,
        share_of_all === null ? "not counted" : percent(share_of_all), p === null ? "–" : p < 1e-4 ? "< 0.0001" : p.toFixed(4),
    ];
}

/** What the slow IOs of each device and stage have in common; first of the one that something is wrong with. */
export function slowCommon(lines: Line[]): HTMLElement[] {
    const first = firstOf(lines)?.watch, own = lines.filter((line, i) => line.watch.slow?.common.length && lines.findIndex(({ watch }) => watch === line.watch) === i);
    const watches = [...own.filter(({ watch }) => watch === first), ...own.filter(({ watch }) => watch !== first)];
    return [...watches.length ? [el("h3", { class: "sub" }, "What they have in common")] : [], ...watches.map(({ source, watch }) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `In common, ${source}` },
        table(`What the slow IOs of ${source} have in common`, [source, "most telling value", "of the slow ones", "of all IOs", "p, by chance"],
            watch.slow!.common.map(commonRow))))];
}

/** The latest first. */
export const BY_TIME = TIME;

export class SlowTable {
    readonly element = el("div", { class: "slow sorts" });
    /** The columns in which anything is known. */
    private columns: number[] = [];
    private readonly heads = el("tr");
    private readonly order: Order;
    private showOrder = () => {};
    private readonly body = el("tbody");
    private readonly said = el("p", { class: "hint", role: "status" });
    private readonly more = button("", () => {
        this.rows += 10 * ROWS;
        this.fill();
    });
    private rows = ROWS;
    private all: LineSlow[] = [];

    /** @by: the column that the table is first sorted by, the largest first. */
    constructor(private readonly lines: Line[], by = LATENCY, private readonly when = sinceStart) {
        this.order = { by, up: false };
        this.element.append(el("h3", { class: "sub" }, "Each of them"), this.said, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Slow IOs" },
            el("table", {}, el("caption", {}, "Slow IOs"), el("thead", {}, this.heads), this.body)), this.more);
    }

    /** Shows the slow IOs of the lines shown now. */
    show(window: Window): void {
        this.all = slowOf(this.lines, window);
        this.rows = ROWS;
        this.head();
        this.fill();
    }

    /** Rebuilt only if other columns are known, as a button may have the focus. */
    private head(): void {
        const ios = this.lines.flatMap(({ watch, op }) => (watch.slow?.ios ?? []).filter((io) => io.op === op.op));
        const columns = COLUMNS.map((_, i) => i).filter((i) => ios.some((io) => COLUMNS[i].key(io) !== null));
        if (columns.join() === this.columns.join())
            return;
        this.columns = columns;
        this.heads.replaceChildren(el("th", { scope: "col" }, "line"), ...columns.map((i) => el("th", { scope: "col", class: this.side(i) }, COLUMNS[i].head)));
        this.showOrder = sorters([...this.heads.cells].slice(1), columns, this.order, (i) => COLUMNS[i].left || i === TIME, () => {
            this.rows = ROWS;
            this.fill();
        });
    }

    private side(column: number): string | undefined {
        return COLUMNS[column].left ? "left" : undefined;
    }

    private fill(): void {
        const shown = sorted(this.all, this.order.by, this.order.up).slice(0, this.rows), rest = this.all.length - shown.length;
        this.showOrder();
        this.body.replaceChildren(...shown.map(({ line, io }) => el("tr", { class: io.error === null ? undefined : "bad" },
            el("th", { scope: "row" }, line.name), ...this.columns.map((column) => el("td", { class: this.side(column) }, COLUMNS[column].text(io, this.when))))));
        this.said.textContent = this.words();
        this.more.hidden = rest === 0;
        this.more.textContent = `Show ${count(Math.min(rest, 10 * ROWS))} more of ${count(this.all.length)}`;
    }

    /** Says how many there were in all: a recording keeps only some of each interval, and a report some of these. */
    private words(): string {
        const watches = new Set<Watch>(this.lines.map(({ watch }) => watch)), sum = (of: (watch: Watch) => number) => [...watches].reduce((n, watch) => n + of(watch), 0);
        const found = sum((watch) => watch.slow?.found ?? 0), kept = sum((watch) => watch.slow?.ios.length ?? 0);
        return `${count(this.all.length)} shown here${found > kept ? `; of ${count(found)} that were found the report has ${count(kept)}: those that failed, and the slowest` : ""}. A click on a heading sorts.`;
    }
}
