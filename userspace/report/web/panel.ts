// SPDX-License-Identifier: GPL-2.0-only
// The page's legend, which all charts share: switches for each line, for each device and stage, and for
// all lines of a run, stage or op.
import { rateIn, type Window } from "./charts/times";
import { button, el } from "./dom";
import { amount } from "./format";
import type { Line } from "./lines";
import { light, type Theme } from "./theme";
import { swatch } from "./tip";

const GROUPS: [string, (line: Line) => string][] = [
    ["run", (line) => line.runName], ["device", (line) => line.watch.device],
    ["stage", (line) => line.watch.stage], ["op", (line) => line.op.op],
];

/** The elements of a legend: its switches, a short text while these are folded, and the same for paper. */
export interface Places { switches: HTMLElement; folded: HTMLElement; paper: HTMLElement }

/** Something with its own look: a line, or a device and stage as a whole. */
interface Entry { name: string; look: Line["look"]; lines: Line[] }

export class Panel {
    private readonly groups: { button: HTMLButtonElement; lines: Line[] }[] = [];
    private readonly rows: { button: HTMLButtonElement; lines: Line[] }[] = [];
    private readonly notes: HTMLElement[] = [];
    private readonly list = el("ul", { class: "lines" });
    private readonly said = el("p", { class: "hint", role: "status" });
    /** For each watch its lines and, if these are several, the whole. */
    private readonly entries: { whole: Entry | null; lines: Entry[] }[];
    private theme: Theme = light;
    private window: Window = null;

    constructor(private readonly places: Places, private readonly lines: Line[], private readonly changed: () => void,
        private readonly lift: (colours: Set<number> | null) => void) {
        const watches = [...new Set(lines.map((line) => line.watch))];
        this.entries = watches.map((watch) => {
            const of = lines.filter((line) => line.watch === watch);
            return {
                whole: of.length > 1 ? { name: of[0].source, look: of[0].sourceLook, lines: of } : null,
                lines: of.map((line) => ({ name: line.name, look: line.look, lines: [line] })),
            };
        });
        // Left out if each group would switch the same as an entry in the list.
        const listed = this.entries.flatMap(({ whole, lines: own }) => [...own, ...whole ? [whole] : []]).map((entry) => String(entry.lines.map(({ key }) => key)));
        const quick = GROUPS.flatMap(([label, of]) => {
            const groups = [...new Set(lines.map(of))].map((value) => ({ value, lines: lines.filter((line) => of(line) === value) }));
            return groups.length < 2 || groups.every((group) => listed.includes(String(group.lines.map(({ key }) => key)))) ? [] : [
                el("div", { class: "choice", role: "group", "aria-label": `switch by ${label}` },
                    el("span", {}, label), ...groups.map((group) => this.group(group.value, group.lines)))];
        });
        const all = el("div", { class: "choice", role: "group", "aria-label": "switch all" },
            button("All", () => this.set(lines, true)), button("None", () => this.set(lines, false)));
        places.switches.replaceChildren(this.said, ...lines.length > 1 ? [all, ...quick] : [], this.list);
        this.refresh();
    }

    private group(text: string, lines: Line[]): HTMLButtonElement {
        const made = button(text, () => this.toggle(lines));
        this.groups.push({ button: made, lines });
        return made;
    }

    private toggle(lines: Line[]): void {
        this.set(lines, !lines.every((line) => line.on));
    }

    private set(lines: Line[], on: boolean): void {
        for (const line of lines)
            line.on = on;
        this.refresh();
        this.changed();
    }

    dress(theme: Theme): void {
        this.theme = theme;
        this.rows.length = this.notes.length = 0;
        this.list.replaceChildren(...this.entries.map(({ whole, lines }) => {
            const rows = lines.map((entry) => el("li", {}, this.row(entry, whole ? entry.lines[0].op.op : entry.name, el("small"))));
            return whole ? el("li", {}, this.row(whole, whole.name), el("ul", { "aria-label": whole.name }, ...rows)) : rows[0];
        }));
        this.tell();
        this.refresh();
    }

    private row({ look, lines }: Entry, text: string, note?: HTMLElement): HTMLButtonElement {
        const lifted = () => this.lift(new Set(lines.map((line) => line.look.colour)));
        const made = el("button", { type: "button", click: () => this.toggle(lines), "data-key": note && lines[0].key,
            mouseenter: lifted, focus: lifted, mouseleave: () => this.lift(null), blur: () => this.lift(null) },
            swatch({ ...look, kind: "line" }, this.theme), el("span", {}, text, note && " ", note));
        this.rows.push({ button: made, lines });
        if (note)
            this.notes.push(note);
        return made;
    }

    /** The lines' figures or the window of their rates changed. */
    tell(window = this.window): void {
        this.window = window;
        this.entries.flatMap(({ lines }) => lines).forEach(({ lines: [{ run, op }] }, i) => {
            const iops = window ? rateIn(run, window, (k) => op.ios[k]) : op.total.iops;
            this.notes[i].textContent = op.total.ios ? `${amount(iops)} IOPS` : "no IO";
        });
    }

    /** The entries shown, each with its look. */
    private shown(entries: Entry[], theme: Theme): (Node | string)[] {
        return entries.filter(({ lines }) => lines.some((line) => line.on))
            .flatMap(({ name, look }) => [el("span", {}, swatch({ ...look, kind: "line" }, theme), name), " "]);
    }

    private refresh(): void {
        for (const { button: b, lines } of [...this.groups, ...this.rows]) {
            const on = lines.filter((line) => line.on).length;
            b.setAttribute("aria-pressed", on === lines.length ? "true" : on ? "mixed" : "false");
        }
        this.said.textContent = `${this.lines.filter((line) => line.on).length} of ${this.lines.length} lines shown`;
        this.places.folded.replaceChildren(...this.shown(this.entries.flatMap(({ lines }) => lines), this.theme));
        this.places.paper.replaceChildren(...this.shown(this.entries.flatMap(({ whole, lines }) => whole ? [whole, ...lines] : lines), light));
    }
}
