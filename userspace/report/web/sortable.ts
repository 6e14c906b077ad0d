// SPDX-License-Identifier: GPL-2.0-only
// Tables that a click on a heading sorts.
import { button } from "./dom";
import { sortedBy } from "./format";

/** The column that a table is sorted by; negative: as it is made. */
export interface Order { by: number; up: boolean }

const UNITS: Record<string, number> = {
    k: 1e3, M: 1e6, G: 1e9, T: 1e12, ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12,
    kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30,
};

/** A figure as format.ts writes it, as a number that its column is sorted by; null: it is none. */
function figureOf(text: string): number | null {
    const [, digits, unit] = /^(-?[\d.\u202f]+)\u00a0?([a-zA-Z]*)/.exec(text) ?? [];
    return digits === undefined ? null : Number(digits.replaceAll("\u202f", "")) * (UNITS[unit] ?? 1);
}

/**
 * Makes headings of these columns buttons that change the order: figures are sorted from the largest, others (@upwards) from the
 * first, and a second click reverses it. Returns what shows the order.
 */
export function sorters(heads: HTMLElement[], columns: number[], order: Order, upwards: (column: number) => boolean, changed: () => void): () => void {
    heads.forEach((head, i) => head.replaceChildren(button(head.textContent!, () => {
        Object.assign(order, { by: columns[i], up: columns[i] === order.by ? !order.up : upwards(columns[i]) });
        changed();
    })));
    return () => heads.forEach((head, i) => head.setAttribute("aria-sort", columns[i] !== order.by ? "none" : order.up ? "ascending" : "descending"));
}

/** A whole table, by what its cells say; @order is kept. */
export function sortable(made: HTMLTableElement, order: Order): HTMLTableElement {
    const body = made.tBodies[0], heads = [...made.tHead!.rows[0].cells], given = [...body.rows];
    const key = ({ tagName, title, textContent }: HTMLTableCellElement) => tagName === "TH" ? title || textContent! : figureOf(textContent!);
    const sort = () => {
        show();
        if (order.by >= 0 && order.by < heads.length)
            body.replaceChildren(...sortedBy(given, ({ cells }) => key(cells[order.by]), order.up));
    };
    const show = sorters(heads, heads.map((_, i) => i), order, (i) => i === 0, sort);
    made.classList.add("sorts");
    sort();
    return made;
}
